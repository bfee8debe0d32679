/**
 * The contents of replicated schemas, by the hash of their content: workspaces that export the same
 * schema, on whatever shards, share one content here. A replica has the hash in place of the spec.
 */
import { createHash } from "node:crypto";
import { collectionKeyOf, type ResourceDefinition } from "@kcp-ts/apiserver/registry";
import {
  isStorageError,
  objectKey,
  parseObjectKey,
  type Revision,
  resourcePrefix,
  type Storage,
  type StorageKey,
} from "@kcp-ts/apiserver/storage";
import { decodeObject, encodeObject } from "@kcp-ts/apiserver/stored-object";
import { neverAborted } from "@kcp-ts/machinery/base";
import { type JsonObject, stringifyJson, textOf } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { listEntries } from "./list-entries.ts";

const contentIdentity = "content";
const contentCluster = "system:replicas" as ClusterName;

export class SchemaContents {
  readonly #storage: Storage;
  readonly #definition: ResourceDefinition;
  /** What the last call found unused, as it was then. */
  #unused: ReadonlyMap<StorageKey, Revision> = new Map();

  constructor(storage: Storage, definition: ResourceDefinition) {
    this.#storage = storage;
    this.#definition = definition;
  }

  /** Stores the content of a schema, unless it is here, and returns the schema without it. */
  async fold(schema: JsonObject): Promise<JsonObject> {
    const { spec = {}, ...rest } = schema;
    const hash = contentHashOf(schema);
    const key = this.#key(hash);
    const { kind = "", apiVersion = "" } = schema;
    const value = encodeObject({ kind, apiVersion, metadata: { name: hash }, spec });
    // Also written when it is here: what is written was used a moment ago, and is not removed.
    const known = await this.#storage.get(key, { signal: neverAborted });
    await this.#commit({ key, value, expected: known?.modifiedAt ?? "absent" });
    return { ...rest, contentHash: hash };
  }

  /** The complete schema; undefined when its content is not here. */
  async unfold(schema: JsonObject): Promise<JsonObject | undefined> {
    const { contentHash, ...rest } = schema;
    if (contentHash === undefined) return schema;
    const key = this.#key(textOf(contentHash));
    const entry = await this.#storage.get(key, { signal: neverAborted });
    return entry === undefined ? undefined : { ...rest, spec: decodeObject(entry)["spec"] ?? {} };
  }

  /**
   * Deletes the contents that no replica and no copy has, and that nobody wrote between the last
   * call and this one.
   */
  async removeUnused(readUsed: () => Promise<ReadonlySet<string>>): Promise<void> {
    const before = this.#unused;
    const found = new Map<StorageKey, Revision>();
    for await (const { key, modifiedAt } of listEntries(
      this.#storage,
      resourcePrefix(this.#collection),
    ))
      found.set(key, modifiedAt);
    const used = await readUsed();
    for (const [key, expected] of found) {
      if (used.has(parseObjectKey(key).name)) found.delete(key);
      else if (before.get(key) === expected) await this.#commit({ key, value: "delete", expected });
    }
    this.#unused = found;
  }

  get #collection() {
    return { ...collectionKeyOf(this.#definition), identity: contentIdentity };
  }

  #key(hash: string): StorageKey {
    return objectKey({ ...this.#collection, cluster: contentCluster, namespace: "", name: hash });
  }

  /** Another server of this shard may store or delete the same content. */
  async #commit(write: Parameters<Storage["commit"]>[0]): Promise<void> {
    try {
      await this.#storage.commit(write, { signal: neverAborted });
    } catch (error) {
      if (!isStorageError(error, "conflict")) throw error;
    }
  }
}

/** The hash of a schema's content, which a replica has in its place. */
export function contentHashOf({ spec = {}, contentHash }: JsonObject): string {
  return textOf(contentHash) || createHash("sha256").update(stringifyJson(spec)).digest("hex");
}
