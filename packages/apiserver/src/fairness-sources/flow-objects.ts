/**
 * Wiring: the FlowSchemas and PriorityLevelConfigurations of the logical cluster root, the operator's, become what fairness goes by. Once the server looks
 * after root, the bootstrap ones are among them and stay there (ADR 0051).
 */
import { setMaxListeners } from "node:events";
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { FlowControl } from "../fairness/index.ts";
import type { Registry } from "../registry/index.ts";
import { clusterPrefix, isStorageError, type Storage, type StorageKey } from "../storage/index.ts";
import { decodeObject } from "../stored-object/index.ts";
import type { WatchHub } from "../watch-cache/index.ts";
import { FlowControlEnsurer, type FlowControlObjects, flowControlCluster } from "./flow-upkeep.ts";

export interface FlowControlConfigControllerOptions {
  readonly storage: Storage;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly hub: WatchHub;
  readonly fairness: FlowControl;
  readonly onError: (error: unknown) => void;
}

const group = "flowcontrol.apiserver.k8s.io";
const objectsMax = 1000;
/** Servers of two versions that share a store do not agree on what should be there: they may quarrel this often. */
const ensureIntervalMs = 10_000;

const prefixOf = (resource: string) =>
  clusterPrefix({ group, resource, identity: "", cluster: flowControlCluster });
const schemas = prefixOf("flowschemas");
const levels = prefixOf("prioritylevelconfigurations");

/** One pair of listeners for the whole server: other clusters' objects are not looked at. */
export class FlowControlConfigController {
  readonly #options: FlowControlConfigControllerOptions;
  readonly #stop = new AbortController();
  readonly #upkeep: FlowControlEnsurer;
  #stopListening: (() => void)[] = [];
  #isStale = false;
  #reading: Promise<void> | undefined;
  /** Whether the objects are this server's to look after, and when it last did. */
  #isKeeping = false;
  #keptAt = Number.NEGATIVE_INFINITY;
  #next: Timer | undefined;

  constructor(options: FlowControlConfigControllerOptions) {
    this.#options = options;
    // All objects that are missing are written at once.
    setMaxListeners(0, this.#stop.signal);
    this.#upkeep = new FlowControlEnsurer({ ...options, signal: this.#stop.signal });
  }

  async start(): Promise<void> {
    const listener = { onEvent: () => this.#reload(), onLost: () => this.#reload() };
    const { hub } = this.#options;
    this.#stopListening = [schemas, levels].map((prefix) => hub.listen(prefix, listener));
    this.#reload();
    await this.#reading;
  }

  /** From here on the bootstrap objects are stored, and the conditions of all schemas true. */
  async keep(): Promise<void> {
    this.#isKeeping = true;
    this.#reload();
    await this.#reading;
  }

  async stop(): Promise<void> {
    for (const stop of this.#stopListening) stop();
    this.#next?.cancel();
    this.#stop.abort();
    await this.#reading;
  }

  /** What changes while it is being read is read again. */
  #reload(): void {
    this.#isStale = true;
    this.#reading ??= this.#read();
  }

  async #read(): Promise<void> {
    const { onError } = this.#options;
    while (this.#isStale && !this.#stop.signal.aborted) {
      this.#isStale = false;
      try {
        await this.#heed();
      } catch (error) {
        // What held before goes on holding; the next change is another chance, and so is the next look.
        if (this.#stop.signal.aborted || isStorageError(error, "closed")) continue;
        onError(error);
        if (this.#isKeeping) this.#lookAgain(ensureIntervalMs);
      }
    }
    // In the same breath as the last look at isStale: a change in between would be lost.
    this.#reading = undefined;
  }

  async #heed(): Promise<void> {
    const { fairness, clock } = this.#options;
    let state = await this.#state();
    fairness.configure(state.schemas, state.levels);
    if (!this.#isKeeping) return;
    const restMs = this.#keptAt + ensureIntervalMs - clock.monotonic();
    if (restMs > 0) this.#lookAgain(restMs);
    else {
      this.#keptAt = clock.monotonic();
      await this.#upkeep.keep(state);
      // Answers name what is stored from now on.
      state = await this.#state();
      fairness.configure(state.schemas, state.levels);
    }
    const known = new Set(fairness.levels.map(({ config }) => config.name));
    await this.#upkeep.tell(state, (name) => known.has(name));
  }

  #lookAgain(delayMs: number): void {
    if (this.#stop.signal.aborted) return;
    this.#next ??= this.#options.clock.schedule(delayMs, () => {
      this.#next = undefined;
      this.#reload();
    });
  }

  async #state(): Promise<FlowControlObjects> {
    return { schemas: await this.#objects(schemas), levels: await this.#objects(levels) };
  }

  async #objects(prefix: StorageKey): Promise<JsonObject[]> {
    const { signal } = this.#stop;
    const page = await this.#options.storage.list(prefix, { signal, entriesMax: objectsMax });
    return page.entries.map((entry) => decodeObject(entry));
  }
}
