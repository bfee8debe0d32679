/** The end of a binding: the objects that it brought are deleted, whatever holds them back is waited for, then the binding goes. */

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
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Condition, member, systemWriteOptions, uncancelled } from "../workspaces/index.ts";
import { ServedResource } from "./binding-index.ts";
import { listOf, textOf } from "./kinds/as-definition.ts";
import type { ApiSharingDependencies } from "./parts.ts";
import type { BindingRecord, BoundResource } from "./records.ts";
import { type BoundResourceCatalog, exportClusterOf } from "./sharing-catalog.ts";

export interface BindingRemovalOptions {
  readonly parts: ApiSharingDependencies;
  readonly catalog: BoundResourceCatalog;
  /** Calls `advance` again. */
  readonly again: (key: StorageKey) => void;
}

const pageEntries = 500;

export class BindingRemoval {
  readonly #options: BindingRemovalOptions;
  /** Bindings whose last objects are held back, with the way to stop waiting. */
  readonly #waiting = new Map<StorageKey, (() => void)[]>();

  constructor(options: BindingRemovalOptions) {
    this.#options = options;
  }

  /** Undefined when nothing is left; otherwise what is to be said of it. Whatever is waited for asks again. */
  async advance(key: StorageKey, binding: BindingRecord): Promise<Condition | undefined> {
    this.#listen(key, binding);
    const finalizers = new Map<string, number>();
    let left = 0;
    for (const bound of binding.bound) {
      if (await this.#isTakenOver(binding, bound)) continue;
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
   * Another binding serves the very same objects, or will when this one is gone: its export has the same identity and the same schema, so
   * that nothing of them changes.
   */
  async #isTakenOver(binding: BindingRecord, bound: BoundResource): Promise<boolean> {
    const { parts } = this.#options;
    const { resource, group, identityHash, schemaUid } = bound;
    for (const other of parts.bindings.in(binding.cluster)?.records.values() ?? []) {
      if (other.name === binding.name || other.isDeleted) continue;
      const isSame = (one: BoundResource) =>
        one.resource === resource && one.group === group && one.identityHash === identityHash;
      if (other.bound.some(isSame)) return true;
      const exported = parts.exportOf(other);
      if (exported?.identityHash !== identityHash) continue;
      const offered = exported.resources.find(
        (one) => one.resource === resource && one.group === group && one.virtual === undefined,
      );
      const schema = offered && (await parts.schemas.current(exported.cluster, offered.schema));
      if (schema?.uid === schemaUid) return true;
    }
    return false;
  }

  /** How many are still there. */
  async #deleteAll(
    binding: BindingRecord,
    bound: BoundResource,
    finalizers: Map<string, number>,
  ): Promise<number> {
    const { storage } = this.#options.parts;
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
    const { parts, catalog } = this.#options;
    const { schemaUid, schemaName } = bound;
    const schema = await parts.schemas.get(schemaUid, exportClusterOf(binding), schemaName);
    if (schema === undefined) return undefined;
    // What was stored before the resource became somebody else's goes as well.
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
    // What nobody can read any more nobody can finish either.
    if (definition === undefined) return this.#remove(entry);
    if (metadata["deletionTimestamp"] !== undefined) return;
    try {
      const address = { cluster, namespace, name };
      await this.#options.parts.registry.delete(definition, address, {}, systemWriteOptions);
    } catch (error) {
      if (!isStatusError(error, "NotFound")) throw error;
    }
  }

  async #remove({ key, modifiedAt: expected }: Entry): Promise<void> {
    try {
      const { storage } = this.#options.parts;
      await storage.commit({ key, value: "delete", expected }, { signal: uncancelled });
    } catch (error) {
      if (!isStorageError(error, "conflict")) throw error;
    }
  }

  #listen(key: StorageKey, { cluster, bound }: BindingRecord): void {
    if (this.#waiting.has(key)) return;
    const { parts, again } = this.#options;
    const stops = bound.map((one) =>
      parts.watchCache.hub.listen(prefixOf(cluster, one), {
        onEvent: ({ current }) => {
          if (current === undefined) again(key);
        },
        onLost: () => {
          this.#waiting.delete(key);
          again(key);
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

/** The object without the finalizer that holds it. */
export function withoutFinalizer(object: JsonObject, finalizer: string): JsonObject {
  const metadata = member(object, "metadata");
  const finalizers = listOf(metadata["finalizers"]).filter((one) => one !== finalizer);
  return { ...object, metadata: { ...metadata, finalizers } };
}
