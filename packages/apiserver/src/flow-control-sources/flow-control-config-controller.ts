/**
 * FlowControlConfigController applies the operator's FlowSchemas and PriorityLevelConfigurations,
 * which the logical cluster root stores, to flow control. Once `ensure` is called, the controller
 * also maintains the bootstrap objects in root (ADR 0051).
 */
import { setMaxListeners } from "node:events";
import type { Clock, Timer } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { FlowControl } from "../flow-control/index.ts";
import type { Registry } from "../registry/index.ts";
import { clusterPrefix, isStorageError, type Storage, type StorageKey } from "../storage/index.ts";
import { decodeObject } from "../stored-object/index.ts";
import type { WatchHub } from "../watch-cache/index.ts";
import {
  FlowControlEnsurer,
  type FlowControlObjects,
  flowControlCluster,
} from "./flow-control-ensurer.ts";

export interface FlowControlConfigControllerOptions {
  readonly storage: Storage;
  readonly registry: Registry;
  readonly clock: Clock;
  readonly hub: WatchHub;
  readonly flowControl: FlowControl;
  readonly onError: (error: unknown) => void;
}

const group = "flowcontrol.apiserver.k8s.io";
const objectsMax = 1000;
/**
 * Two servers of different versions that share a store disagree on the bootstrap objects: this
 * interval limits how often they overwrite each other.
 */
const ensureIntervalMs = 10_000;

const prefixOf = (resource: string) =>
  clusterPrefix({ group, resource, identity: "", cluster: flowControlCluster });
const schemas = prefixOf("flowschemas");
const levels = prefixOf("prioritylevelconfigurations");

/** One pair of listeners for the whole server: events of other clusters are ignored. */
export class FlowControlConfigController {
  readonly #options: FlowControlConfigControllerOptions;
  readonly #stop = new AbortController();
  readonly #ensurer: FlowControlEnsurer;
  #stopListening: (() => void)[] = [];
  #isStale = false;
  #reading: Promise<void> | undefined;
  /** Whether this server maintains the objects, and when it last did. */
  #isEnsuring = false;
  #ensuredAt = Number.NEGATIVE_INFINITY;
  #next: Timer | undefined;

  constructor(options: FlowControlConfigControllerOptions) {
    this.#options = options;
    // All missing objects are written concurrently.
    setMaxListeners(0, this.#stop.signal);
    this.#ensurer = new FlowControlEnsurer({ ...options, signal: this.#stop.signal });
  }

  async start(): Promise<void> {
    const listener = { onEvent: () => this.#reload(), onLost: () => this.#reload() };
    const { hub } = this.#options;
    this.#stopListening = [schemas, levels].map((prefix) => hub.listen(prefix, listener));
    this.#reload();
    await this.#reading;
  }

  /**
   * From now on, the controller maintains the bootstrap objects and the conditions of all
   * FlowSchemas.
   */
  async ensure(): Promise<void> {
    this.#isEnsuring = true;
    this.#reload();
    await this.#reading;
  }

  async stop(): Promise<void> {
    for (const stop of this.#stopListening) stop();
    this.#next?.cancel();
    this.#stop.abort();
    await this.#reading;
  }

  /** Reads the objects, and reads them again when they change meanwhile. */
  #reload(): void {
    this.#isStale = true;
    this.#reading ??= this.#read();
  }

  async #read(): Promise<void> {
    const { onError } = this.#options;
    while (this.#isStale && !this.#stop.signal.aborted) {
      this.#isStale = false;
      try {
        await this.#applyConfiguration();
      } catch (error) {
        // The previous configuration stays in effect; the next change and the next maintenance pass
        // retry.
        if (this.#stop.signal.aborted || isStorageError(error, "closed")) continue;
        onError(error);
        if (this.#isEnsuring) this.#scheduleReload(ensureIntervalMs);
      }
    }
    // In the same turn as the last check of isStale: a change in between would be lost.
    this.#reading = undefined;
  }

  async #applyConfiguration(): Promise<void> {
    const { flowControl, clock } = this.#options;
    let state = await this.#state();
    flowControl.configure(state.schemas, state.levels);
    if (!this.#isEnsuring) return;
    const restMs = this.#ensuredAt + ensureIntervalMs - clock.monotonic();
    if (restMs > 0) this.#scheduleReload(restMs);
    else {
      this.#ensuredAt = clock.monotonic();
      await this.#ensurer.ensure(state);
      // Response headers name the stored objects from now on.
      state = await this.#state();
      flowControl.configure(state.schemas, state.levels);
    }
    const known = new Set(flowControl.priorityLevels.map(({ config }) => config.name));
    await this.#ensurer.updateDanglingConditions(state, (name) => known.has(name));
  }

  #scheduleReload(delayMs: number): void {
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
