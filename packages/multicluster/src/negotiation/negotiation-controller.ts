/**
 * The negotiation controller: what the clusters of a logical cluster serve becomes what the logical cluster serves. One for all of them,
 * keyed by the name that the definition has or would have.
 *
 * Definitions are followed only while there is something to negotiate, and none of them is kept: a round reads the one it is about.
 */
import { type Clock, systemClock } from "@kcp-ts/machinery/base";
import {
  type Client,
  type Clusters,
  Controller,
  isBeingDeleted,
  type ObjectKey,
  type ObjectSource,
  type ReconcileContext,
  type ReconcileResult,
  StorelessInformer,
} from "@kcp-ts/sdk";
import {
  type APIResourceImport,
  apiResourceImports,
  byDefinition,
  definitionName,
  importInformer,
  type NegotiatedAPIResource,
  negotiatedApiResources,
} from "../api/index.ts";
import { customResourceDefinitions } from "./definitions.ts";
import { negotiatedInformer } from "./negotiated-informer.ts";
import { reconcileNegotiation } from "./negotiation-round.ts";

export interface NegotiationOptions {
  /** Of the control plane, not of one cluster of it. */
  readonly client: Client;
  readonly clusters: Clusters;
  /** Whether what was negotiated is served without being asked for. */
  readonly autoPublish: boolean;
  readonly clock?: Clock | undefined;
  readonly onError?: ((error: unknown, key?: ObjectKey) => void) | undefined;
  /** Definitions are not followed any more: the controller is to be made anew. */
  readonly onFailure: (error: unknown) => void;
}

/** How long after a round that kept something for the sake of stored objects the next one looks. */
export const retainedRecheckMs = 60_000;
const concurrency = 2;

export class NegotiationController {
  readonly controller: Controller;
  readonly #options: NegotiationOptions;
  readonly #clock: Clock;
  readonly #imports: ObjectSource<APIResourceImport>;
  readonly #negotiated: ObjectSource<NegotiatedAPIResource>;
  #following: { readonly stop: AbortController; readonly done: Promise<void> } | undefined;

  constructor(options: NegotiationOptions) {
    const { clusters, onError } = options;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#imports = clusters.source(apiResourceImports, importInformer);
    this.#negotiated = clusters.source(negotiatedApiResources, negotiatedInformer);
    const map = ({ spec }: APIResourceImport | NegotiatedAPIResource, { cluster }: ObjectKey) => [
      { cluster, namespace: "", name: definitionName(spec) },
    ];
    this.controller = new Controller({
      name: "api-negotiation",
      clusters,
      concurrency,
      reconcile: (key, context) => this.#reconcile(key, context),
      clock: this.#clock,
      ...(onError === undefined ? {} : { onError }),
    })
      .watch(apiResourceImports, { ...importInformer, map })
      .watch(negotiatedApiResources, { ...negotiatedInformer, map });
  }

  /** After the controller has ended. */
  async close(): Promise<void> {
    this.#following?.stop.abort();
    await this.#following?.done;
  }

  async #reconcile(key: ObjectKey, { client, signal }: ReconcileContext): Promise<ReconcileResult> {
    const { cluster, name } = key;
    const imports = this.#imports.store
      .byIndex(byDefinition, { cluster, value: name })
      .filter((one) => !isBeingDeleted(one));
    const negotiated = this.#negotiated.store
      .byIndex(byDefinition, { cluster, value: name })
      .filter((one) => !isBeingDeleted(one));
    if (imports.length === 0 && negotiated.length === 0) return undefined;
    this.#follow();
    const { autoPublish } = this.#options;
    const nowMs = this.#clock.now();
    const { isWaiting } = await reconcileNegotiation({
      name,
      imports,
      negotiated,
      autoPublish,
      client,
      nowMs,
      signal,
    });
    return isWaiting ? { requeueAfterMs: retainedRecheckMs } : undefined;
  }

  /** From the first negotiation on: a definition that is made, changed or deleted begins a round if anybody negotiates about it. */
  #follow(): void {
    if (this.#following !== undefined) return;
    const stop = new AbortController();
    const { client, onError } = this.#options;
    const enqueue = (key: ObjectKey) => {
      if (this.#isNegotiated(key)) this.controller.enqueue(key);
    };
    const follower = new StorelessInformer({
      client,
      resource: customResourceDefinitions,
      scope: "all-clusters",
      state: "skip",
      handler: {
        told: (_definition, { key }) => enqueue(key),
        deleted: (_definition, key) => enqueue(key),
        caughtUp: () => this.#enqueueAll(),
      },
      onError: (error) => onError?.(error),
      clock: this.#clock,
    });
    const done = follower.run(stop.signal).catch(this.#options.onFailure);
    this.#following = { stop, done };
  }

  #isNegotiated({ cluster, name }: ObjectKey): boolean {
    const lookup = { cluster, value: name };
    return (
      this.#imports.store.keysByIndex(byDefinition, lookup).length > 0 ||
      this.#negotiated.store.keysByIndex(byDefinition, lookup).length > 0
    );
  }

  #enqueueAll(): void {
    for (const { store } of [this.#imports, this.#negotiated]) {
      for (const [{ cluster }, { spec }] of store.entries())
        this.controller.enqueue({ cluster, namespace: "", name: definitionName(spec) });
    }
  }
}
