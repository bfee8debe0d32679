/**
 * Writes into ClusterRoles that gather rules what they gather, so that whoever reads one sees what it allows. Decisions do not wait for
 * it: they gather themselves.
 *
 * One loop for all logical clusters, without timers. It looks at what is stored and can be repeated, so that a crash between two steps,
 * or a second server that does the same, does no harm.
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
/** Without it a role gathers nothing; what has it elsewhere is looked at for nothing. */
const ruleMember = Buffer.from('"aggregationRule":');

export class RoleAggregation implements HubListener {
  readonly #options: RoleAggregationOptions;
  readonly #stop = new AbortController();
  readonly #queue = new Set<ClusterName>();
  #working: Promise<void> | undefined;

  constructor(options: RoleAggregationOptions) {
    this.#options = options;
  }

  /** Begins with what a crash may have left behind. */
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
    // Changes that come together are worked on together.
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
    for (const { name, wanted } of policy.gatheredRoles()) {
      // Each may take some milliseconds. What changes meanwhile brings us here again.
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
          isDerived: true,
          owner: { manager, subresource: "", isApply: false },
        },
      );
    } catch (error) {
      if (!isStatusError(error, "NotFound")) throw error;
    }
  }
}
