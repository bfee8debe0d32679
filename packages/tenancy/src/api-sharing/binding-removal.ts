/**
 * Removes an APIBinding: deletes the objects of its APIs, waits for their finalizers, then releases
 * the binding.
 */
import type { ResourceDefinition } from "@kcp-ts/apiserver/registry";
import { forEachAtOnce } from "@kcp-ts/apiserver/request/entries-at-once";
import {
  clusterPrefix,
  type Entry,
  isStorageError,
  parseObjectKey,
  type StorageKey,
} from "@kcp-ts/apiserver/storage";
import { decodeMetadata } from "@kcp-ts/apiserver/stored-object";
import { runSyncFirst } from "@kcp-ts/machinery/base";
import { type JsonObject, listOf, textOf } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Condition, member, systemWriteOptions, uncancelled } from "../workspaces/index.ts";
import { ServedResource } from "./binding-index.ts";
import { type BoundResourceCatalog, exportClusterOf } from "./bound-resource-catalog.ts";
import type { ApiSharingDependencies } from "./dependencies.ts";
import type { BindingRecord, BoundResource } from "./records.ts";

export interface BindingRemovalOptions {
  readonly dependencies: ApiSharingDependencies;
  readonly catalog: BoundResourceCatalog;
  /** Queues another call of `advance`. */
  readonly requeue: (key: StorageKey) => void;
}

const pageEntries = 500;

export class BindingRemoval {
  readonly #options: BindingRemovalOptions;
  /** Bindings whose last objects have finalizers, with the functions that stop waiting for them. */
  readonly #waiting = new Map<StorageKey, (() => void)[]>();

  constructor(options: BindingRemovalOptions) {
    this.#options = options;
  }

