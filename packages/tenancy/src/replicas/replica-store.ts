/**
 * The stored replicas: written when the original has changed, never by a request. A replica has the
 * revision of its original, and the position up to which the changes on the other shard were seen
 * when it was written.
 */
import type { ResourceDefinition } from "@kcp-ts/apiserver/registry";
import {
  type Entry,
  isStorageError,
  parseObjectKey,
  type Storage,
  type StorageKey,
} from "@kcp-ts/apiserver/storage";
import { decodeObject, encodeObject } from "@kcp-ts/apiserver/stored-object";
import type { WatchCache } from "@kcp-ts/apiserver/watch-cache";
import { neverAborted } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, listOf, textOf } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { listEntries } from "./list-entries.ts";
import { replicaKey, replicaPrefix } from "./replica-key.ts";
import { revisionOfObject } from "./shard-reader.ts";

export interface ReplicaStoreOptions {
  readonly storage: Storage;
  readonly watchCache: WatchCache;
  /** Stores a part of an object elsewhere, and returns the rest. */
  readonly fold: (
    definition: ResourceDefinition,
    cluster: ClusterName,
    object: JsonObject,
  ) => Promise<JsonObject>;
}

export interface ReplicaState {
  /** The revision of the original. */
  readonly revision: number;
  readonly position: number;
  /** Set by this shard alone, and kept when the original changes. */
  readonly isMarked: boolean;
  /** The verbs that all users with credentials have on the original. */
  readonly everybodyMay: readonly string[];
}

export interface StoredReplica {
  readonly cluster: ClusterName;
  readonly name: string;
  readonly object: JsonObject;
}

export class ReplicaStore {
  readonly #options: ReplicaStoreOptions;

  constructor(options: ReplicaStoreOptions) {
    this.#options = options;
  }

  get(
    definition: ResourceDefinition,
    cluster: ClusterName,
    name: string,
  ): Promise<Entry | undefined> {
    return this.#read(replicaKey(definition, cluster, name));
  }

  async *all(definition: ResourceDefinition): AsyncGenerator<StoredReplica> {
    for await (const entry of listEntries(this.#options.storage, replicaPrefix(definition))) {
      const { namespace, name } = parseObjectKey(entry.key);
      yield { cluster: namespace as ClusterName, name, object: decodeObject(entry) };
    }
  }

  /**
   * Stores the state of an original, unless a newer one is here. `isCurrent` says that the original
   * was read just now: its state counts even when the revisions of its shard went back, as after a
   * restore.
   */
  async put(
    definition: ResourceDefinition,
    cluster: ClusterName,
    object: JsonObject,
    { position, isCurrent }: { readonly position: number; readonly isCurrent: boolean },
  ): Promise<void> {
    const { name } = object["metadata"] as { name: string };
    const revision = revisionOfObject(object);
    await this.#change(replicaKey(definition, cluster, name), async (before) => {
      const known = before && replicaStateOf(before);
      const isOld =
        known !== undefined &&
        (isCurrent ? known.revision === revision : known.revision >= revision);
      if (isOld) return before;
      const rest = await this.#options.fold(definition, cluster, withoutManagedFields(object));
      return { ...rest, replica: { ...objectIn(before), revision, position } };
    });
  }

  mark(definition: ResourceDefinition, cluster: ClusterName, name: string): Promise<void> {
    return this.#change(replicaKey(definition, cluster, name), async (before) => {
      if (before === undefined || replicaStateOf(before).isMarked) return before;
      return { ...before, replica: { ...objectIn(before), isMarked: true } };
    });
  }

  noteEverybody(
    definition: ResourceDefinition,
    cluster: ClusterName,
    name: string,
    { verb, allowed }: { readonly verb: string; readonly allowed: boolean },
  ): Promise<void> {
    return this.#change(replicaKey(definition, cluster, name), async (before) => {
      if (before === undefined) return before;
      const { everybodyMay } = replicaStateOf(before);
      if (everybodyMay.includes(verb) === allowed) return before;
      const others = everybodyMay.filter((one) => one !== verb);
      const now = allowed ? [...others, verb] : others;
      return { ...before, replica: { ...objectIn(before), everybodyMay: now } };
    });
  }

  remove(definition: ResourceDefinition, cluster: ClusterName, name: string): Promise<void> {
    return this.#change(replicaKey(definition, cluster, name), async () => undefined);
  }

  /** Removes what a deletion at this revision removed; returns whether a newer one is here. */
  async removeUpTo(
    revision: number,
    definition: ResourceDefinition,
    cluster: ClusterName,
    name: string,
  ): Promise<boolean> {
    let isNewer = false;
    await this.#change(replicaKey(definition, cluster, name), async (before) => {
      isNewer = before !== undefined && replicaStateOf(before).revision > revision;
      return isNewer ? before : undefined;
    });
    return isNewer;
  }

  /** Resolves when the listeners of this server have seen the change. */
  async #change(
    key: StorageKey,
    change: (before: JsonObject | undefined) => Promise<JsonObject | undefined>,
  ): Promise<void> {
    const { storage, watchCache } = this.#options;
    for (;;) {
      const entry = await storage.get(key, { signal: neverAborted });
      const before = entry && decodeObject(entry);
      const after = await change(before);
      if (after === before) return;
      const value = after === undefined ? "delete" : encodeObject(after);
      const write = { key, value, expected: entry?.modifiedAt ?? "absent" } as const;
      try {
        const revision = await storage.commit(write, { signal: neverAborted });
        return await watchCache.hub.waitUntilSeen(revision, neverAborted);
      } catch (error) {
        // Another server of this shard was first.
        if (!isStorageError(error, "conflict")) throw error;
      }
    }
  }

  #read(key: StorageKey): Promise<Entry | undefined> {
    return this.#options.watchCache.get(key, { kind: "latest" }, neverAborted);
  }
}

export function replicaStateOf(object: JsonObject): ReplicaState {
  const { revision, position, isMarked, everybodyMay } = objectIn(object);
  return {
    revision: Number(revision ?? 0),
    position: Number(position ?? 0),
    isMarked: isMarked === true,
    everybodyMay: listOf(everybodyMay).map(textOf),
  };
}

function objectIn(object: JsonObject | undefined): JsonObject {
  const { replica } = object ?? {};
  return isJsonObject(replica) ? replica : {};
}

function withoutManagedFields(object: JsonObject): JsonObject {
  const { managedFields: _, ...metadata } = object["metadata"] as JsonObject;
  return { ...object, metadata };
}
