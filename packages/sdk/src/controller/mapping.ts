/** Mappings from a changed object to the keys that must be reconciled because of the change. */
import {
  type OwnerReference,
  type Resource,
  type StringMap,
  stringMember,
} from "../client/index.ts";
import type { ObjectKey } from "../informer/index.ts";

export type Mapping<Cached> = (object: Cached, key: ObjectKey) => Iterable<ObjectKey>;

export const enqueueSelf: Mapping<unknown> = (_object, key) => [key];

interface WithMetadata {
  readonly metadata: {
    readonly labels?: StringMap | undefined;
    readonly ownerReferences?: readonly OwnerReference[] | undefined;
  };
}

export interface OwnerOptions {
  /** Maps to every owner of that kind, not only to the controlling one. */
  readonly anyOwner?: boolean;
}

/**
 * Maps to the owner of the given type. Owners are in the same cluster, and in the same namespace if
 * their type is namespaced.
 */
export function enqueueOwner(owner: Resource, options: OwnerOptions = {}): Mapping<WithMetadata> {
  return ({ metadata }, { cluster, namespace }) => {
    const keys: ObjectKey[] = [];
    for (const reference of metadata.ownerReferences ?? []) {
      const isType = reference.kind === owner.kind && groupOf(reference.apiVersion) === owner.group;
      if (!isType || !(options.anyOwner || reference.controller === true)) continue;
      keys.push({ cluster, namespace: owner.namespaced ? namespace : "", name: reference.name });
    }
    return keys;
  };
}

/**
 * Maps to the object that a label names, in the same cluster and namespace:
 * `workloads.example.io/parent: web`.
 */
export function enqueueByLabel(label: string): Mapping<WithMetadata> {
  return ({ metadata }, { cluster, namespace }) => {
    const name = stringMember(metadata.labels, label);
    return name === undefined || name === "" ? [] : [{ cluster, namespace, name }];
  };
}

function groupOf(apiVersion: string): string {
  const slash = apiVersion.indexOf("/");
  return slash === -1 ? "" : apiVersion.slice(0, slash);
}
