/**
 * What objects of a custom kind refer to, as their WorkloadStrategy finds it: a Pod template at a path, an expression, or both. It stands on their parts, so that whoever
 * has to know (what follows, who moves volumes, the syncer in a cluster) reads it there and needs to know nothing of the kind. Pure.
 */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { isJsonObject } from "@kcp-ts/machinery/json";
import { podReferences } from "./follow/references.ts";
import type { Workload } from "./workload.ts";

/** As many as fit an annotation that is read at every look. */
export const referencesMax = 100;

const form =
  /^(configmaps|secrets|serviceaccounts|persistentvolumeclaims)\/[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

/** `path` leads to what has metadata and spec of Pods. */
export function podTemplateReferences(object: Workload, path: string): readonly string[] {
  let found: JsonValue | undefined = object as unknown as JsonObject;
  for (const field of path.split(".")) found = at(found, field);
  if (found === undefined || !isJsonObject(found)) return [];
  return [...podReferences(found), ...claimsOf(found)];
}

function claimsOf(template: JsonObject): readonly string[] {
  const volumes = at(at(template, "spec"), "volumes");
  return (Array.isArray(volumes) ? (volumes as readonly JsonValue[]) : []).flatMap((volume) => {
    const name = at(at(volume, "persistentVolumeClaim"), "claimName");
    return typeof name === "string" && name !== "" ? [`persistentvolumeclaims/${name}`] : [];
  });
}

function at(value: JsonValue | undefined, name: string): JsonValue | undefined {
  if (value === undefined || !isJsonObject(value)) return undefined;
  return Object.hasOwn(value, name) ? value[name] : undefined;
}

/** Sorted, each once. A sentence for what is no list of them. */
export function checkedReferences(value: JsonValue): readonly string[] | string {
  if (!Array.isArray(value)) return "it is no list";
  const names = [...new Set(value as readonly JsonValue[])];
  const wrong = names.find((one) => typeof one !== "string" || !form.test(one));
  if (wrong !== undefined)
    return `${JSON.stringify(wrong)} is no reference such as configmaps/a, secrets/a, serviceaccounts/a or persistentvolumeclaims/a`;
  if (names.length > referencesMax) return `it has more than ${referencesMax} references`;
  return [...(names as readonly string[])].sort();
}
