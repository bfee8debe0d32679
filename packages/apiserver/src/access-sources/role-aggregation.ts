/**
 * RoleAggregation writes the aggregated rules into ClusterRoles with an aggregationRule, so that
 * clients that read such a role see its permissions. Decisions do not wait for these writes: they
 * aggregate by themselves.
 *
 * One loop serves all logical clusters, without timers. The loop compares with the stored objects
 * and is idempotent, so a crash between two steps, or a second server with the same loop, is
 * harmless.
 */
import { type Supervisor, yieldToEventLoop } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import type { PolicySource } from "../authorization/index.ts";
import { clusterRoles, type Registry } from "../registry/index.ts";
import {
  isStorageError,
  parseObjectKey,
  resourcePrefix,
  type Storage,
  type StorageError,
  type StorageKey,
} from "../storage/index.ts";
import { mayContain } from "../stored-object/index.ts";
import type { HubEvent, HubListener, WatchHub } from "../watch-cache/index.ts";

export interface RoleAggregationOptions {
  readonly storage: Storage;
  readonly hub: WatchHub;
  readonly registry: Registry;
  readonly policies: PolicySource;
  readonly supervisor: Supervisor;
  readonly onError: (error: unknown) => void;
}

const manager = "clusterrole-aggregation-controller";
const pageEntries = 200;
/**
 * A role without these bytes aggregates nothing; a role that contains them elsewhere is parsed in
 * vain.
 */
const ruleMember = Buffer.from('"aggregationRule":');

export class RoleAggregation implements HubListener {
  readonly #options: RoleAggregationOptions;
  readonly #stop = new AbortController();
  readonly #queue = new Set<ClusterName>();
  #working: Promise<void> | undefined;

  constructor(options: RoleAggregationOptions) {
    this.#options = options;
  }

  /** Starts with all roles, because a crash may have left some behind. */
  start(): void {
    const { hub, supervisor } = this.#options;
    hub.listen(resourcePrefix(clusterRoles), this);
    void supervisor.runTask("role-aggregation", this.#stop.signal, () => this.#sweep());
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#queue.clear();
    await this.#working;
  }

  onEvent(event: HubEvent): void {
    this.#add(parseObjectKey(event.key).cluster);
  }

  onLost(error: StorageError): void {
    if (error.code !== "closed" && !this.#stop.signal.aborted) this.start();
  }

  async #sweep(): Promise<void> {
    const { storage } = this.#options;
    const { signal } = this.#stop;
    let continueAfter: StorageKey | undefined;
    do {
      const page = await storage.list(resourcePrefix(clusterRoles), {
        signal,
        entriesMax: pageEntries,
        continueAfter,
      });
      for (const entry of page.entries)
        if (mayContain(entry, ruleMember)) this.#add(parseObjectKey(entry.key).cluster);
      continueAfter = page.more ? page.entries.at(-1)?.key : undefined;
    } while (continueAfter !== undefined);
  }

  #add(cluster: ClusterName): void {
    if (this.#stop.signal.aborted) return;
    this.#queue.add(cluster);
    this.#working ??= this.#work();
  }

  async #work(): Promise<void> {
    // Changes of the same turn are processed together.
    await Promise.resolve();
    for (const cluster of this.#queue) {
      this.#queue.delete(cluster);
      try {
        await this.#reconcile(cluster);
      } catch (error) {
        if (this.#stop.signal.aborted || isStorageError(error, "closed")) break;
        this.#options.onError(error);
      }
    }
    this.#working = undefined;
  }

  async #reconcile(cluster: ClusterName): Promise<void> {
    const { policies } = this.#options;
    const policy = policies.peek(cluster) ?? (await policies.load(cluster));
    for (const { name, wanted } of policy.aggregatedRoles()) {
      // Each role may take some milliseconds. Later changes queue the cluster again.
      await yieldToEventLoop();
      if (this.#stop.signal.aborted) return;
      if (wanted !== undefined) await this.#write(cluster, name, wanted);
    }
  }

  async #write(cluster: ClusterName, name: string, rules: JsonObject["rules"]): Promise<void> {
    try {
      await this.#options.registry.update(
        clusterRoles,
        { cluster, namespace: "", name },
        async (old) => ({ ...(old as JsonObject), rules: rules ?? [] }),
        {
          isDryRun: false,
          validate: () => undefined,
          signal: this.#stop.signal,
          isDerivedFromLive: true,
          fieldManager: { manager, subresource: "", isApply: false },
        },
      );
    } catch (error) {
      if (!isStatusError(error, "NotFound")) throw error;
    }
  }
}
