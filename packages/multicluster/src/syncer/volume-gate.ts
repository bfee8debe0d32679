/**
 * What uses claims, or is one, is created in a cluster only when volumes are in place there: an empty volume would be made for a claim whose data is elsewhere, and
 * one that can be attached once would be attached twice.
 *
 * It is about what the control plane has assigned. What people assign by themselves goes where they say.
 */
import { isJsonObject, type JsonObject, type JsonValue, member } from "@kcp-ts/machinery/json";
import { type Resource, stringMember } from "@kcp-ts/sdk";
import {
  dependenciesOn,
  ownedByLabel,
  stateLabel,
  stateSync,
  stoppedForVolumes,
  volumeGateAnnotation,
} from "../api/index.ts";
import { bodyOf, type CachedObject } from "./cached-object.ts";

/** Closed: not created. Stopped: what is there goes, and is not created again before that is taken back. */
export type VolumeGate = "open" | "closed" | "stopped";

type Kind = Pick<Resource, "group" | "kind">;

/** What makes Pods that use claims by name, by group: where the spec of these Pods is. */
const podSpecs: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  apps: {
    Deployment: ["spec", "template", "spec"],
    StatefulSet: ["spec", "template", "spec"],
    DaemonSet: ["spec", "template", "spec"],
  },
  batch: {
    Job: ["spec", "template", "spec"],
    CronJob: ["spec", "jobTemplate", "spec", "template", "spec"],
  },
  "": { Pod: ["spec"] },
};

export function volumeGateOf(object: CachedObject, kind: Kind, target: string): VolumeGate {
  const { labels, annotations } = object.metadata;
  const mark = stringMember(annotations, volumeGateAnnotation(target));
  if (mark !== undefined) return mark === stoppedForVolumes ? "stopped" : "open";
  if (kind.group === "" && kind.kind === "PersistentVolumeClaim")
    return stringMember(labels, stateLabel(target)) === stateSync ? "closed" : "open";
  if (stringMember(labels, ownedByLabel) === undefined) return "open";
  const isUser =
    dependenciesOn(annotations, "persistentvolumeclaims").length > 0 ||
    usesClaims(bodyOf(object), kind);
  return isUser ? "closed" : "open";
}

/** Whose claims the control plane makes from templates waits for them, too. */
function usesClaims(body: JsonObject, kind: Kind): boolean {
  const templates = kind.kind === "StatefulSet" ? at(at(body, "spec"), "volumeClaimTemplates") : [];
  return claimNamesOf(body, kind).size > 0 || (Array.isArray(templates) && templates.length > 0);
}

/** Who holds a volume in the cluster: the one who attaches it, as long as it is attached. Undefined for other kinds. */
export function attachersOf(
  { group, kind }: Pick<Resource, "group" | "kind">,
  { metadata }: CachedObject,
): string | undefined {
  if (group !== "" || kind !== "PersistentVolume") return undefined;
  const held = (metadata.finalizers ?? []).join(",");
  return held === "" ? undefined : held;
}

/** The namespace in the cluster that has a volume, by a claim, or the content of a snapshot; empty for other kinds, and for what nobody has. */
export function userNamespaceOf(object: { readonly [member: string]: unknown }): string {
  const spec = object["spec"] as JsonValue | undefined;
  const name = at(at(spec, "claimRef") ?? at(spec, "volumeSnapshotRef"), "namespace");
  return typeof name === "string" ? name : "";
}

/** The claims that the Pods of a workload use by name. None for a kind that is not guarded. */
export function claimNamesOf(body: JsonObject, { group, kind }: Kind): ReadonlySet<string> {
  const names = new Set<string>();
  const path = podSpecs[group]?.[kind];
  if (path === undefined) return names;
  let spec: JsonValue | undefined = body;
  for (const field of path) spec = at(spec, field);
  const volumes = at(spec, "volumes");
  for (const volume of Array.isArray(volumes) ? (volumes as readonly JsonValue[]) : []) {
    const name = at(at(volume, "persistentVolumeClaim"), "claimName");
    if (typeof name === "string" && name !== "") names.add(name);
  }
  return names;
}

function at(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return value !== undefined && isJsonObject(value) ? member(value, name) : undefined;
}
