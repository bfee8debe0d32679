/**
 * DefinitionRemoval deletes all instances of a deleted definition, waits for finalizers, and then
 * removes the definition itself.
 */
import { assert, type Clock, runSyncFirst } from "@kcp-ts/machinery/base";
import { type JsonObject, type JsonValue, textsOf } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Registry,
  type ResourceDefinition,
  type SubresourceStrategy,
  timestamp,
} from "../registry/index.ts";
import { forEachAtOnce } from "../request/entries-at-once.ts";
import {
  clusterPrefix,
  type Entry,
  parseObjectKey,
  type Storage,
  type StorageKey,
} from "../storage/index.ts";
import { decodeMetadata, isEstablished } from "../stored-object/index.ts";
import type { WatchHub } from "../watch-cache/index.ts";
import {
  conditionsOf,
  type DefinitionCondition,
  deletionCompleted,
  deletionInProgress,
  neverEstablished,
  withCondition,
} from "./conditions.ts";
import type { DefinitionIndex } from "./definition-index.ts";
import { DefinitionRecord } from "./definition-record.ts";
import { cleanupFinalizer, customResourceDefinitions } from "./definitions.ts";
import { namesOfDefinition } from "./instances.ts";

export interface DefinitionRemovalOptions {
  readonly storage: Storage;
  readonly hub: WatchHub;
  readonly clock: Clock;
  readonly registry: Registry;
  readonly index: DefinitionIndex;
  readonly signal: AbortSignal;
  /** Calls `advance` again, later. */
  readonly requeue: (cluster: ClusterName, name: string) => void;
}

const pageEntries = 500;

export class DefinitionRemoval {
  readonly #options: DefinitionRemovalOptions;
  /**
   * Definitions that wait for finalizers of their last instances, with the function to stop
   * waiting.
   */
  readonly #waiting = new Map<StorageKey, () => void>();

  constructor(options: DefinitionRemovalOptions) {
    this.#options = options;
  }

  /** Proceeds as far as possible; the end of every wait calls it again. */
  async advance(cluster: ClusterName, entry: Entry): Promise<void> {
    const { name } = parseObjectKey(entry.key);
    if (isEstablished(entry)) {
      if (!(await this.#deleteInstances(cluster, name, entry))) return;
      await this.#finish(cluster, entry, deletionCompleted);
    } else {
      await this.#finish(cluster, entry, neverEstablished);
    }
  }

  close(): void {
    for (const stop of this.#waiting.values()) stop();
    this.#waiting.clear();
  }

  /** False when finalizers still hold some instances. */
  async #deleteInstances(cluster: ClusterName, name: string, entry: Entry): Promise<boolean> {
    const { storage, signal } = this.#options;
    const { uid } = await runSyncFirst(decodeMetadata(entry));
    const names = namesOfDefinition(name);
    let definition = names === undefined ? await this.#stored(cluster, entry) : undefined;
    const { group, resource } = names ?? (definition as ResourceDefinition);
    const prefix = clusterPrefix({ group, resource, identity: String(uid), cluster });
    const stop = this.#waiting.get(prefix) ?? this.#listen(prefix, cluster, name);
    let continueAfter: StorageKey | undefined;
    do {
      const page = await storage.list(prefix, { signal, entriesMax: pageEntries, continueAfter });
      // Where nothing is left, nothing of the definition is needed but its names.
      if (page.entries.length > 0) {
        await this.#setCondition(cluster, name, deletionInProgress);
        definition ??= await this.#stored(cluster, entry);
        const deleted = definition;
        await forEachAtOnce(page.entries, (one) => this.#deleteInstance(cluster, deleted, one));
      }
      continueAfter = page.more ? page.entries.at(-1)?.key : undefined;
    } while (continueAfter !== undefined);
    if ((await storage.count(prefix, { signal })) > 0) {
      this.#waiting.set(prefix, stop);
      return false;
    }
    stop();
    this.#waiting.delete(prefix);
    return true;
  }

  /** What its instances are deleted through. */
  async #stored(cluster: ClusterName, entry: Entry): Promise<ResourceDefinition> {
    const record = new DefinitionRecord(entry, undefined);
    await runSyncFirst(record.parsed());
    const definition = record.stored(this.#options.index.conversion, cluster);
    assert(definition !== undefined, "an established definition has a storage version");
    await definition.shared.warmUp();
    return definition;
  }

  #listen(prefix: StorageKey, cluster: ClusterName, name: string): () => void {
    const again = () => this.#options.requeue(cluster, name);
    return this.#options.hub.listen(prefix, {
      onEvent: ({ current }) => {
        if (current === undefined && this.#waiting.has(prefix)) again();
      },
      onLost: () => {
        this.#waiting.delete(prefix);
        again();
      },
    });
  }

  async #deleteInstance(
    cluster: ClusterName,
    definition: ResourceDefinition,
    { key }: Entry,
  ): Promise<void> {
    const { namespace, name } = parseObjectKey(key);
    const { registry, signal } = this.#options;
    const options = { isDryRun: false, validate: () => undefined, signal };
    try {
      await registry.delete(definition, { cluster, namespace, name }, {}, options);
    } catch (error) {
      if (!isStatusError(error, "NotFound")) throw error;
    }
  }

