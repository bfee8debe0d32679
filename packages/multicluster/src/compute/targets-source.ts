/**
 * The SyncTargets of all logical clusters, including the shared ones of tenants, as one source: a
 * store that derives shared SyncTargets on demand, and handlers that receive events of both.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import type {
  HandlerRegistration,
  InformerHandler,
  ObjectKey,
  ObjectSource,
  ObjectStore,
} from "@kcp-ts/sdk";
import type { SyncTarget } from "../api/index.ts";
import type { ComputeExport } from "./compute-export.ts";
import { sharedTargetOf } from "./shared-target.ts";

export interface TargetsSourceOptions<Cached> {
  readonly transform: (target: SyncTarget) => Cached;
  readonly targets: ObjectStore<SyncTarget>;
  readonly computeExportOf: (computeWorkspace: ClusterName) => ComputeExport | undefined;
  readonly computeWorkspacesOf: (tenant: ClusterName) => Iterable<ClusterName>;
  readonly tenantsOf: (computeWorkspace: ClusterName) => Iterable<ClusterName>;
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

  tenantAdded(tenant: ClusterName, computeWorkspace: ClusterName): void {
    for (const [key, object] of this.#sharedWith(tenant, computeWorkspace))
      this.#tell((handler) => handler.added?.(object, { key, initial: false }));
  }

  tenantDeleted(tenant: ClusterName, computeWorkspace: ClusterName): void {
    for (const [key, object] of this.#sharedWith(tenant, computeWorkspace))
      this.#tell((handler) => handler.deleted?.(object, { key, finalStateUnknown: false }));
  }

  /** The shared form of each SyncTarget changes with the compute export. */
  computeExportChanged(computeWorkspace: ClusterName): void {
    for (const tenant of this.#options.tenantsOf(computeWorkspace))
      this.tenantAdded(tenant, computeWorkspace);
  }

  /** The SyncTarget in its own logical cluster, and then in that of each tenant. */
  *#seen(target: SyncTarget, key: ObjectKey): Generator<[ObjectKey, Cached]> {
    const { tenantsOf } = this.#options;
    yield [key, this.#own(target, key.cluster)];
    for (const tenant of tenantsOf(key.cluster)) yield this.#shared(target, key.cluster, tenant);
  }

  /**
   * A workspace with clusters from several workspaces needs the synced resources of each: an own
   * SyncTarget that does not list them yet gets nothing.
   */
  #own(target: SyncTarget, cluster: ClusterName): Cached {
    const { transform, computeWorkspacesOf } = this.#options;
    const { status } = target;
    const [computeWorkspace] = computeWorkspacesOf(cluster);
    if (computeWorkspace === undefined || status?.syncedResources !== undefined)
      return transform(target);
    return transform({ ...target, status: { ...status, syncedResources: [] } });
  }

  *#sharedWith(tenant: ClusterName, computeWorkspace: ClusterName): Generator<[ObjectKey, Cached]> {
    for (const target of this.#options.targets.list({ cluster: computeWorkspace }))
      yield this.#shared(target, computeWorkspace, tenant);
  }

  #shared(
    target: SyncTarget,
    computeWorkspace: ClusterName,
    tenant: ClusterName,
  ): [ObjectKey, Cached] {
    const { transform, computeExportOf } = this.#options;
    const object = sharedTargetOf(target, computeWorkspace, computeExportOf(computeWorkspace));
    const key = { cluster: tenant, namespace: "", name: object.metadata.name };
    return [key, transform(object)];
  }

  *#in(cluster: ClusterName): Generator<[ObjectKey, Cached]> {
    const { targets, computeWorkspacesOf } = this.#options;
    for (const target of targets.list({ cluster }))
      yield [{ cluster, namespace: "", name: target.metadata.name }, this.#own(target, cluster)];
    for (const computeWorkspace of computeWorkspacesOf(cluster))
      yield* this.#sharedWith(cluster, computeWorkspace);
  }

  *#entries(): Generator<[ObjectKey, Cached]> {
    const { targets, tenants, computeWorkspacesOf } = this.#options;
    for (const [key, target] of targets.entries()) yield [key, this.#own(target, key.cluster)];
    for (const tenant of tenants())
      for (const computeWorkspace of computeWorkspacesOf(tenant))
        yield* this.#sharedWith(tenant, computeWorkspace);
  }

  #get(key: ObjectKey): Cached | undefined {
    const own = this.#options.targets.get(key);
    if (own !== undefined) return this.#own(own, key.cluster);
    for (const computeWorkspace of this.#options.computeWorkspacesOf(key.cluster))
      for (const [{ name }, object] of this.#sharedWith(key.cluster, computeWorkspace))
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
