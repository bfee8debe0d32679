/** What admission needs to know of namespaces, from the registry. */
import { neverAborted } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError, statusError } from "@kcp-ts/machinery/status";
import {
  defaultNamespace,
  type NamespacePhase,
  type NamespaceSource,
  namespaceTerminating,
} from "../admission/index.ts";
import {
  collectionKeyOf,
  namespaces,
  type ObjectAddress,
  type Registry,
  type RegistryOptions,
} from "../registry/index.ts";
import { type Entry, objectKey, type Storage, type StorageKey } from "../storage/index.ts";
import { isBeingDeleted } from "../stored-object/index.ts";
import type { WatchCache } from "../watch-cache/index.ts";

export function namespaceSource(registry: Registry, watchCache: WatchCache): NamespaceSource {
  return {
    phaseOf(cluster, name, signal) {
      const key = namespaceKey(cluster, name);
      const entry = watchCache.peek(key);
      if (entry !== undefined) return phaseOf(entry);
      return watchCache
        .get(key, { kind: "latest" }, signal())
        .then((found) => (found === undefined ? undefined : phaseOf(found)));
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
 * The last look at the namespace of an object that is about to be stored.
 *
 * Writes are stored in the order in which they are handed to the store. So what is handed over while its namespace is still seen to be alive is stored before
 * anything that somebody writes who has seen the namespace go; and the namespace controller writes before it takes its last look (see
 * docs/internals/control-loops.md). Only for stores that can say at once how a namespace stands: elsewhere admission's look is the last.
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
    if (phaseOf(entry) === "Active") return undefined;
    throw namespaceTerminating({ ...definition, name, namespace });
  };
}

const collection = collectionKeyOf(namespaces);
let lastKey: { cluster: ClusterName; name: string; key: StorageKey } | undefined;

/** Asked for twice by every create, and many in a row are of one namespace. */
function namespaceKey(cluster: ClusterName, name: string): StorageKey {
  if (lastKey?.name !== name || lastKey.cluster !== cluster) {
    lastKey = { cluster, name, key: objectKey({ ...collection, cluster, namespace: "", name }) };
  }
  return lastKey.key;
}

/** Reading a namespace brings it to hand, if it is there. An update that creates has not been asked for its namespace before. */
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

/** Every write asks for its namespace: each stored state of one is looked into once. */
const phases = new WeakMap<Entry, NamespacePhase>();

function phaseOf(entry: Entry): NamespacePhase {
  let phase = phases.get(entry);
  if (phase === undefined) {
    phase = isBeingDeleted(entry) ? "Terminating" : "Active";
    phases.set(entry, phase);
  }
  return phase;
}
