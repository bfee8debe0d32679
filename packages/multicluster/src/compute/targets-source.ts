/** The SyncTargets of all logical clusters and of their tenants, as one source: a store that is made up when it is asked, and handlers that hear of both. */
import type { ClusterName } from "@kcp-ts/machinery/names";
import type {
  HandlerRegistration,
  InformerHandler,
  ObjectKey,
  ObjectSource,
  ObjectStore,
} from "@kcp-ts/sdk";
import type { SyncTarget } from "../api/index.ts";
import { sharedTargetOf } from "./as-shared.ts";
import type { ComputeExport } from "./compute-export.ts";

export interface TargetsSourceOptions<Cached> {
  readonly transform: (target: SyncTarget) => Cached;
  readonly targets: ObjectStore<SyncTarget>;
  readonly offerOf: (home: ClusterName) => ComputeExport | undefined;
  readonly homesOf: (tenant: ClusterName) => Iterable<ClusterName>;
  readonly tenantsOf: (home: ClusterName) => Iterable<ClusterName>;
  readonly tenants: () => Iterable<ClusterName>;
  readonly onError: (error: unknown) => void;
}

export class TargetsSource<Cached> implements ObjectSource<Cached> {
  readonly store: ObjectStore<Cached>;
  readonly #options: TargetsSourceOptions<Cached>;
  readonly #handlers = new Set<InformerHandler<Cached>>();

  constructor(options: TargetsSourceOptions<Cached>) {
    this.#options = options;
    this.store = this.#makeStore();
  }

  addHandler(handler: InformerHandler<Cached>): HandlerRegistration {
    this.#handlers.add(handler);
    for (const [key, object] of this.#entries())
      this.#guarded(() => handler.added?.(object, { key, initial: true }));
    return { remove: () => void this.#handlers.delete(handler) };
  }

  added(target: SyncTarget, key: ObjectKey): void {
    for (const [at, object] of this.#seen(target, key))
      this.#tell((handler) => handler.added?.(object, { key: at, initial: false }));
  }

  updated(target: SyncTarget, key: ObjectKey, before: SyncTarget): void {
    const previous = [...this.#seen(before, key)];
    for (const [index, [at, object]] of [...this.#seen(target, key)].entries()) {
      const [, was] = previous[index] as [ObjectKey, Cached];
      this.#tell((handler) => handler.updated?.(object, { key: at, previous: was }));
    }
  }

  deleted(target: SyncTarget, key: ObjectKey): void {
    for (const [at, object] of this.#seen(target, key))
      this.#tell((handler) => handler.deleted?.(object, { key: at, finalStateUnknown: false }));
  }

  tenantAdded(tenant: ClusterName, home: ClusterName): void {
    for (const [key, object] of this.#sharedWith(tenant, home))
      this.#tell((handler) => handler.added?.(object, { key, initial: false }));
  }

  tenantDeleted(tenant: ClusterName, home: ClusterName): void {
    for (const [key, object] of this.#sharedWith(tenant, home))
      this.#tell((handler) => handler.deleted?.(object, { key, finalStateUnknown: false }));
  }

  /** What is shared of each target is another thing now. */
  offerChanged(home: ClusterName): void {
    for (const tenant of this.#options.tenantsOf(home)) this.tenantAdded(tenant, home);
  }

  /** As its own logical cluster sees it, and then as each tenant does. */
  *#seen(target: SyncTarget, key: ObjectKey): Generator<[ObjectKey, Cached]> {
    const { tenantsOf } = this.#options;
    yield [key, this.#own(target, key.cluster)];
    for (const tenant of tenantsOf(key.cluster)) yield this.#shared(target, key.cluster, tenant);
  }

  /** Who has clusters from several sides must know what each takes: one of its own that has not said so yet takes nothing. */
  #own(target: SyncTarget, cluster: ClusterName): Cached {
    const { transform, homesOf } = this.#options;
    const { status } = target;
    const [home] = homesOf(cluster);
    if (home === undefined || status?.syncedResources !== undefined) return transform(target);
    return transform({ ...target, status: { ...status, syncedResources: [] } });
  }

  *#sharedWith(tenant: ClusterName, home: ClusterName): Generator<[ObjectKey, Cached]> {
    for (const target of this.#options.targets.list({ cluster: home }))
      yield this.#shared(target, home, tenant);
  }

  #shared(target: SyncTarget, home: ClusterName, tenant: ClusterName): [ObjectKey, Cached] {
    const { transform, offerOf } = this.#options;
    const object = sharedTargetOf(target, home, offerOf(home));
    const key = { cluster: tenant, namespace: "", name: object.metadata.name };
    return [key, transform(object)];
  }

  *#in(cluster: ClusterName): Generator<[ObjectKey, Cached]> {
    const { targets, homesOf } = this.#options;
    for (const target of targets.list({ cluster }))
      yield [{ cluster, namespace: "", name: target.metadata.name }, this.#own(target, cluster)];
    for (const home of homesOf(cluster)) yield* this.#sharedWith(cluster, home);
  }

  *#entries(): Generator<[ObjectKey, Cached]> {
    const { targets, tenants, homesOf } = this.#options;
    for (const [key, target] of targets.entries()) yield [key, this.#own(target, key.cluster)];
    for (const tenant of tenants())
      for (const home of homesOf(tenant)) yield* this.#sharedWith(tenant, home);
  }

  #get(key: ObjectKey): Cached | undefined {
    const own = this.#options.targets.get(key);
    if (own !== undefined) return this.#own(own, key.cluster);
    for (const home of this.#options.homesOf(key.cluster))
      for (const [{ name }, object] of this.#sharedWith(key.cluster, home))
        if (name === key.name) return object;
    return undefined;
  }

  #makeStore(): ObjectStore<Cached> {
    const entries = () => this.#entries();
    const unindexed = (): never => {
      throw new Error("SyncTargets of tenants have no indexes");
    };
    return {
      get size() {
        return [...entries()].length;
      },
      get: (key) => this.#get(key),
      has: (key) => this.#get(key) !== undefined,
      list: (filter) => {
        const found = filter === undefined ? this.#entries() : this.#in(filter.cluster);
        return [...found].map(([, object]) => object);
      },
      entries,
      byIndex: unindexed,
      keysByIndex: unindexed,
    };
  }

  #tell(what: (handler: InformerHandler<Cached>) => void): void {
    for (const handler of this.#handlers) this.#guarded(() => what(handler));
  }

  #guarded(body: () => void): void {
    try {
      body();
    } catch (error) {
      this.#options.onError(error);
    }
  }
}
