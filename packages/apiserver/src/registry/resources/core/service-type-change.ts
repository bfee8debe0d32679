/**
 * A Service that changes its type loses the fields that the new type does not have: defaults and
 * allocated ports, which no client has to remove. A field that changes together with the type
 * stays, and validation refuses it.
 */
import { type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import { mutableItems, mutableMember } from "../../mutable-members.ts";
import type { Draft } from "../../strategy.ts";
import { listIn, objectIn, textIn } from "../standard.ts";

export function dropFieldsOfOldType(draft: Draft, old: JsonObject): void {
  const spec = mutableMember(draft, "spec");
  const before = objectIn(old, "spec");
  for (const { fields, isOf } of typeFields) {
    if (!isOf(before) || isOf(spec)) continue;
    for (const field of fields)
      if (jsonEqual(spec[field] ?? null, before[field] ?? null)) delete spec[field];
  }
  if (hasNodePorts(before) && !hasNodePorts(spec)) dropNodePorts(spec, before);
  if (textIn(spec, "type") !== "LoadBalancer" && textIn(before, "type") === "LoadBalancer")
    draft["status"] = { ...objectIn(old, "status"), loadBalancer: {} };
}

const isBalancer = (spec: JsonObject) => textIn(spec, "type") === "LoadBalancer";

function hasNodePorts(spec: JsonObject): boolean {
  return isBalancer(spec) || textIn(spec, "type") === "NodePort";
}

function isExternallyAccessible(spec: JsonObject): boolean {
  const isReachable =
    textIn(spec, "type") === "ClusterIP" && listIn(spec["externalIPs"]).length > 0;
  return hasNodePorts(spec) || isReachable;
}

const typeFields: readonly {
  readonly fields: readonly string[];
  readonly isOf: (spec: JsonObject) => boolean;
}[] = [
  {
    fields: ["clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"],
    isOf: (spec) => textIn(spec, "type") !== "ExternalName",
  },
  {
    fields: ["healthCheckNodePort"],
    isOf: (spec) => isBalancer(spec) && textIn(spec, "externalTrafficPolicy") === "Local",
  },
  { fields: ["allocateLoadBalancerNodePorts", "loadBalancerClass"], isOf: isBalancer },
  { fields: ["externalTrafficPolicy"], isOf: isExternallyAccessible },
];

function dropNodePorts(spec: Draft, before: JsonObject): void {
  const known = new Set(listIn(before["ports"]).map((port) => (port as JsonObject)["nodePort"]));
  const isNew = ({ nodePort }: JsonObject) => nodePort !== undefined && !known.has(nodePort);
  if ((listIn(spec["ports"]) as JsonObject[]).some(isNew)) return;
  for (const port of mutableItems(spec, "ports")) delete port["nodePort"];
}
