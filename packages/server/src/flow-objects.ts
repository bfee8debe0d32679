/** Wiring: the operator's FlowSchemas and PriorityLevelConfigurations, those of the logical cluster root, become what fairness goes by. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { Fairness } from "./fairness/index.ts";
import { clusterPrefix, isStorageError, type Storage, type StorageKey } from "./storage/index.ts";
import { decodeObject } from "./stored-object/index.ts";
import type { WatchHub } from "./watch-cache/index.ts";

export interface FlowObjectsOptions {
  readonly storage: Storage;
  readonly hub: WatchHub;
  readonly fairness: Fairness;
  readonly onError: (error: unknown) => void;
}

const operatorsCluster = "root" as ClusterName;
const group = "flowcontrol.apiserver.k8s.io";
const objectsMax = 1000;

const prefixOf = (resource: string) =>
  clusterPrefix({ group, resource, identity: "", cluster: operatorsCluster });
const schemas = prefixOf("flowschemas");
const levels = prefixOf("prioritylevelconfigurations");

/** One pair of listeners for the whole server: other clusters' objects are not looked at. */
export class FlowObjects {
  readonly #options: FlowObjectsOptions;
  readonly #stop = new AbortController();
  #stopListening: (() => void)[] = [];
  #isStale = false;
  #reading: Promise<void> | undefined;

  constructor(options: FlowObjectsOptions) {
    this.#options = options;
  }

  async start(): Promise<void> {
    const listener = { onEvent: () => this.#reload(), onLost: () => this.#reload() };
    const { hub } = this.#options;
    this.#stopListening = [schemas, levels].map((prefix) => hub.listen(prefix, listener));
    this.#reload();
    await this.#reading;
  }

  async stop(): Promise<void> {
    for (const stop of this.#stopListening) stop();
    this.#stop.abort();
    await this.#reading;
  }

  /** What changes while it is being read is read again. */
  #reload(): void {
    this.#isStale = true;
    this.#reading ??= this.#read();
  }

  async #read(): Promise<void> {
    const { fairness, onError } = this.#options;
    while (this.#isStale && !this.#stop.signal.aborted) {
      this.#isStale = false;
      try {
        fairness.configure(await this.#objects(schemas), await this.#objects(levels));
      } catch (error) {
        // What held before goes on holding; the next change is another chance.
        if (!this.#stop.signal.aborted && !isStorageError(error, "closed")) onError(error);
      }
    }
    // In the same breath as the last look at isStale: a change in between would be lost.
    this.#reading = undefined;
  }

  async #objects(prefix: StorageKey): Promise<JsonObject[]> {
    const { signal } = this.#stop;
    const page = await this.#options.storage.list(prefix, { signal, entriesMax: objectsMax });
    return page.entries.map((entry) => decodeObject(entry));
  }
}
