/**
 * The dependencies of a custom resource, as its WorkloadStrategy finds them: a Pod template at a
 * path, an expression, or both. The per-cluster objects carry them in an annotation, so that the
 * dependency controller, the volume migration and the syncer read them without knowing the kind.
 * Pure.
 */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { isJsonObject } from "@kcp-ts/machinery/json";
import { podReferences } from "./dependencies/references.ts";
import type { Workload } from "./workload.ts";

/** The most dependencies of an object: the annotation is read at every reconcile. */
export const referencesMax = 100;

const form =
  /^(configmaps|secrets|serviceaccounts|persistentvolumeclaims)\/[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/;

/** The dependencies of the Pod template at `path`, which has metadata and spec of Pods. */
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

/**
 * The sorted dependencies without duplicates; an error message when the value is no list of
 * dependencies.
 */
export function checkedReferences(value: JsonValue): readonly string[] | string {
  if (!Array.isArray(value)) return "it is no list";
  const names = [...new Set(value as readonly JsonValue[])];
  const wrong = names.find((one) => typeof one !== "string" || !form.test(one));
  if (wrong !== undefined)
    return `${JSON.stringify(wrong)} is no reference such as configmaps/a, secrets/a, serviceaccounts/a or persistentvolumeclaims/a`;
  if (names.length > referencesMax) return `it has more than ${referencesMax} references`;
  return [...(names as readonly string[])].sort();
}
