/**
 * Which SyncTargets a logical cluster has, for those who place things: its own, and those that it uses of compute workspaces, by the names that they have there. Told like the
 * SyncTargets themselves, so that who coordinates workloads need not know that there is a difference.
 *
 * One watch of bindings for each offer, which shows those who are bound to it and nobody else.
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
import { isOnlyHeartbeat, type SyncTarget, syncTargets } from "../api/index.ts";
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
  /** Of the server, not of one cluster of it. Must be allowed everything. */
  readonly client: Client;
  readonly clock: Clock;
  readonly random?: Random | undefined;
  readonly onError: (error: unknown) => void;
}

/** As much of one as is remembered. */
interface Binding {
  readonly isBound: boolean;
  /** Of the offer's workspace, as the tenant calls it. */
  readonly path: string;
}

/** An offer whose consumers cannot be listed holds nobody else up for longer. */
const bindingsWaitMs = 10_000;

interface FollowedBindings {
  readonly informer: Informer<APIBinding, Binding>;
  readonly stop: AbortController;
  /** Names of bindings, by the logical cluster that they are in. */
  readonly bound: Map<ClusterName, Set<string>>;
}

export class TenantTargets implements Clusters {
  readonly #options: TenantTargetsOptions;
  readonly #whole: Clusters;
  readonly #targets: ObjectSource<SyncTarget>;
  readonly #offers: ObjectSource<ComputeExport>;
  /** By the logical cluster of the offer. */
  readonly #followed = new Map<ClusterName, FollowedBindings>();
  /** By tenant: whose clusters it uses. */
  readonly #homes = new Map<ClusterName, Set<ClusterName>>();
  readonly #sources = new Set<TargetsSource<unknown>>();
  #running: TaskGroup | undefined;

  constructor(options: TenantTargetsOptions) {
    this.#options = options;
    const { random, ...rest } = options;
    this.#whole = logicalClusters({ ...rest, ...(random === undefined ? {} : { random }) });
    this.#targets = this.#whole.source(syncTargets);
    this.#offers = this.#whole.source(apiExports, computeExportInformer);
    this.#targets.addHandler({
      added: (target, { key }) => this.#tell((source) => source.added(target, key)),
      updated: (target, { key, previous }) => {
        // Every two seconds from some agents, and for every tenant: nobody here asks for it.
        if (!isOnlyHeartbeat(target, previous))
          this.#tell((source) => source.updated(target, key, previous));
      },
      deleted: (target, { key }) => this.#tell((source) => source.deleted(target, key)),
    });
    const look = (_offer: ComputeExport, { key }: { readonly key: ObjectKey }) => this.#look(key);
    this.#offers.addHandler({ added: look, updated: look });
  }

  client(cluster: ClusterName): Client {
    return this.#whole.client(cluster);
  }

  source<Object extends KubernetesObject, Cached = Object>(
    resource: Resource<Object>,
    options: SharedInformerOptions<Object, Cached> = {},
  ): ObjectSource<Cached> {
    if (resource.resource !== syncTargets.resource) return this.#whole.source(resource, options);
    const transform = (options.transform ?? ((object: unknown) => object)) as (
      target: SyncTarget,
    ) => Cached;
    const source = new TargetsSource<Cached>({
      transform,
      targets: this.#targets.store,
      offerOf: (home) => this.#offers.store.get(offerKey(home)),
      homesOf: (tenant) => this.#homes.get(tenant) ?? [],
      tenantsOf: (home) => this.#followed.get(home)?.bound.keys() ?? [],
      tenants: () => this.#homes.keys(),
      onError: this.#options.onError,
    });
    this.#sources.add(source as TargetsSource<unknown>);
    return source;
  }

  get hasSynced(): boolean {
    return (
      this.#whole.hasSynced &&
      [...this.#followed.values()].every(({ informer }) => informer.hasSynced)
    );
  }

  /** Before bindings are known, a tenant looks like somebody without clusters. */
  ready(cluster: ClusterName): Promise<void> | undefined {
    return this.hasSynced ? undefined : this.#becomeReady(cluster);
  }

  async #becomeReady(cluster: ClusterName): Promise<void> {
    await this.#whole.ready(cluster);
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

  /** Workspaces whose clusters this one uses, by their names and by the paths that its bindings have for them. */
  homesOf(tenant: ClusterName): ReadonlyMap<string, ClusterName> {
    const homes = new Map<string, ClusterName>();
    for (const home of this.#homes.get(tenant) ?? []) {
      homes.set(home, home);
      const following = this.#followed.get(home);
      for (const name of following?.bound.get(tenant) ?? []) {
        const binding = following?.informer.store.get({ cluster: tenant, namespace: "", name });
        if (binding !== undefined) homes.set(binding.path, home);
      }
    }
    return homes;
  }

  /** Workspaces that use the clusters of this one. */
  tenantsOf(home: ClusterName): readonly ClusterName[] {
    return [...(this.#followed.get(home)?.bound.keys() ?? [])];
  }

  /** Whoever comes first runs it; others wait until they are to end. */
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
    running.start((stop) => this.#whole.run(stop));
    await running.join();
  }

  #start(informer: Informer<APIBinding, Binding>, signal: AbortSignal): void {
    this.#running?.start(() => informer.run(signal));
  }

  /** An offer that is closed again is followed on: what its tenants have is frozen, not given up. */
  #look({ cluster: home, name }: ObjectKey): void {
    if (name !== computeExportName) return;
    if (this.#offers.store.get(offerKey(home))?.isOpen !== true) return;
    if (this.#followed.has(home)) this.#tell((source) => source.offerChanged(home));
    else this.#follow(home);
  }

  #follow(home: ClusterName): void {
    const { client, clock, random, onError } = this.#options;
    const informer = new Informer<APIBinding, Binding>({
      client: client.withBasePath(consumersPath(home)),
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
    this.#followed.set(home, following);
    informer.addHandler({
      added: ({ isBound }, { key }) => this.#bound(home, key, isBound),
      updated: ({ isBound }, { key }) => this.#bound(home, key, isBound),
      deleted: (_binding, { key }) => this.#bound(home, key, false),
    });
    if (this.#running?.signal.aborted === false) this.#start(informer, following.stop.signal);
  }

  #bound(home: ClusterName, { cluster: tenant, name }: ObjectKey, isBound: boolean): void {
    const bound = this.#followed.get(home)?.bound;
    // Its own SyncTargets it has anyway.
    if (bound === undefined || tenant === home) return;
    const names = bound.get(tenant) ?? new Set();
    const wasTenant = names.size > 0;
    if (isBound) names.add(name);
    else names.delete(name);
    const isTenant = names.size > 0;
    if (wasTenant === isTenant) return;
    const homes = this.#homes.get(tenant) ?? new Set();
    if (isTenant) {
      bound.set(tenant, names);
      this.#homes.set(tenant, homes.add(home));
      this.#tell((source) => source.tenantAdded(tenant, home));
      return;
    }
    bound.delete(tenant);
    homes.delete(home);
    if (homes.size === 0) this.#homes.delete(tenant);
    this.#tell((source) => source.tenantDeleted(tenant, home));
  }

  #tell(what: (source: TargetsSource<unknown>) => void): void {
    for (const source of this.#sources) what(source);
  }
}

function offerKey(cluster: ClusterName): ObjectKey {
  return { cluster, namespace: "", name: computeExportName };
}
