/**
 * CachedReader: reads of one cluster's objects from the caches of a controller, without requests.
 * A controller's own writes are visible at once.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { KubernetesObject, ObjectName, Resource } from "../client/index.ts";
import type { Indexers, ObjectKey } from "../informer/index.ts";
import type { ObjectSource } from "./clusters.ts";
import type { OwnWrites } from "./own-writes.ts";

export interface CachedReaderOptions<Object extends KubernetesObject> {
  readonly resource: Resource<Object>;
  readonly cluster: ClusterName;
  readonly source: ObjectSource<Object>;
  readonly indexers: Indexers<Object>;
  readonly ownWrites: OwnWrites;
}

/** The objects that an owner controls, by its uid; `owns` declares it. */
export const ownerIndex = "controller-uid";

export const byController = {
  [ownerIndex]: {
    values: ({ metadata }: KubernetesObject) =>
      (metadata.ownerReferences ?? [])
        .filter(({ controller }) => controller === true)
        .map(({ uid }) => uid),
  },
} as const satisfies Indexers<KubernetesObject>;

export class CachedReader<Object extends KubernetesObject> {
  readonly #options: CachedReaderOptions<Object>;

  constructor(options: CachedReaderOptions<Object>) {
    this.#options = options;
  }

  get({ name, namespace = "" }: ObjectName): Object | undefined {
    return this.#newest({ cluster: this.#options.cluster, namespace, name });
  }

  /** All objects of the cluster, or of one namespace. */
  list({ namespace }: { readonly namespace?: string | undefined } = {}): Object[] {
    const { cluster, source } = this.#options;
    const filter = namespace === undefined ? { cluster } : { cluster, namespace };
    return this.#merged(
      source.store.list(filter),
      (_, key) => namespace === undefined || key.namespace === namespace,
    );
  }

  /** By an index that was declared with the watch. */
  byIndex(index: string, value: string): Object[] {
    const { cluster, source, indexers } = this.#options;
    return this.#merged(
      source.store.byIndex(index, { cluster, value }),
      (object, key) => indexers[index]?.values(object, key).includes(value) ?? false,
    );
  }

  /** The objects that `owner` controls; for resources of `owns`. */
  ownedBy(owner: KubernetesObject): Object[] {
    const { uid } = owner.metadata;
    return uid === undefined ? [] : this.byIndex(ownerIndex, uid);
  }

  #newest(key: ObjectKey): Object | undefined {
    const { resource, ownWrites, source } = this.#options;
    // What was written to this resource was returned by it.
    return ownWrites.newest(resource, key, {
      get: (asked) => source.store.get(asked),
      seenVersion: () => source.seenVersion?.(key.cluster),
    }) as Object | undefined;
  }

  /** The cached objects, with those that the controller wrote and the cache does not show yet. */
  #merged(cached: Object[], matches: (object: Object, key: ObjectKey) => boolean): Object[] {
    const { resource, cluster, ownWrites } = this.#options;
    const own = ownWrites.keys(resource).filter((key) => key.cluster === cluster);
    if (own.length === 0) return cached;
    const textOf = (namespace: string | undefined, name: string) => `${namespace ?? ""}/${name}`;
    const found = new Map(
      cached.map((one) => [textOf(one.metadata.namespace, one.metadata.name), one]),
    );
    for (const key of own) {
      const newest = this.#newest(key);
      const text = textOf(key.namespace, key.name);
      if (newest !== undefined && matches(newest, key)) found.set(text, newest);
      else found.delete(text);
    }
    return [...found.values()];
  }
}
