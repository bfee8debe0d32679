/**
 * DefinitionController accepts the names of CustomResourceDefinitions, establishes them, and
 * deletes the instances of deleted ones.
 *
 *     hub event ──► queue of clusters ──► one definition at a time per cluster ──► status written through the registry
 *
 * One loop serves all logical clusters, without timers. Every step compares with the stored objects
 * and is idempotent, so a crash between two steps, or a second server with the same loop, is
 * harmless.
 */
import {
  type Clock,
  runSyncFirst,
  type Supervisor,
  yieldToEventLoop,
} from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Catalog, type Registry, storageKeyOf, timestamp } from "../registry/index.ts";
import {
  type Entry,
  isStorageError,
  parseObjectKey,
  resourcePrefix,
  type Storage,
  type StorageError,
} from "../storage/index.ts";
import { decodeMetadata, isBeingDeleted, isEstablished } from "../stored-object/index.ts";
import type { HubEvent, HubListener, WatchHub } from "../watch-cache/index.ts";
import type { DefinitionIndex } from "./definition-index.ts";
import { DefinitionRemoval } from "./definition-removal.ts";
import { nextStatus } from "./definition-status.ts";
import { cleanupFinalizer, customResourceDefinitions } from "./definitions.ts";

export interface DefinitionControllerOptions {
  readonly storage: Storage;
  readonly hub: WatchHub;
  readonly clock: Clock;
  readonly registry: Registry;
  readonly index: DefinitionIndex;
  readonly builtIns: Catalog;
  readonly supervisor: Supervisor;
  readonly onError: (error: unknown) => void;
}

/** The number of clusters that are reconciled concurrently. */
const workersMax = 8;
const retryMs = 500;
const pageEntries = 100;

export class DefinitionController implements HubListener {
  readonly #options: DefinitionControllerOptions;
  readonly #removal: DefinitionRemoval;
  readonly #stop = new AbortController();
  /** The queued definitions, by cluster; no two workers reconcile the same cluster. */
  readonly #queue = new Map<ClusterName, Set<string>>();
  readonly #reconciling = new Set<ClusterName>();
  #idle: (() => void) | undefined;

