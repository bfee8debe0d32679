/**
 * A controller of one resource, declared in one chain and bound to clusters when it runs:
 *
 *     controllerFor(websites)
 *       .owns(configMaps)
 *       .reconcile(async (website, { client }) => { … });
 *
 * The reconciler gets the object itself, from the cache and not older than its own last write.
 */
import type { Clock } from "@kcp-ts/machinery/base";
import { formatResource, type KubernetesObject, type Log, type Resource } from "../client/index.ts";
import type { ObjectKey } from "../informer/index.ts";
import type { MetricsRegistry } from "../metrics/index.ts";
import { byController } from "./cached-reader.ts";
import type { Clusters } from "./clusters.ts";
import {
  Controller,
  type ControllerOptions,
  type ReadSettings,
  type ReconcileContext,
  type ReconcileResult,
  type WatchSettings,
} from "./controller.ts";
import { withFinalizer } from "./finalizer.ts";
import { enqueueOwner, type Mapping } from "./mapping.ts";

export type ObjectContext = ReconcileContext;

/** A controller that is not bound to clusters yet. */
export interface ControllerDefinition {
  readonly name: string;
  bind(clusters: Clusters, options?: BindOptions): Controller;
}

export interface BindOptions {
  readonly log?: Log;
  readonly metrics?: MetricsRegistry;
  readonly clock?: Clock;
}

export type BuilderOptions = Pick<
  ControllerOptions,
  "concurrency" | "timeoutMs" | "rateLimiter" | "onError"
> & {
  /** That of the resource if omitted. */
  readonly name?: string;
};

interface Cleanup<Object extends KubernetesObject> {
  readonly finalizer: string;
  readonly cleanUp: (object: Object, context: ObjectContext) => Promise<void>;
}

export class ControllerBuilder<Object extends KubernetesObject> {
  readonly #resource: Resource<Object>;
  readonly #options: BuilderOptions;
  readonly #settings: WatchSettings<Object, Object>;
  readonly #steps: ((controller: Controller) => void)[] = [];
  #cleanup: Cleanup<Object> | undefined;
  #gone: ((key: ObjectKey, context: ReconcileContext) => Promise<void>) | undefined;

  constructor(
    resource: Resource<Object>,
    options: BuilderOptions,
    settings: WatchSettings<Object, Object>,
  ) {
    this.#resource = resource;
    this.#options = options;
    this.#settings = settings;
  }

  /**
   * A change of an object of this resource reconciles its controlling owner; `cached(resource)
   * .ownedBy(object)` lists what an object owns.
   */
  owns<Owned extends KubernetesObject>(
    resource: Resource<Owned>,
    { indexers, ...settings }: ReadSettings<Owned> = {},
  ): this {
    const map = enqueueOwner(this.#resource);
    this.#steps.push((controller) =>
      controller.watch(resource, { ...settings, map, indexers: { ...indexers, ...byController } }),
    );
    return this;
  }

  /** A change of an object of this resource reconciles the keys that it maps to. */
  watches<Other extends KubernetesObject>(
    resource: Resource<Other>,
    map: Mapping<Other>,
    settings: Omit<WatchSettings<Other, Other>, "map"> = {},
  ): this {
    this.#steps.push((controller) => controller.watch(resource, { ...settings, map }));
    return this;
  }

  /** Keeps a cache for `context.cached`; its changes reconcile nothing. */
  reads<Other extends KubernetesObject>(
    resource: Resource<Other>,
    settings: ReadSettings<Other> = {},
  ): this {
    this.#steps.push((controller) => controller.reads(resource, settings));
    return this;
  }

  /** Objects get this finalizer, and are removed after `cleanUp` has succeeded. */
  finalizes(finalizer: string, cleanUp: Cleanup<Object>["cleanUp"]): this {
    this.#cleanup = { finalizer, cleanUp };
    return this;
  }

  /** Called for keys whose object does not exist (any more). */
  whenGone(gone: (key: ObjectKey, context: ReconcileContext) => Promise<void>): this {
    this.#gone = gone;
    return this;
  }

  /**
   * Brings the actual state closer to what the object wants; called again after a failure, and
   * after every change of what is watched.
   */
  reconcile(
    reconcile: (object: Object, context: ObjectContext) => Promise<ReconcileResult>,
  ): ControllerDefinition {
    const resource = this.#resource;
    const { name = formatResource(resource), ...options } = this.#options;
    const reconcileKey: ControllerOptions["reconcile"] = async (key, given) => {
      const object = given.cached(resource).get(key);
      if (object === undefined) return this.#gone?.(key, given);
      if (this.#cleanup === undefined) return reconcile(object, given);
      const { finalizer, cleanUp } = this.#cleanup;
      return withFinalizer({
        resource: given.client.resource(resource),
        object,
        finalizer,
        reconcile: (live) => reconcile(live, given),
        cleanUp: (dying) => cleanUp(dying, given),
        signal: given.signal,
      });
    };
    return {
      name,
      bind: (clusters, bound = {}) => {
        const controller = new Controller({
          ...options,
          ...bound,
          name,
          clusters,
          reconcile: reconcileKey,
        });
        controller.watch(resource, this.#settings);
        for (const step of this.#steps) step(controller);
        return controller;
      },
    };
  }
}

export interface ControllerForOptions<Object> extends BuilderOptions, ReadSettings<Object> {
  readonly predicate?: WatchSettings<Object, Object>["predicate"];
}

export function controllerFor<Object extends KubernetesObject>(
  resource: Resource<Object>,
  options: ControllerForOptions<Object> = {},
): ControllerBuilder<Object> {
  const { indexers, selector, predicate, ...rest } = options;
  return new ControllerBuilder(resource, rest, {
    ...(indexers === undefined ? {} : { indexers }),
    ...(selector === undefined ? {} : { selector }),
    ...(predicate === undefined ? {} : { predicate }),
  });
}
