/**
 * The SyncTargets of a logical cluster for scheduling: its own, and the shared ones of compute
 * workspaces, by their shared names. They are delivered like the SyncTargets themselves, so that
 * coordinators need not distinguish them.
 *
 * One watch of APIBindings for each compute export delivers the workspaces that are bound to it and
 * no others.
 */
import { type Clock, onAbort, type Random, sleep, TaskGroup } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type Client,
  type Clusters,
  Informer,
  type KubernetesObject,
  logicalClusters,
  type ObjectKey,
  type ObjectSource,
  type Resource,
  type SharedInformerOptions,
} from "@kcp-ts/sdk";
import { type SyncTarget, syncTargets } from "../api/index.ts";
import {
  type APIBinding,
  apiBindings,
  apiExports,
  type ComputeExport,
  computeExportInformer,
  computeExportName,
  consumersPath,
} from "./compute-export.ts";
import { TargetsSource } from "./targets-source.ts";

export interface TenantTargetsOptions {
  /** The client of the server, not of one logical cluster. It must be allowed everything. */
  readonly client: Client;
  readonly clock: Clock;
  readonly random?: Random | undefined;
  readonly onError: (error: unknown) => void;
}

/** The cached properties of an APIBinding. */
interface Binding {
  readonly isBound: boolean;
  /** The path of the compute workspace in the tenant's binding. */
  readonly path: string;
}

/**
 * The longest wait for the list of one export's consumers: other workspaces do not wait longer for
 * it.
 */
const bindingsWaitMs = 10_000;

interface FollowedBindings {
  readonly informer: Informer<APIBinding, Binding>;
  readonly stop: AbortController;
  /** Names of bindings, by their logical cluster. */
  readonly bound: Map<ClusterName, Set<string>>;
}

export class TenantTargets implements Clusters {
  readonly #options: TenantTargetsOptions;
  readonly #workload: Clusters;
  readonly #targets: ObjectSource<SyncTarget>;
  readonly #offers: ObjectSource<ComputeExport>;
  /** The watched bindings, by the logical cluster of the compute export. */
  readonly #followed = new Map<ClusterName, FollowedBindings>();
  /** The compute workspaces of each tenant. */
  readonly #homes = new Map<ClusterName, Set<ClusterName>>();
  readonly #sources = new Set<TargetsSource<unknown>>();
  #running: TaskGroup | undefined;

