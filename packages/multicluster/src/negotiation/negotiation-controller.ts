/**
 * The negotiation controller: publishes the APIs that the physical clusters serve in their logical
 * cluster. One controller serves all logical clusters, keyed by the name of the
 * CustomResourceDefinition, existing or not.
 *
 * Definitions are watched only while imports exist, and are not cached: a reconcile reads the
 * definition that it needs.
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
import { reconcileNegotiation } from "./reconcile-negotiation.ts";

export interface NegotiationOptions {
  /** A client of the control plane, for all logical clusters. */
  readonly client: Client;
  readonly clusters: Clusters;
  /** Whether negotiated APIs are published automatically. */
  readonly autoPublish: boolean;
  readonly clock?: Clock | undefined;
  readonly onError?: ((error: unknown, key?: ObjectKey) => void) | undefined;
  /** The watch of definitions has failed: the controller must be created again. */
  readonly onFailure: (error: unknown) => void;
}

/** The requeue interval after a reconcile that kept a definition because objects are stored. */
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

  /** Called after the controller has ended. */
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

  /**
   * Watches definitions from the first negotiation on: a definition that is created, changed or
   * deleted is reconciled if an import or a NegotiatedAPIResource of it exists.
   */
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
        observed: (_definition, { key }) => enqueue(key),
        deleted: (_definition, key) => enqueue(key),
        synced: () => this.#enqueueAll(),
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
