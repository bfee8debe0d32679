/**
 * What uses claims, or is one, is created in a cluster only when volumes are in place there: an empty volume would be made for a claim whose data is elsewhere, and
 * one that can be attached once would be attached twice.
 *
 * It is about what the control plane has assigned. What people assign by themselves goes where they say.
 */
import { isJsonObject, type JsonObject, type JsonValue, member } from "@kcp-ts/machinery/json";
import { type Resource, stringMember } from "@kcp-ts/sdk";
import { openedAnnotation, ownedByLabel, stateLabel, stateSync } from "../api/index.ts";
import { bodyOf, type CachedObject } from "./cached-object.ts";

export function waitsForVolumes(
  object: CachedObject,
  { group, kind }: Pick<Resource, "group" | "kind">,
  target: string,
): boolean {
  const { labels, annotations } = object.metadata;
  if (stringMember(annotations, openedAnnotation(target)) !== undefined) return false;
  if (group === "" && kind === "PersistentVolumeClaim")
    return stringMember(labels, stateLabel(target)) === stateSync;
  const isPart = stringMember(labels, ownedByLabel) !== undefined;
  const isGuarded = group === "apps" && (kind === "Deployment" || kind === "StatefulSet");
  return isPart && isGuarded && claimNamesOf(bodyOf(object)).size > 0;
}

/** Who holds a volume in the cluster: the one who attaches it, as long as it is attached. Undefined for other kinds. */
export function heldInCluster(
  { group, kind }: Pick<Resource, "group" | "kind">,
  { metadata }: CachedObject,
): string | undefined {
  if (group !== "" || kind !== "PersistentVolume") return undefined;
  const held = (metadata.finalizers ?? []).join(",");
  return held === "" ? undefined : held;
}

/** The namespace in the cluster whose claim has a volume; empty for other kinds, and for a volume that nobody has. */
export function claimNamespaceOf(object: { readonly [member: string]: unknown }): string {
  const name = at(at(object["spec"] as JsonValue | undefined, "claimRef"), "namespace");
  return typeof name === "string" ? name : "";
}

/** The claims that the Pods of a workload use by name. */
export function claimNamesOf(body: JsonObject): ReadonlySet<string> {
  const volumes = at(at(at(at(body, "spec"), "template"), "spec"), "volumes");
  const names = new Set<string>();
  for (const volume of Array.isArray(volumes) ? (volumes as readonly JsonValue[]) : []) {
    const name = at(at(volume, "persistentVolumeClaim"), "claimName");
    if (typeof name === "string" && name !== "") names.add(name);
  }
  return names;
}

function at(value: JsonValue | undefined, name: string): JsonValue | undefined {
  return value !== undefined && isJsonObject(value) ? member(value, name) : undefined;
}
