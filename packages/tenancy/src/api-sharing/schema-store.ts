/**
 * The schemas that bindings are bound to, by uid: an APIResourceSchema never changes, so what was once read is true for good.
 *
 * A copy of every schema in use is kept in `system:bound-crds`: its provider may delete the original, and those who are bound to it go on.
 */

import {
  compileExportedDefinition,
  type SharedDefinition,
} from "@kcp-ts/apiserver/custom-resources";
import { collectionKeyOf } from "@kcp-ts/apiserver/registry";
import type { MaybePromise } from "@kcp-ts/apiserver/request/api-request";
import {
  clusterPrefix,
  type Entry,
  isStorageError,
  objectKey,
  parseObjectKey,
  type Storage,
  type StorageKey,
} from "@kcp-ts/apiserver/storage";
import { decodeObject, encodeObject } from "@kcp-ts/apiserver/stored-object";
import type { WatchCache } from "@kcp-ts/apiserver/watch-cache";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { member, uncancelled } from "../workspaces/index.ts";
import { textOf, toCustomResourceDefinition } from "./kinds/as-definition.ts";
import { apiResourceSchemas } from "./kinds/definitions.ts";

export interface StoredSchema {
  readonly name: string;
  readonly uid: string;
  readonly shared: SharedDefinition;
  /** The same for bindings on their way out: nothing new comes in. */
  readonly terminating: () => SharedDefinition;
}

/** Schemas held by uid; what is compiled of them is bounded elsewhere. */
export const cachedSchemasMax = 10_000;

const copiesCluster = "system:bound-crds" as ClusterName;
/** Where the copies are. */
export const copiesPrefix: StorageKey = clusterPrefix({
  ...collectionKeyOf(apiResourceSchemas),
  cluster: copiesCluster,
});

export function copyKey(uid: string): StorageKey {
  return schemaKey(copiesCluster, uid);
}

export function uidOfCopy(key: StorageKey): string {
  return parseObjectKey(key).name;
}

export class SchemaStore {
  readonly #storage: Storage;
  readonly #watchCache: WatchCache;
  /** In order of last use, oldest first. */
  readonly #held = new Map<string, StoredSchema>();
  readonly #copied = new Set<string>();
  /** Told of every schema that somebody is about to be bound to. */
  onCopy: (uid: string) => void = () => {};

  constructor(options: { readonly storage: Storage; readonly watchCache: WatchCache }) {
    this.#storage = options.storage;
    this.#watchCache = options.watchCache;
  }

  /** The schema of this name as it is now. */
  async current(cluster: ClusterName, name: string): Promise<StoredSchema | undefined> {
    const entry = await this.#read(schemaKey(cluster, name));
    if (entry === undefined) return undefined;
    const object = decodeObject(entry);
    return this.#held.get(uidOf(object)) ?? this.#keep(object);
  }

  async isThere(cluster: ClusterName, name: string): Promise<boolean> {
    return (await this.#read(schemaKey(cluster, name))) !== undefined;
  }

  /** One that somebody is bound to; undefined when it is nowhere to be found. */
  get(uid: string, cluster: ClusterName, name: string): MaybePromise<StoredSchema | undefined> {
    const held = this.#held.get(uid);
    if (held === undefined) return this.#load(uid, cluster, name);
    this.#held.delete(uid);
    this.#held.set(uid, held);
    return held;
  }

  /** Makes sure that it can be found as long as somebody is bound to it. */
  async copy(uid: string, cluster: ClusterName, name: string): Promise<void> {
    this.onCopy(uid);
    if (this.#copied.has(uid)) return;
    const key = copyKey(uid);
    if ((await this.#read(key)) === undefined) {
      const entry = await this.#read(schemaKey(cluster, name));
      if (entry === undefined || uidOf(decodeObject(entry)) !== uid) return;
      await this.#insert(key, decodeObject(entry));
    }
    if (this.#copied.size >= cachedSchemasMax) this.#copied.clear();
    this.#copied.add(uid);
  }

  /** Its copy is gone, and nobody is bound to it. */
  forget(uid: string): void {
    this.#copied.delete(uid);
    this.#held.delete(uid);
  }

  async #load(uid: string, cluster: ClusterName, name: string): Promise<StoredSchema | undefined> {
    for (const key of [copyKey(uid), schemaKey(cluster, name)]) {
      const entry = await this.#read(key);
      const object = entry === undefined ? undefined : decodeObject(entry);
      if (object !== undefined && uidOf(object) === uid)
        return this.#held.get(uid) ?? this.#keep(object);
    }
    return undefined;
  }

  #keep(object: JsonObject): StoredSchema {
    const definition = toCustomResourceDefinition(object);
    const uid = uidOf(object);
    const schema: StoredSchema = {
      name: textOf(member(object, "metadata")["name"]),
      uid,
      shared: compileExportedDefinition(definition, { isTerminating: false }),
      terminating: () => compileExportedDefinition(definition, { isTerminating: true }),
    };
    this.#held.set(uid, schema);
    if (this.#held.size > cachedSchemasMax) {
      const [oldest] = this.#held.keys();
      if (oldest !== undefined) this.#held.delete(oldest);
    }
    return schema;
  }

  #read(key: StorageKey): Promise<Entry | undefined> {
    return this.#watchCache.get(key, { kind: "latest" }, uncancelled);
  }

  async #insert(key: StorageKey, object: JsonObject): Promise<void> {
    const value = encodeObject(object);
    try {
      await this.#storage.commit({ key, value, expected: "absent" }, { signal: uncancelled });
    } catch (error) {
      // Somebody else keeps the same.
      if (!isStorageError(error, "conflict")) throw error;
    }
  }
}

function schemaKey(cluster: ClusterName, name: string): StorageKey {
  return objectKey({ ...collectionKeyOf(apiResourceSchemas), cluster, namespace: "", name });
}

function uidOf(object: JsonObject): string {
  return textOf(member(object, "metadata")["uid"]);
}
