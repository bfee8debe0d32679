/** Nodes. */
import {
  ageCell,
  ageColumn,
  column,
  listIn,
  nameCell,
  nameColumn,
  objectIn,
  type ResourceDefinition,
  textIn,
  wideColumn,
} from "@kcp-ts/apiserver/kinds";
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";
import { node } from "@kcp-ts/machinery/shape";
import { type Generation, inGeneration } from "../shapes/index.ts";
import { defineKind } from "./kind.ts";

const rolePrefix = "node-role.kubernetes.io/";

export function nodesKind(generation: Generation): ResourceDefinition {
  return defineKind({
    group: "",
    kind: "Node",
    resource: "nodes",
    shortNames: ["no"],
    isNamespaced: false,
    hasGeneration: false,
    shape: inGeneration(node, generation),
    columns: [
      nameColumn,
      column("Status", "string", "Whether it is ready, and takes new Pods."),
      column("Roles", "string", "What it is for."),
      ageColumn,
      column("Version", "string", "Of its kubelet."),
      wideColumn("Internal-IP", "string", "Its address within the cluster."),
      wideColumn("External-IP", "string", "Its address from outside."),
      wideColumn("OS-Image", "string", "Its operating system."),
      wideColumn("Kernel-Version", "string", "Of its operating system."),
      wideColumn("Container-Runtime", "string", "What runs its containers."),
    ],
    cells(object, nowMs) {
      const status = objectIn(object, "status");
      const info = objectIn(status, "nodeInfo");
      const known = (member: string) => textIn(info, member) || "<unknown>";
      return [
        nameCell(object),
        statusText(object),
        rolesText(object),
        ageCell(object, nowMs),
        textIn(info, "kubeletVersion"),
        addressOf(status, "InternalIP"),
        addressOf(status, "ExternalIP"),
        known("osImage"),
        known("kernelVersion"),
        known("containerRuntimeVersion"),
      ];
    },
    strategy: {
      selectableFields: new Map([
        [
          "spec.unschedulable",
          (object: JsonObject) => String(objectIn(object, "spec")["unschedulable"] ?? false),
        ],
      ]),
    },
  });
}

function statusText(object: JsonObject): string {
  const conditions = listIn(objectIn(object, "status")["conditions"]).filter(isJsonObject);
  const ready = conditions.find((one) => one["type"] === "Ready");
  const text = ready === undefined ? "Unknown" : ready["status"] === "True" ? "Ready" : "NotReady";
  return objectIn(object, "spec")["unschedulable"] === true ? `${text},SchedulingDisabled` : text;
}

function rolesText(object: JsonObject): string {
  const labels = objectIn(objectIn(object, "metadata"), "labels");
  const roles = Object.keys(labels)
    .filter((key) => key.startsWith(rolePrefix))
    .map((key) => key.slice(rolePrefix.length))
    .sort();
  return roles.length === 0 ? "<none>" : roles.join(",");
}

function addressOf(status: JsonObject, type: string): string {
  const addresses = listIn(status["addresses"]).filter(isJsonObject);
  return textIn(addresses.find((one) => one["type"] === type) ?? {}, "address") || "<none>";
}
