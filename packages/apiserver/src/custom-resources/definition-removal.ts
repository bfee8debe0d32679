/**
 * The end of a definition: all its instances are deleted, whatever holds them back is waited for, then the definition itself goes.
 */

import type { Clock } from "@kcp-ts/machinery/base";
import { runSyncFirst } from "@kcp-ts/machinery/base";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Registry, type ResourceDefinition, timestamp } from "../registry/index.ts";
import { forEachAtOnce } from "../request/entries-at-once.ts";
import {
  clusterPrefix,
  type Entry,
  parseObjectKey,
  type Storage,
  type StorageKey,
} from "../storage/index.ts";
import { isEstablished } from "../stored-object/index.ts";
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

export interface DefinitionRemovalOptions {
  readonly storage: Storage;
  readonly hub: WatchHub;
  readonly clock: Clock;
  readonly registry: Registry;
  readonly index: DefinitionIndex;
  readonly signal: AbortSignal;
  /** Calls `advance` again, later. */
  readonly again: (cluster: ClusterName, name: string) => void;
}

const pageEntries = 500;

export class DefinitionRemoval {
  readonly #options: DefinitionRemovalOptions;
  /** Definitions whose last instances are held back by finalizers, with the way to stop waiting. */
  readonly #waiting = new Map<StorageKey, () => void>();

  constructor(options: DefinitionRemovalOptions) {
    this.#options = options;
  }

  /** Goes as far as it can; whatever must be waited for calls it again. */
  async advance(cluster: ClusterName, entry: Entry): Promise<void> {
    const { name } = parseObjectKey(entry.key);
    const record = new DefinitionRecord(entry, undefined);
    await runSyncFirst(record.lookResumable());
    const definition = record.stored(this.#options.index.conversion, cluster);
    if (isEstablished(entry) && definition !== undefined) {
      await this.#setCondition(cluster, name, deletionInProgress);
      if (!(await this.#deleteInstances(cluster, name, definition))) return;
      await this.#setCondition(cluster, name, deletionCompleted);
    } else {
      await this.#setCondition(cluster, name, neverEstablished);
    }
    await this.#removeFinalizer(cluster, name);
  }

  close(): void {
    for (const stop of this.#waiting.values()) stop();
    this.#waiting.clear();
  }

  /** False when some are still there, held back. */
  async #deleteInstances(
    cluster: ClusterName,
    name: string,
    definition: ResourceDefinition,
  ): Promise<boolean> {
    const { storage, signal } = this.#options;
    const { group, resource, identity } = definition;
    const prefix = clusterPrefix({ group, resource, identity, cluster });
    const stop = this.#waiting.get(prefix) ?? this.#listen(prefix, cluster, name);
    let continueAfter: StorageKey | undefined;
    do {
      const page = await storage.list(prefix, { signal, entriesMax: pageEntries, continueAfter });
      await forEachAtOnce(page.entries, (entry) =>
        this.#deleteInstance(cluster, definition, entry),
      );
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

  #listen(prefix: StorageKey, cluster: ClusterName, name: string): () => void {
    const again = () => this.#options.again(cluster, name);
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

  async #setCondition(
    cluster: ClusterName,
    name: string,
    condition: DefinitionCondition,
  ): Promise<void> {
    const now = timestamp(this.#options.clock.now());
    const status = customResourceDefinitions.subresources.get("status");
    await this.#update(cluster, name, { subresource: status }, (old) => {
      const conditions = withCondition(conditionsOf(old), condition, now);
      const before = (old["status"] ?? {}) as JsonObject;
      return { ...old, status: { ...before, conditions: conditions as readonly JsonValue[] } };
    });
  }

  #removeFinalizer(cluster: ClusterName, name: string): Promise<void> {
    return this.#update(cluster, name, {}, (old) => {
      const metadata = old["metadata"] as JsonObject;
      const finalizers = (metadata["finalizers"] ?? []) as readonly string[];
      const left = finalizers.filter((each) => each !== cleanupFinalizer);
      return { ...old, metadata: { ...metadata, finalizers: left } };
    });
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
        { isDryRun: false, validate: () => undefined, signal, isDerived: true, ...rules },
      );
    } catch (error) {
      if (!isStatusError(error, "NotFound")) throw error;
    }
  }
}
