/**
 * Looks at every change of a claimed resource, and puts labels of claims right where they are not as the bindings ask.
 *
 * Admission judges a write by the bindings that its server knew then. A write that is stored after the objects were gone through, of a server that
 * had not heard of the claim yet or of the system itself, is found here. One listener for a claimed resource, however many claim it.
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
  /** The prefixes that objects of a claimed resource are stored under. */
  readonly prefixesOf: (claim: Claim) => readonly StorageKey[];
  readonly isMislabelled: (entry: Entry) => boolean;
  readonly relabel: (key: StorageKey) => Promise<void>;
  /** Undefined when all bindings are known. */
  readonly loading: () => Promise<void> | undefined;
}

interface Listened {
  users: number;
  stop: () => void;
}

const pageEntries = 200;

export class ClaimLabelController {
  readonly #options: ClaimLabelControllerOptions;
  readonly #listened = new Map<StorageKey, Listened>();
  /** By binding, so that what is let go is what was taken, whatever a claim means by then. */
  readonly #prefixes = new Map<BindingRecord, readonly StorageKey[]>();
  readonly #queue: KeyedWorkQueue<StorageKey>;
  readonly #stop = new AbortController();

  constructor(options: ClaimLabelControllerOptions) {
    this.#options = options;
    const { clock, onError, relabel } = options;
    this.#queue = new KeyedWorkQueue({
      clock,
      onError,
      work: async (key) => {
        await relabel(key);
        return undefined;
      },
    });
  }

  /** Resources that are listened to. */
  get size(): number {
    return this.#listened.size;
  }

  change(now: BindingRecord | undefined, before: BindingRecord | undefined): void {
    if (now !== undefined && now.claims.length > 0) this.#take(now);
    if (before !== undefined) this.#letGo(before);
  }

  /** Looks at all that is stored of claimed resources: nobody told of what happened while this server was away. */
  sweep(): Promise<void> {
    return this.#supervised(async () => {
      await this.#options.loading();
      for (const prefix of [...this.#listened.keys()]) await this.#sweep(prefix);
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
      const listened = this.#listened.get(prefix);
      if (listened !== undefined) listened.users++;
      else this.#listened.set(prefix, { users: 1, stop: this.#listen(prefix) });
    }
  }

  #letGo(binding: BindingRecord): void {
    for (const prefix of this.#prefixes.get(binding) ?? []) {
      const listened = this.#listened.get(prefix);
      if (listened === undefined || --listened.users > 0) continue;
      listened.stop();
      this.#listened.delete(prefix);
    }
    this.#prefixes.delete(binding);
  }

  #listen(prefix: StorageKey): () => void {
    const { hub, isMislabelled } = this.#options;
    const listener: HubListener = {
      onEvent: ({ key, current }) => {
        if (current !== undefined && isMislabelled(current)) this.#queue.add(key);
      },
      onLost: (error) => {
        const listened = this.#listened.get(prefix);
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
    const { storage, isMislabelled, loading } = this.#options;
    const { signal } = this.#stop;
    for (let continueAfter: StorageKey | undefined; ; ) {
      await loading();
      const page = await storage.list(prefix, { signal, entriesMax: pageEntries, continueAfter });
      for (const entry of page.entries) if (isMislabelled(entry)) this.#queue.add(entry.key);
      if (!page.more) return;
      continueAfter = page.entries.at(-1)?.key;
      await yieldToEventLoop();
    }
  }
}