  constructor(options: TenantTargetsOptions) {
    this.#options = options;
    const { random, ...rest } = options;
    this.#workload = logicalClusters({ ...rest, ...(random === undefined ? {} : { random }) });
    this.#targets = this.#workload.source(syncTargets);
    this.#offers = this.#workload.source(apiExports, computeExportInformer);
    this.#targets.addHandler({
      added: (target, { key }) => this.#tell((source) => source.added(target, key)),
      updated: (target, { key, previous }) =>
        this.#tell((source) => source.updated(target, key, previous)),
      deleted: (target, { key }) => this.#tell((source) => source.deleted(target, key)),
    });
    const look = (_offer: ComputeExport, { key }: { readonly key: ObjectKey }) => this.#look(key);
    this.#offers.addHandler({ added: look, updated: look });
  }

  client(cluster: ClusterName): Client {
    return this.#workload.client(cluster);
  }

  source<Object extends KubernetesObject, Cached = Object>(
    resource: Resource<Object>,
    options: SharedInformerOptions<Object, Cached> = {},
  ): ObjectSource<Cached> {
    if (resource.resource !== syncTargets.resource) return this.#workload.source(resource, options);
    const transform = (options.transform ?? ((object: unknown) => object)) as (
      target: SyncTarget,
    ) => Cached;
    const source = new TargetsSource<Cached>({
      transform,
      targets: this.#targets.store,
      computeExportOf: (computeWorkspace) => this.#offers.store.get(offerKey(computeWorkspace)),
      computeWorkspacesOf: (tenant) => this.#homes.get(tenant) ?? [],
      tenantsOf: (computeWorkspace) => this.#followed.get(computeWorkspace)?.bound.keys() ?? [],
      tenants: () => this.#homes.keys(),
      onError: this.#options.onError,
    });
    this.#sources.add(source as TargetsSource<unknown>);
    return source;
  }

  get hasSynced(): boolean {
    return (
      this.#workload.hasSynced &&
      [...this.#followed.values()].every(({ informer }) => informer.hasSynced)
    );
  }

  /** Before bindings are known, a tenant looks like a workspace without clusters. */
  ready(cluster: ClusterName): Promise<void> | undefined {
    return this.hasSynced ? undefined : this.#becomeReady(cluster);
  }

  async #becomeReady(cluster: ClusterName): Promise<void> {
    await this.#workload.ready(cluster);
    const stop = new AbortController();
    const { clock } = this.#options;
    const waits = [...this.#followed.values()].map(({ informer }) => informer.synced(stop.signal));
    const enough = sleep(clock, bindingsWaitMs, stop.signal);
    try {
      await Promise.race([Promise.all(waits), enough]);
    } finally {
      stop.abort();
      await Promise.allSettled([...waits, enough]);
    }
  }

  /**
   * The compute workspaces whose clusters a workspace uses, by their names and by the paths in its
   * bindings.
   */
  computeWorkspacesOf(tenant: ClusterName): ReadonlyMap<string, ClusterName> {
    const computeWorkspaces = new Map<string, ClusterName>();
    for (const computeWorkspace of this.#homes.get(tenant) ?? []) {
      computeWorkspaces.set(computeWorkspace, computeWorkspace);
      const following = this.#followed.get(computeWorkspace);
      for (const name of following?.bound.get(tenant) ?? []) {
        const binding = following?.informer.store.get({ cluster: tenant, namespace: "", name });
        if (binding !== undefined) computeWorkspaces.set(binding.path, computeWorkspace);
      }
    }
    return computeWorkspaces;
  }

  /** The workspaces that use the clusters of a compute workspace. */
  tenantsOf(computeWorkspace: ClusterName): readonly ClusterName[] {
    return [...(this.#followed.get(computeWorkspace)?.bound.keys() ?? [])];
  }

  /** The first caller runs the watches; other callers wait until their signal aborts. */
  async run(signal: AbortSignal): Promise<void> {
    if (this.#running !== undefined) {
      await new Promise<void>((resolve) => void onAbort(signal, resolve));
      return;
    }
    const running = new TaskGroup(signal);
    this.#running = running;
    onAbort(running.signal, () => {
      for (const { stop } of this.#followed.values()) stop.abort();
    });
    for (const { informer, stop } of this.#followed.values()) this.#start(informer, stop.signal);
    running.start((stop) => this.#workload.run(stop));
    await running.join();
  }

  #start(informer: Informer<APIBinding, Binding>, signal: AbortSignal): void {
    this.#running?.start(() => informer.run(signal));
  }

  /**
   * The bindings of an export that is no longer shared stay watched: the tenants' workloads are
   * frozen, not removed.
   */
  #look({ cluster: computeWorkspace, name }: ObjectKey): void {
    if (name !== computeExportName) return;
    if (this.#offers.store.get(offerKey(computeWorkspace))?.isShared !== true) return;
    if (this.#followed.has(computeWorkspace))
      this.#tell((source) => source.computeExportChanged(computeWorkspace));
    else this.#follow(computeWorkspace);
  }

  #follow(computeWorkspace: ClusterName): void {
    const { client, clock, random, onError } = this.#options;
    const informer = new Informer<APIBinding, Binding>({
      client: client.withBasePath(consumersPath(computeWorkspace)),
      resource: apiBindings,
      scope: "all-clusters",
      transform: ({ spec, status }) => ({
        isBound: status?.phase === "Bound",
        path: spec?.reference?.export?.path ?? "",
      }),
      clock,
      random,
      onError,
    });
    const following = { informer, stop: new AbortController(), bound: new Map() };
    this.#followed.set(computeWorkspace, following);
    informer.addHandler({
      added: ({ isBound }, { key }) => this.#bound(computeWorkspace, key, isBound),
      updated: ({ isBound }, { key }) => this.#bound(computeWorkspace, key, isBound),
      deleted: (_binding, { key }) => this.#bound(computeWorkspace, key, false),
    });
    if (this.#running?.signal.aborted === false) this.#start(informer, following.stop.signal);
  }

  #bound(
    computeWorkspace: ClusterName,
    { cluster: tenant, name }: ObjectKey,
    isBound: boolean,
  ): void {
    const limit = this.#followed.get(computeWorkspace)?.bound;
    // A workspace has its own SyncTargets regardless of bindings.
    if (limit === undefined || tenant === computeWorkspace) return;
    const names = limit.get(tenant) ?? new Set();
    const wasTenant = names.size > 0;
    if (isBound) names.add(name);
    else names.delete(name);
    const isTenant = names.size > 0;
    if (wasTenant === isTenant) return;
    const computeWorkspaces = this.#homes.get(tenant) ?? new Set();
    if (isTenant) {
      limit.set(tenant, names);
      this.#homes.set(tenant, computeWorkspaces.add(computeWorkspace));
      this.#tell((source) => source.tenantAdded(tenant, computeWorkspace));
      return;
    }
    limit.delete(tenant);
    computeWorkspaces.delete(computeWorkspace);
    if (computeWorkspaces.size === 0) this.#homes.delete(tenant);
    this.#tell((source) => source.tenantDeleted(tenant, computeWorkspace));
  }

  #tell(what: (source: TargetsSource<unknown>) => void): void {
    for (const source of this.#sources) what(source);
  }
}

function offerKey(cluster: ClusterName): ObjectKey {
  return { cluster, namespace: "", name: computeExportName };
}
