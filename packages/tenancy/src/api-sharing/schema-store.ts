/**
 * Caches the schemas of bindings by uid: an APIResourceSchema is immutable, so a cached schema
 * stays valid.
 *
 * A copy of every schema in use is stored in `system:bound-crds`, so that bindings keep working
 * after the provider deletes the original.
 */
import {
  compileExportedDefinition,
  type SharedDefinition,
} from "@kcp-ts/apiserver/custom-resources";
import { collectionKeyOf } from "@kcp-ts/apiserver/registry";
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
import { type JsonObject, textOf } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { contentHashOf, type Replicas } from "../replicas/index.ts";
import { member, uncancelled } from "../workspaces/index.ts";
import { apiResourceSchemas } from "./kinds/definitions.ts";
import { toCustomResourceDefinition } from "./kinds/to-custom-resource-definition.ts";

export interface StoredSchema {
  readonly name: string;
  readonly uid: string;
  readonly shared: SharedDefinition;
  /** Known where there are other shards. */
  readonly contentHash: string | undefined;
  /** The definition for bindings that are being deleted, which rejects creates. */
  readonly terminating: () => SharedDefinition;
}

/** The number of cached schemas; their compiled validators have a limit of their own. */
export const cachedSchemasMax = 10_000;

const copiesCluster = "system:bound-crds" as ClusterName;
/** The storage prefix of the copies. */
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
  readonly #replicas: Replicas | undefined;
  /** In order of last use, oldest first. */
  readonly #cached = new Map<string, StoredSchema>();
  readonly #copied = new Set<string>();
  /** Called for every schema that a binding is about to use. */
  onCopy: (uid: string) => void = () => {};

  constructor(options: {
    readonly storage: Storage;
    readonly watchCache: WatchCache;
    readonly replicas?: Replicas | undefined;
  }) {
    this.#storage = options.storage;
    this.#watchCache = options.watchCache;
    this.#replicas = options.replicas;
  }

  /** The current schema of this name. */
  async current(cluster: ClusterName, name: string): Promise<StoredSchema | undefined> {
    const object = await this.#original(cluster, name);
    if (object === undefined) return undefined;
    const held = this.#cached.get(uidOf(object));
    if (held !== undefined) return this.#isSame(held, object) ? held : undefined;
    if (!(await this.#isOfCopy(object))) return undefined;
    const complete = await this.#complete(object);
    return complete && this.#cache(complete);
  }

  async exists(cluster: ClusterName, name: string): Promise<boolean> {
    return (await this.#original(cluster, name)) !== undefined;
  }

  /** The schema of a binding; undefined when neither the original nor a copy exists. */
  async get(uid: string, cluster: ClusterName, name: string): Promise<StoredSchema | undefined> {
    const held = this.#cached.get(uid);
    if (held === undefined) return this.#load(uid, cluster, name);
    this.#cached.delete(uid);
    this.#cached.set(uid, held);
    return held;
  }

  /** Stores a copy of the schema for the lifetime of its bindings. */
  async copy(uid: string, cluster: ClusterName, name: string): Promise<void> {
    this.onCopy(uid);
    if (this.#copied.has(uid)) return;
    const key = copyKey(uid);
    const copy = await this.#read(key);
    if (copy === undefined) {
      const object = await this.#original(cluster, name);
      if (object === undefined || uidOf(object) !== uid) return;
      await this.#insert(key, object);
    }
    if (this.#copied.size >= cachedSchemasMax) this.#copied.clear();
    this.#copied.add(uid);
  }

  /** Drops a schema whose copy was deleted and which has no bindings. */
  forget(uid: string): void {
    this.#copied.delete(uid);
    this.#cached.delete(uid);
  }

  async #load(uid: string, cluster: ClusterName, name: string): Promise<StoredSchema | undefined> {
    const copy = await this.#read(copyKey(uid));
    for (const read of [() => copy && decodeObject(copy), () => this.#original(cluster, name)]) {
      const object = await read();
      const isIt = object !== undefined && uidOf(object) === uid;
      const complete = isIt ? await this.#complete(object) : undefined;
      if (complete !== undefined) return this.#cached.get(uid) ?? this.#cache(complete);
    }
    return undefined;
  }

  /** The schema of this name; one of another shard may have a hash in place of its content. */
  async #original(cluster: ClusterName, name: string): Promise<JsonObject | undefined> {
    const shard = this.#replicas?.shardOf(cluster);
    const entry =
      shard !== undefined
        ? await this.#replicas?.get(apiResourceSchemas, cluster, name)
        : await this.#read(schemaKey(cluster, name));
    return entry && decodeObject(entry);
  }

  async #complete(object: JsonObject): Promise<JsonObject | undefined> {
    return this.#replicas === undefined ? object : this.#replicas.contents.unfold(object);
  }

  async #isOfCopy(object: JsonObject): Promise<boolean> {
    if (this.#replicas === undefined) return true;
    const copy = await this.#read(copyKey(uidOf(object)));
    return copy === undefined || contentHashOf(decodeObject(copy)) === contentHashOf(object);
  }

  /**
   * The uids of another shard are its own affair: where one is in use here for another content, its
   * schema counts as missing.
   */
  #isSame({ contentHash }: StoredSchema, object: JsonObject): boolean {
    return contentHash === undefined || contentHash === contentHashOf(object);
  }

  #cache(object: JsonObject): StoredSchema {
    const definition = toCustomResourceDefinition(object);
    const uid = uidOf(object);
    const schema: StoredSchema = {
      name: textOf(member(object, "metadata")["name"]),
      uid,
      contentHash: this.#replicas === undefined ? undefined : contentHashOf(object),
      shared: compileExportedDefinition(definition, { isTerminating: false }),
      terminating: () => compileExportedDefinition(definition, { isTerminating: true }),
    };
    this.#cached.set(uid, schema);
    if (this.#cached.size > cachedSchemasMax) {
      const [oldest] = this.#cached.keys();
      if (oldest !== undefined) this.#cached.delete(oldest);
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
      // Another server stored the same copy.
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
