/**
 * Splits the Deployments of those who use the clusters of compute workspaces: one splitter for each offer, however many are bound to it. It sees what the offer's
 * consumers have, by the offer and by nothing else.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { Client, Clusters, ObjectKey, ObjectSource } from "@kcp-ts/sdk";
import { deploymentSplitter, type Patience } from "../coordination/index.ts";
import {
  apiExports,
  computeExportName,
  consumersPath,
  type Offer,
  offerInformer,
} from "./compute-export.ts";

export interface TenantSplittersOptions extends Partial<Patience> {
  /** Of the control plane, not of one cluster of it. */
  readonly client: Client;
  /** Run by the caller. */
  readonly clusters: Clusters;
  readonly clock?: Clock | undefined;
  readonly onError: (error: unknown, key?: ObjectKey) => void;
}

interface Splitting {
  readonly stop: AbortController;
  readonly done: Promise<void>;
}

export class TenantSplitters {
  readonly #options: TenantSplittersOptions;
  readonly #offers: ObjectSource<Offer>;
  /** By the logical cluster of the offer. */
  readonly #running = new Map<string, Splitting>();
  readonly #ending = new Set<Promise<void>>();

  constructor(options: TenantSplittersOptions) {
    this.#options = options;
    this.#offers = options.clusters.source(apiExports, offerInformer);
  }

  /** Works until the signal aborts, and resolves when what was under way is finished. */
  async run(signal: AbortSignal): Promise<void> {
    const look = (offer: Offer | undefined, { cluster, name }: ObjectKey) => {
      if (name !== computeExportName || signal.aborted) return;
      if (offer?.resources.has("deployments.apps") === true) this.#start(cluster);
      else this.#stop(cluster);
    };
    const registration = this.#offers.addHandler({
      added: (offer, { key }) => look(offer, key),
      updated: (offer, { key }) => look(offer, key),
      deleted: (_offer, { key }) => look(undefined, key),
    });
    await new Promise<void>((resolve) => {
      if (signal.aborted) resolve();
      else signal.addEventListener("abort", () => resolve(), { once: true });
    });
    registration.remove();
    for (const cluster of [...this.#running.keys()]) this.#stop(cluster);
    await Promise.all(this.#ending);
  }

  #start(cluster: ClusterName): void {
    if (this.#running.has(cluster)) return;
    const { client, clusters: _clusters, clock, ...own } = this.#options;
    const tenants = { home: cluster, client: client.withBasePath(consumersPath(cluster)) };
    const stop = new AbortController();
    const timed = clock === undefined ? {} : { clock };
    const splitter = deploymentSplitter({ ...own, ...timed, client, tenants });
    this.#running.set(cluster, { stop, done: splitter.run(stop.signal) });
  }

  #stop(cluster: string): void {
    const running = this.#running.get(cluster);
    if (running === undefined) return;
    this.#running.delete(cluster);
    running.stop.abort();
    const ending = running.done.catch(this.#options.onError);
    this.#ending.add(ending);
    void ending.finally(() => this.#ending.delete(ending));
  }
}
