/**
 * An object that uses claims, or is a claim, is created in a cluster only when its volumes are
 * there: otherwise an empty volume would be created for a claim whose data is in another cluster,
 * and a volume that can be attached once would be attached twice.
 *
 * The gate applies to assignments by the control plane. Objects that users assign themselves are
 * synced without it.
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

/**
 * Closed: not created. Stopped: the existing copy is deleted, and not created again until the
 * annotation is removed.
 */
export type VolumeGate = "open" | "closed" | "stopped";

type Kind = Pick<Resource, "group" | "kind">;

/** The path of the Pod spec, for kinds whose Pods use claims by name, by group. */
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

/** A StatefulSet, whose claims the control plane creates from templates, waits for them, too. */
function usesClaims(body: JsonObject, kind: Kind): boolean {
  const templates = kind.kind === "StatefulSet" ? at(at(body, "spec"), "volumeClaimTemplates") : [];
  return claimNamesOf(body, kind).size > 0 || (Array.isArray(templates) && templates.length > 0);
}

/**
 * The attachers that hold a volume in the cluster, as long as it is attached. Undefined for other
 * kinds.
 */
export function attachersOf(
  { group, kind }: Pick<Resource, "group" | "kind">,
  { metadata }: CachedObject,
): string | undefined {
  if (group !== "" || kind !== "PersistentVolume") return undefined;
  const held = (metadata.finalizers ?? []).join(",");
  return held === "" ? undefined : held;
}

/**
 * The namespace of the claim or the VolumeSnapshot that is bound to a PersistentVolume or a
 * VolumeSnapshotContent; empty for other kinds, and for unbound objects.
 */
export function userNamespaceOf(object: { readonly [member: string]: unknown }): string {
  const spec = object["spec"] as JsonValue | undefined;
  const name = at(at(spec, "claimRef") ?? at(spec, "volumeSnapshotRef"), "namespace");
  return typeof name === "string" ? name : "";
}

/** The claims that the Pods of a workload use by name. Empty for a kind without a volume gate. */
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