  #setCondition(cluster: ClusterName, name: string, condition: DefinitionCondition): Promise<void> {
    const status = customResourceDefinitions.subresources.get("status");
    return this.#update(cluster, name, { subresource: status }, (old) =>
      this.#withCondition(old, condition),
    );
  }

  /**
   * Removes the definition, or sets the last condition and removes the finalizer where another one
   * is left. One write, and mostly of nothing: a definition may be large.
   */
  async #finish(cluster: ClusterName, entry: Entry, condition: DefinitionCondition): Promise<void> {
    const { registry, signal, storage } = this.#options;
    const { name } = parseObjectKey(entry.key);
    const live = await storage.get(entry.key, { signal });
    // Created anew under its name, it is another definition.
    if (live?.createdAt !== entry.createdAt) return;
    const { finalizers } = await runSyncFirst(decodeMetadata(live));
    if (textsOf(finalizers).every((each) => each === cleanupFinalizer)) {
      const address = { cluster, namespace: "", name };
      if (await registry.remove(customResourceDefinitions, address, live, signal)) return;
    }
    return this.#update(cluster, name, { subresource: finalization }, (old) => {
      const metadata = old["metadata"] as JsonObject;
      const finalizers = (metadata["finalizers"] ?? []) as readonly string[];
      const left = finalizers.filter((each) => each !== cleanupFinalizer);
      return {
        ...this.#withCondition(old, condition),
        metadata: { ...metadata, finalizers: left },
      };
    });
  }

  #withCondition(old: JsonObject, condition: DefinitionCondition): JsonObject {
    const now = timestamp(this.#options.clock.now());
    const conditions = withCondition(conditionsOf(old), condition, now);
    const before = (old["status"] ?? {}) as JsonObject;
    return { ...old, status: { ...before, conditions: conditions as readonly JsonValue[] } };
  }

  async #update(
    cluster: ClusterName,
    name: string,
    rules: Partial<Parameters<Registry["update"]>[3]>,
    change: (old: JsonObject) => JsonObject,
  ): Promise<void> {
    const { registry, signal } = this.#options;
    try {
      await registry.update(
        customResourceDefinitions,
        { cluster, namespace: "", name },
        async (old) => ({ ...change(old as JsonObject) }),
        { isDryRun: false, validate: () => undefined, signal, isDerivedFromLive: true, ...rules },
      );
    } catch (error) {
      if (!isStatusError(error, "NotFound")) throw error;
    }
  }
}

/** A write of the controller alone: it changes status and finalizers, and nothing else. */
const finalization: SubresourceStrategy = {
  verbs: [],
  prepareForUpdate: () => undefined,
  validateUpdate: () => [],
};