  constructor(options: DefinitionControllerOptions) {
    this.#options = options;
    this.#removal = new DefinitionRemoval({
      ...options,
      signal: this.#stop.signal,
      requeue: (cluster, name) => this.#add(cluster, name),
    });
  }

  /** Starts with all definitions, because a crash may have left some behind. */
  start(): void {
    this.#listen();
    const name = "custom-resource-definitions";
    void this.#options.supervisor.runTask(name, this.#stop.signal, () => this.#sweep());
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#queue.clear();
    this.#removal.close();
    if (this.#reconciling.size === 0) return;
    await new Promise<void>((resolve) => {
      this.#idle = resolve;
    });
  }

  onEvent(event: HubEvent): void {
    const { cluster, name } = parseObjectKey(event.key);
    this.#add(cluster, name);
  }

  onLost(error: StorageError): void {
    if (error.code === "closed" || this.#stop.signal.aborted) return;
    this.start();
  }

  #listen(): void {
    this.#options.hub.listen(resourcePrefix(customResourceDefinitions), this);
  }

  async #sweep(): Promise<void> {
    const { storage } = this.#options;
    const { signal } = this.#stop;
    const prefix = resourcePrefix(customResourceDefinitions);
    let continueAfter: Entry["key"] | undefined;
    do {
      const page = await storage.list(prefix, { signal, entriesMax: pageEntries, continueAfter });
      for (const entry of page.entries) {
        if (isSettled(entry)) continue;
        const { cluster, name } = parseObjectKey(entry.key);
        this.#add(cluster, name);
      }
      continueAfter = page.more ? page.entries.at(-1)?.key : undefined;
    } while (continueAfter !== undefined);
  }

  #add(cluster: ClusterName, name: string): void {
    if (this.#stop.signal.aborted) return;
    const names = this.#queue.get(cluster);
    if (names !== undefined) names.add(name);
    else this.#queue.set(cluster, new Set([name]));
    this.#dispatch();
  }

  #dispatch(): void {
    for (const [cluster, names] of this.#queue) {
      if (this.#reconciling.size >= workersMax) return;
      if (this.#reconciling.has(cluster)) continue;
      this.#queue.delete(cluster);
      this.#reconciling.add(cluster);
      void this.#work(cluster, names);
    }
  }

  async #work(cluster: ClusterName, names: ReadonlySet<string>): Promise<void> {
    const { clock, onError } = this.#options;
    for (const name of names) {
      if (this.#stop.signal.aborted) break;
      try {
        await this.#reconcile(cluster, name);
      } catch (error) {
        if (this.#stop.signal.aborted || isStorageError(error, "closed")) break;
        if (!isStatusError(error, "Conflict")) onError(error);
        clock.schedule(retryMs, () => this.#add(cluster, name));
      }
    }
    this.#reconciling.delete(cluster);
    if (this.#stop.signal.aborted) {
      if (this.#reconciling.size === 0) this.#idle?.();
      return;
    }
    this.#dispatch();
  }

  async #reconcile(cluster: ClusterName, name: string): Promise<void> {
    const { storage, index } = this.#options;
    const { signal } = this.#stop;
    const key = storageKeyOf(customResourceDefinitions, { cluster, namespace: "", name });
    const entry = await storage.get(key, { signal });
    if (entry === undefined) {
      await this.#requeueNameConflicts(cluster, name);
      return;
    }
    await yieldToEventLoop();
    if (isBeingDeleted(entry)) {
      const metadata = await runSyncFirst(decodeMetadata(entry));
      const finalizers = (metadata["finalizers"] ?? []) as readonly string[];
      if (finalizers.includes(cleanupFinalizer)) await this.#removal.advance(cluster, entry);
      return;
    }
    // Not for a definition that is removed: its cluster may hold many, and each would be parsed.
    const definitions = await (await index.load(cluster)).prepare();
    const builtIns = await this.#options.builtIns.all(cluster);
    // Twice: the names are accepted first, and the definition is established once the acceptance is
    // visible.
    for (let step = 0; step < 2; step++) {
      await yieldToEventLoop();
      const isChanged = await this.#writeStatus(cluster, name, (old) =>
        nextStatus(old, definitions, builtIns, timestamp(this.#options.clock.now())),
      );
      if (!isChanged) return;
      await this.#requeueNameConflicts(cluster, name);
    }
  }

  /** False when the status needs no change. */
  async #writeStatus(
    cluster: ClusterName,
    name: string,
    next: (old: JsonObject) => JsonObject,
  ): Promise<boolean> {
    const { registry, hub } = this.#options;
    const { signal } = this.#stop;
    try {
      const written = await registry.update(
        customResourceDefinitions,
        { cluster, namespace: "", name },
        async (old) => ({ ...(old as JsonObject), status: next(old as JsonObject) }),
        {
          isDryRun: false,
          validate: () => undefined,
          signal,
          subresource: customResourceDefinitions.subresources.get("status"),
          isDerivedFromLive: true,
          fieldManager: { manager: "kube-apiserver", subresource: "status", isApply: false },
        },
      );
      if (written.outcome === "unchanged") return false;
      await hub.waitUntilSeen(written.entry.modifiedAt, signal);
      return true;
    } catch (error) {
      if (isStatusError(error, "NotFound")) return false;
      throw error;
    }
  }

  /** Requeues definitions with name conflicts after names were released or assigned. */
  async #requeueNameConflicts(cluster: ClusterName, name: string): Promise<void> {
    const definitions = this.#options.index.peek(cluster);
    if (definitions === undefined) return;
    for (const [other, record] of [...definitions.records]) {
      if (other === name || record.isBeingRemoved) continue;
      await record.prepare();
      if (record.hasNameConflict) this.#add(cluster, other);
    }
  }
}

/**
 * Whether a definition is established and needs no reconciliation; reads its bytes without parsing
 * them.
 */
function isSettled(entry: Entry): boolean {
  return isEstablished(entry) && !isBeingDeleted(entry);
}