  /**
   * Deletes the binding's objects; returns undefined when none remain, otherwise the condition to
   * report. The events of the remaining objects requeue the binding.
   */
  async advance(key: StorageKey, binding: BindingRecord): Promise<Condition | undefined> {
    this.#listen(key, binding);
    const finalizers = new Map<string, number>();
    let left = 0;
    for (const bound of binding.bound) {
      if (await this.#isServedByOtherBinding(binding, bound)) continue;
      left += await this.#deleteAll(binding, bound, finalizers);
    }
    if (left === 0) {
      this.forget(key);
      return undefined;
    }
    return remaining(left, finalizers);
  }

  forget(key: StorageKey): void {
    for (const stop of this.#waiting.get(key) ?? []) stop();
    this.#waiting.delete(key);
  }

  close(): void {
    for (const key of [...this.#waiting.keys()]) this.forget(key);
  }

  /**
   * Whether another binding serves the very same objects, or will when this one is deleted: its
   * export has the same identity and the same schema, so that no object changes.
   */
  async #isServedByOtherBinding(binding: BindingRecord, bound: BoundResource): Promise<boolean> {
    const { dependencies } = this.#options;
    const { resource, group, identityHash, schemaUid } = bound;
    for (const other of dependencies.bindings.inCluster(binding.cluster)?.records.values() ?? []) {
      if (other.name === binding.name || other.isDeleted) continue;
      const isSame = (one: BoundResource) =>
        one.resource === resource && one.group === group && one.identityHash === identityHash;
      if (other.bound.some(isSame)) return true;
      const exported = dependencies.exportOf(other);
      if (exported?.identityHash !== identityHash) continue;
      const offered = exported.resources.find(
        (one) => one.resource === resource && one.group === group && one.virtual === undefined,
      );
      const schema =
        offered && (await dependencies.schemas.current(exported.cluster, offered.schema));
      if (schema?.uid === schemaUid) return true;
    }
    return false;
  }

  /** Returns the number of remaining objects. */
  async #deleteAll(
    binding: BindingRecord,
    bound: BoundResource,
    finalizers: Map<string, number>,
  ): Promise<number> {
    const { storage } = this.#options.dependencies;
    const prefix = prefixOf(binding.cluster, bound);
    const definition = await this.#definition(binding, bound);
    for (let continueAfter: StorageKey | undefined; ; ) {
      const page = await storage.list(prefix, {
        signal: uncancelled,
        entriesMax: pageEntries,
        continueAfter,
      });
      await forEachAtOnce(page.entries, (entry) => this.#delete(definition, entry, finalizers));
      if (!page.more) break;
      continueAfter = page.entries.at(-1)?.key;
    }
    return storage.count(prefix, { signal: uncancelled });
  }

  async #definition(
    binding: BindingRecord,
    bound: BoundResource,
  ): Promise<ResourceDefinition | undefined> {
    const { dependencies, catalog } = this.#options;
    const { schemaUid, schemaName } = bound;
    const schema = await dependencies.schemas.get(schemaUid, exportClusterOf(binding), schemaName);
    if (schema === undefined) return undefined;
    // Objects that were stored before the resource got virtual storage are deleted as well.
    const served = new ServedResource({ ...bound, isVirtual: false }, binding);
    return catalog.definitionOf(served, schema.shared.storageVersion);
  }

  async #delete(
    definition: ResourceDefinition | undefined,
    entry: Entry,
    finalizers: Map<string, number>,
  ): Promise<void> {
    const { cluster, namespace, name } = parseObjectKey(entry.key);
    const metadata = await runSyncFirst(decodeMetadata(entry));
    for (const finalizer of listOf(metadata["finalizers"]).map(textOf))
      finalizers.set(finalizer, (finalizers.get(finalizer) ?? 0) + 1);
    // Objects of a definition that no longer exists are removed at once: no controller can read
    // them to remove their finalizers.
    if (definition === undefined) return this.#remove(entry);
    if (metadata["deletionTimestamp"] !== undefined) return;
    try {
      const address = { cluster, namespace, name };
      await this.#options.dependencies.registry.delete(definition, address, {}, systemWriteOptions);
    } catch (error) {
      if (!isStatusError(error, "NotFound")) throw error;
    }
  }

  async #remove({ key, modifiedAt: expected }: Entry): Promise<void> {
    try {
      const { storage } = this.#options.dependencies;
      await storage.commit({ key, value: "delete", expected }, { signal: uncancelled });
    } catch (error) {
      if (!isStorageError(error, "conflict")) throw error;
    }
  }

  #listen(key: StorageKey, { cluster, bound }: BindingRecord): void {
    if (this.#waiting.has(key)) return;
    const { dependencies, requeue } = this.#options;
    const stops = bound.map((one) =>
      dependencies.watchCache.hub.listen(prefixOf(cluster, one), {
        onEvent: ({ current }) => {
          if (current === undefined) requeue(key);
        },
        onLost: () => {
          this.#waiting.delete(key);
          requeue(key);
        },
      }),
    );
    this.#waiting.set(key, stops);
  }
}

function prefixOf(
  cluster: ClusterName,
  { group, resource, identityHash: identity }: BoundResource,
): StorageKey {
  return clusterPrefix({ group, resource, identity, cluster });
}

function remaining(left: number, finalizers: ReadonlyMap<string, number>): Condition {
  const held = [...finalizers]
    .sort()
    .map(([name, count]) => `${name} in ${count} resource instances`);
  const type = "BindingResourceDeleteSuccess";
  const severity = "Info";
  return held.length > 0
    ? {
        type,
        status: "False",
        severity,
        reason: "SomeFinalizersRemain",
        message: `Some content in the workspace has finalizers remaining: ${held.join(", ")}`,
      }
    : {
        type,
        status: "False",
        severity,
        reason: "SomeResourcesRemain",
        message: `Some resources are remaining: ${left} resource instances`,
      };
}

/** The object without the given finalizer. */
export function withoutFinalizer(object: JsonObject, finalizer: string): JsonObject {
  const metadata = member(object, "metadata");
  const finalizers = listOf(metadata["finalizers"]).filter((one) => one !== finalizer);
  return { ...object, metadata: { ...metadata, finalizers } };
}
