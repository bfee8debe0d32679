/**
 * managedFields through the scale subresource: there `replicas` is `spec.replicas` of
 * autoscaling/v1, whatever its path in the parent.
 */
import type { JsonObject, JsonValue } from "../json/index.ts";
import {
  fieldSetOf,
  hasPath,
  isEmptyFieldSet,
  subtractFieldSet,
  unionFieldSets,
} from "./field-set.ts";
import {
  decodeManagers,
  encodeManagers,
  type Manager,
  managerIdentity,
  readOwnManagers,
} from "./managed-fields.ts";
import { type FieldPath, fieldElement } from "./path-element.ts";

/**
 * The path of the replicas in each version of the parent; null for a version without a scale
 * subresource.
 */
export type ReplicasPaths = ReadonlyMap<string, FieldPath | null>;

export const scaleApiVersion = "autoscaling/v1";
const replicasInScale: FieldPath = [fieldElement("spec"), fieldElement("replicas")];

/** Parses the path `.spec.replicas` and the like, as CRDs write it. */
export function replicasPath(jsonPath: string): FieldPath {
  return jsonPath.replace(/^\./, "").split(".").map(fieldElement);
}

/** The parent's entries in the scale object: only those that own the replicas. */
export function scaleManagedFields(parent: JsonObject, paths: ReplicasPaths): JsonValue[] {
  const scale = new Map<string, Manager>();
  for (const [identity, manager] of readOwnManagers(parent)) {
    const path = paths.get(manager.apiVersion);
    if (path === undefined || path === null || !hasPath(manager.fields, path)) continue;
    const { entry: _, ...rest } = manager;
    scale.set(identity, {
      ...rest,
      apiVersion: scaleApiVersion,
      fields: fieldSetOf(replicasInScale),
    });
  }
  return encodeManagers(scale);
}

/**
 * The parent's entries after a write through the scale object, whose entries are given: managers
 * that lost the replicas there lose them here, and new managers there own them here, in
 * `apiVersion`.
 */
export function parentManagedFields(
  parent: JsonObject,
  scaleEntries: readonly JsonValue[],
  options: { readonly apiVersion: string; readonly paths: ReplicasPaths },
): JsonValue[] {
  const scale = ownersByName(scaleEntries);
  const managers = new Map<string, Manager>();
  for (const [identity, manager] of readOwnManagers(parent)) {
    const path = options.paths.get(manager.apiVersion);
    // Fields that are owned in a version that is no longer served are dropped.
    if (path === undefined) continue;
    if (path === null || !hasPath(manager.fields, path)) {
      managers.set(identity, manager);
    } else if (scale.delete(ownerKey(manager))) {
      managers.set(identity, manager);
    } else {
      const fields = subtractFieldSet(manager.fields, fieldSetOf(path));
      if (!isEmptyFieldSet(fields)) managers.set(identity, { ...manager, fields });
    }
  }
  const path = options.paths.get(options.apiVersion);
  if (path === undefined || path === null) return encodeManagers(managers);
  for (const manager of scale.values()) {
    if (!hasPath(manager.fields, replicasInScale)) continue;
    const owner: Manager = { ...manager, apiVersion: options.apiVersion, fields: fieldSetOf(path) };
    const identity = managerIdentity(owner);
    const known = managers.get(identity);
    managers.set(
      identity,
      known === undefined
        ? owner
        : { ...known, fields: unionFieldSets(known.fields, owner.fields), time: owner.time },
    );
  }
  return encodeManagers(managers);
}

function ownersByName(entries: readonly JsonValue[]): Map<string, Manager> {
  const owners = new Map<string, Manager>();
  for (const manager of decodeManagers(entries).values()) owners.set(ownerKey(manager), manager);
  return owners;
}

/**
 * The identity of a manager independent of its version: the scale object shows all of them in its
 * own.
 */
function ownerKey({ name, operation, subresource }: Manager): string {
  return JSON.stringify([name, operation, subresource]);
}
