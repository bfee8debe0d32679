/** NamespaceSource: the namespaces that admission needs, from the registry. */
import { neverAborted } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError, statusError } from "@kcp-ts/machinery/status";
import {
  defaultNamespace,
  type NamespaceSource,
  namespaceTerminating,
  type PluginSources,
} from "../admission/index.ts";
import {
  collectionKeyOf,
  namespaces,
  type ObjectAddress,
  type Registry,
  type RegistryOptions,
} from "../registry/index.ts";
import { objectKey, type Storage, type StorageKey } from "../storage/index.ts";
import { isBeingDeleted, labelsOf } from "../stored-object/index.ts";
import type { WatchCache } from "../watch-cache/index.ts";

/** For plug-ins. */
export function pluginSources(watchCache: WatchCache): PluginSources {
  return {
    async namespaceLabels(cluster, name, signal) {
      const key = namespaceKey(cluster, name);
      const cached = watchCache.peek(key);
      const entry = cached ?? (await watchCache.get(key, { kind: "latest" }, signal));
      return entry === undefined ? undefined : (labelsOf(entry) ?? {});
    },
  };
}

export function namespaceSource(registry: Registry, watchCache: WatchCache): NamespaceSource {
  return {
    async phaseOf(cluster, name, signal) {
      const key = namespaceKey(cluster, name);
      const cached = watchCache.peek(key);
      const entry = cached ?? (await watchCache.get(key, { kind: "latest" }, signal()));
      if (entry === undefined) return undefined;
      return isBeingDeleted(entry) ? "Terminating" : "Active";
    },
    async create(cluster, name, signal) {
      try {
        await registry.create(
          namespaces,
          { cluster, namespace: "", name: "" },
          { metadata: { name } },
          { isDryRun: false, validate: async () => {}, signal },
        );
      } catch (error) {
        if (!isStatusError(error, "AlreadyExists")) throw error;
      }
    },
  };
}

/**
 * The last check of the namespace of an object that is about to be stored.
 *
 * Writes are stored in the order in which the store receives them. A write that the store receives
 * while its namespace is still active is therefore stored before any write by a client that has
 * seen the namespace terminate; and the namespace controller writes before its last check for
 * content (see docs/internals/control-loops.md). Only for stores that know the phase of a namespace
 * synchronously: with other stores, the check by admission is the last.
 */
export function confirmNamespaceOnCreate(
  storage: Storage,
  watchCache: WatchCache,
  source: () => NamespaceSource,
): RegistryOptions["confirmCreate"] {
  if (storage.peek === undefined) return undefined;
  return (definition, { cluster, namespace, name }) => {
    if (!definition.isNamespaced || namespace === "") return undefined;
    const key = namespaceKey(cluster, namespace);
    const entry = watchCache.peek(key);
    if (entry === undefined)
      return waitUntilCached(watchCache, key, { cluster, namespace }, source());
    if (!isBeingDeleted(entry)) return undefined;
    throw namespaceTerminating({ ...definition, name, namespace });
  };
}

const collection = collectionKeyOf(namespaces);
let lastKey: { cluster: ClusterName; name: string; key: StorageKey } | undefined;

/**
 * Caches the last key: every create needs it twice, and many consecutive creates are in one
 * namespace.
 */
function namespaceKey(cluster: ClusterName, name: string): StorageKey {
  if (lastKey?.name !== name || lastKey.cluster !== cluster) {
    lastKey = { cluster, name, key: objectKey({ ...collection, cluster, namespace: "", name }) };
  }
  return lastKey.key;
}

/**
 * Reading a namespace caches it, if it exists. Admission has not read the namespace of an update
 * that turns out to create its object.
 */
async function waitUntilCached(
  watchCache: WatchCache,
  key: StorageKey,
  { cluster, namespace }: Pick<ObjectAddress, "cluster" | "namespace">,
  source: NamespaceSource,
): Promise<void> {
  const found = await watchCache.get(key, { kind: "latest" }, neverAborted);
  if (found !== undefined) return;
  if (namespace !== defaultNamespace) {
    throw statusError.notFound({ group: "", resource: "namespaces" }, namespace);
  }
  await source.create(cluster, namespace, neverAborted);
}
