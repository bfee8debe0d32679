/**
 * Reconciles the claim labels of objects with the bindings, on every change of a claimed resource.
 *
 * Admission labels a write by the bindings that its server knew at that time. This controller finds
 * writes that are stored after the objects were labelled, by a server that had not seen the claim
 * yet or by the system itself. A claimed resource has one listener for any number of claims.
 */
import type { Entry, Storage, StorageKey } from "@kcp-ts/apiserver/storage";
import type { HubListener, WatchHub } from "@kcp-ts/apiserver/watch-cache";
import { type Clock, type Supervisor, yieldToEventLoop } from "@kcp-ts/machinery/base";
import { KeyedWorkQueue } from "../workspaces/index.ts";
import type { BindingRecord, Claim } from "./records.ts";

export interface ClaimLabelControllerOptions {
  readonly hub: WatchHub;
  readonly storage: Storage;
  readonly clock: Clock;
  readonly supervisor: Supervisor;
  readonly onError: (error: unknown) => void;
  /** The storage prefixes of a claimed resource. */
  readonly prefixesOf: (claim: Claim) => readonly StorageKey[];
  readonly hasStaleClaimLabels: (entry: Entry) => boolean;
  readonly updateClaimLabels: (key: StorageKey) => Promise<void>;
  /** Undefined when all bindings are indexed. */
  readonly loading: () => Promise<void> | undefined;
}

interface Listened {
  users: number;
  stop: () => void;
}

const pageEntries = 200;

export class ClaimLabelController {
  readonly #options: ClaimLabelControllerOptions;
  readonly #listeners = new Map<StorageKey, Listened>();
  /**
   * Keyed by binding, so that a binding releases the prefixes that it acquired, even if its claim
   * now resolves to others.
   */
  readonly #prefixes = new Map<BindingRecord, readonly StorageKey[]>();
  readonly #queue: KeyedWorkQueue<StorageKey>;
  readonly #stop = new AbortController();

  constructor(options: ClaimLabelControllerOptions) {
    this.#options = options;
    const { clock, onError, updateClaimLabels } = options;
    this.#queue = new KeyedWorkQueue({
      clock,
      onError,
      work: async (key) => {
        await updateClaimLabels(key);
        return undefined;
      },
    });
  }

  /** The number of resources with a listener. */
  get size(): number {
    return this.#listeners.size;
  }

  change(now: BindingRecord | undefined, before: BindingRecord | undefined): void {
    if (now !== undefined && now.claims.length > 0) this.#take(now);
    if (before !== undefined) this.#release(before);
  }

  /**
   * Reconciles all stored objects of claimed resources: events during this server's downtime are
   * not delivered.
   */
  sweep(): Promise<void> {
    return this.#supervised(async () => {
      await this.#options.loading();
      for (const prefix of [...this.#listeners.keys()]) await this.#sweep(prefix);
    });
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await this.#queue.stop();
  }

  #take(binding: BindingRecord): void {
    const prefixes = binding.claims
      .filter(({ state }) => state === "Accepted")
      .flatMap((claim) => this.#options.prefixesOf(claim));
    this.#prefixes.set(binding, prefixes);
    for (const prefix of prefixes) {
      const listened = this.#listeners.get(prefix);
      if (listened !== undefined) listened.users++;
      else this.#listeners.set(prefix, { users: 1, stop: this.#listen(prefix) });
    }
  }

  #release(binding: BindingRecord): void {
    for (const prefix of this.#prefixes.get(binding) ?? []) {
      const listened = this.#listeners.get(prefix);
      if (listened === undefined || --listened.users > 0) continue;
      listened.stop();
      this.#listeners.delete(prefix);
    }
    this.#prefixes.delete(binding);
  }

  #listen(prefix: StorageKey): () => void {
    const { hub, hasStaleClaimLabels } = this.#options;
    const listener: HubListener = {
      onEvent: ({ key, current }) => {
        if (current !== undefined && hasStaleClaimLabels(current)) this.#queue.add(key);
      },
      onLost: (error) => {
        const listened = this.#listeners.get(prefix);
        if (error.code === "closed" || listened === undefined) return;
        listened.stop = this.#listen(prefix);
        void this.#supervised(() => this.#sweep(prefix));
      },
    };
    return hub.listen(prefix, listener);
  }

  #supervised(sweep: () => Promise<void>): Promise<void> {
    return this.#options.supervisor.runTask("permission-claims", this.#stop.signal, sweep);
  }

  async #sweep(prefix: StorageKey): Promise<void> {
    const { storage, hasStaleClaimLabels, loading } = this.#options;
    const { signal } = this.#stop;
    for (let continueAfter: StorageKey | undefined; ; ) {
      await loading();
      const page = await storage.list(prefix, { signal, entriesMax: pageEntries, continueAfter });
      for (const entry of page.entries) if (hasStaleClaimLabels(entry)) this.#queue.add(entry.key);
      if (!page.more) return;
      continueAfter = page.entries.at(-1)?.key;
      await yieldToEventLoop();
    }
  }
}
