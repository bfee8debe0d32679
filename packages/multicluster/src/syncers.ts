/**
 * Runs one syncer for each physical cluster that this process is connected to. A syncer syncs the
 * APIs that were negotiated for its cluster: those whose import is both Compatible and Available.
 *
 * Syncers of one logical cluster share their upstream informers: the upstream cost of a kind does
 * not grow with the number of physical clusters. Syncers of different logical clusters share
 * nothing: a watch over all logical clusters has metadata only where each defines a kind in its own
 * way.
 *
 * Where a compute workspace exports its clusters, objects of the consuming workspaces are synced as
 * well, through the view for the SyncTarget's syncer: the control plane decides which objects these
 * are, in the same way for this process and for agents.
 *
 * The condition SyncerReady of the SyncTarget reports the syncer's health. It is not True while a
 * watch is broken: the last reports of the cluster may then be outdated, and no controller should
 * rely on them.
 *
 * The deletion of a SyncTarget is blocked while objects are assigned to it, so that workloads have
 * the time to move to other clusters, and while its namespaces are in its cluster.
 */
import {
  type Clock,
  LoopSupervisor,
  onAbort,
  type Random,
  type Timer,
  untilAborted,
} from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { formatGroupResource } from "@kcp-ts/machinery/status";
import {
  type Client,
  type Clusters,
  defineResource,
  formatKey,
  isBeingDeleted,
  isConditionTrue,
  type KubernetesObject,
  type ObjectKey,
  type ObjectSource,
  type ObjectStore,
  timestamp,
} from "@kcp-ts/sdk";
import {
  type APIResourceImport,
  apiResourceImports,
  byLocation,
  clusterLabels,
  definitionName,
  importConditions,
  importInformer,
  isBeingNegotiated,
  isSyncedNative,
  type Location,
  locations,
  type SyncTarget,
  type SyncTargetStatus,
  servedBeside,
  servedResources,
  stateLabel,
  stateSync,
  syncTargets,
  targetConditions,
  writeSyncTargetStatus,
} from "./api/index.ts";
import {
  apiExports,
  type ComputeExport,
  computeExportInformer,
  computeExportName,
  consentLabel,
} from "./compute/index.ts";
import { NativeKinds, syncedNativeKinds } from "./native-kinds.ts";
import {
  type DrainHook,
  keyOf,
  type TargetConnection,
  type Targets,
} from "./registration/index.ts";
import { locationMatcher } from "./scheduling/index.ts";
import { SyncPolicies } from "./sync-policies.ts";
import {
  PodSecuritySetting,
  PolicySet,
  ResourceSet,
  type SyncedResource,
  type Syncer,
  type SyncerCondition,
  startSyncer,
  strictestLevel,
  syncerCondition,
  type TargetIdentity,
  type TunnelState,
  UpstreamInformers,
} from "./syncer/index.ts";

export interface SyncersOptions {
  /** A client of the control plane, for all logical clusters. */
  readonly client: Client;
  /** The caller runs it. */
  readonly clusters: Clusters;
  readonly targets: Targets;
  /** The resources to sync when a SyncTarget does not list any. */
  readonly resources: readonly string[];
  /** Whether the APIs of the clusters are imported by this process, too. */
  readonly awaitsImport?: boolean | undefined;
  /** In an agent: the duration of its lease. */
  readonly agentLeaseMs?: number | undefined;
  /** In an agent: whether it has a tunnel. */
  readonly agentTunnel?: TunnelState | undefined;
  /** The key by which syncers sign their namespaces in clusters. */
  readonly namespaceKey?: Uint8Array | undefined;
  /** The control plane's view for the syncer of a SyncTarget, for all logical clusters. */
  readonly agentViewOf: (target: TargetIdentity) => Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly onError: (error: unknown) => void;
}

/** A connected SyncTarget: its syncer is restarted while the connection lasts. */
interface Connected {
  readonly connection: TargetConnection;
  readonly stop: AbortController;
}

interface Running {
  readonly connection: TargetConnection;
  readonly syncer: Syncer;
  readonly resources: ResourceSet;
  readonly policies: PolicySet;
  readonly security: PodSecuritySetting;
  readonly natives: NativeKinds;
  /** The last reported condition. */
  said: string | undefined;
  /** What is synced, and what is not served yet, when the synced resources last changed. */
  lists: ResourceLists | undefined;
  awaitedApis: readonly string[] | undefined;
  isReady: boolean;
  /** The syncer was ready once: the list of its resources is complete from then on. */
  wasReady: boolean;
  /** Resources that were synced before, while the cluster is to be emptied. */
  former: readonly SyncedResource[];
}

type ResourceLists = Pick<SyncTargetStatus, "syncedResources" | "formerResources">;

/** The interval between checks of all syncers in this process, which are cheap. */
const lookMs = 500;
/** The delay of a check after the synced resources change; several changes are batched. */
const lookSoonMs = 10;

export class Syncers {
  readonly #options: SyncersOptions;
  readonly #imports: ObjectStore<APIResourceImport>;
  readonly #targets: ObjectStore<SyncTarget>;
  readonly #offers: ObjectStore<ComputeExport>;
  readonly #locations: ObjectStore<Location>;
  readonly #policies: SyncPolicies;
  readonly #supervisor: LoopSupervisor;
  readonly #connected = new Map<string, Connected>();
  readonly #running = new Map<string, Running>();
  /** By logical cluster, as long as one of its syncers runs. */
  readonly #informers = new Map<string, UpstreamInformers>();
  readonly #ending = new Set<Promise<void>>();
  /** SyncTargets whose condition is being written: a second write could commit before the first. */
  readonly #reporting = new Set<string>();
  readonly #unsubscribe: readonly (() => void)[];
  #timer: Timer;
  #isLookSoon = false;
  #isClosed = false;

  constructor(options: SyncersOptions) {
    this.#options = options;
    // Not the server's supervisor: errors that one tenant's cluster causes do not make the server
    // unready. The SyncTarget reports them.
    this.#supervisor = new LoopSupervisor({
      clock: options.clock,
      random: options.random,
      onDown: ({ error }) => options.onError(error),
    });
    this.#timer = options.clock.schedule(lookMs, this.#look);
    const { clusters, targets } = options;
    const source = clusters.source(apiResourceImports, importInformer);
    this.#imports = source.store;
    const look = ({ spec }: APIResourceImport, cluster: TargetConnection["cluster"]) => {
      const running = this.#running.get(formatKey(keyOf({ cluster, name: spec.location })));
      if (running === undefined) return;
      running.resources.set(this.#synced(running));
      this.#lookSoon();
    };
    source.addHandler({
      added: (object, { key }) => look(object, key.cluster),
      updated: (object, { key }) => look(object, key.cluster),
      deleted: (object, { key }) => look(object, key.cluster),
    });
    this.#targets = this.#followed(clusters.source(syncTargets));
    this.#offers = this.#followed(clusters.source(apiExports, computeExportInformer));
    this.#locations = this.#followed(clusters.source(locations));
    this.#policies = new SyncPolicies({
      clusters,
      onSynced: () => this.#lookAgain(),
      onChange: (cluster) => {
        for (const { connection, policies } of this.#running.values()) {
          if (connection.cluster === cluster)
            policies.set(this.#policies.of(cluster, connection.name));
        }
      },
    });
    this.#unsubscribe = [
      targets.subscribe({
        connected: (connection) => this.#connect(connection),
        disconnected: (connection) => this.#stop(connection),
      }),
      targets.onDrain(this.#drain),
    ];
  }

  /** An informer of objects that decide which kinds are synced. */
  #followed<Cached>(source: ObjectSource<Cached>): ObjectStore<Cached> {
    const look = (_object: Cached, { key }: { readonly key: ObjectKey }) =>
      this.#lookAgain(key.cluster);
    source.addHandler({ added: look, updated: look, deleted: look });
    return source.store;
  }

  /** Objects of resources that were synced before leave a cluster that is to be emptied, too. */
  async #followFormer(running: Running): Promise<void> {
    const { cluster, signal } = running.connection;
    const target = this.#targets.get(keyOf(running.connection));
    const isEmptied = target !== undefined && (isBeingDeleted(target) || target.spec?.drain);
    const { formerResources = [] } = target?.status ?? {};
    const names = isEmptied ? formerResources : [];
    const known = running.former.map(({ resource }) => formatGroupResource(resource));
    if (known.join() === names.join()) return;
    const served = await servedResources(this.#options.client.inCluster(cluster), signal);
    running.former = names.flatMap((name) => {
      const found = served.get(name);
      if (found === undefined) return [];
      const hasStatus =
        !isSyncedNative(name) && found.subresources.some((one) => one.name === "status");
      return [{ resource: defineResource<KubernetesObject>(found), hasStatus }];
    });
    running.resources.set(this.#synced(running));
    this.#lookSoon();
  }

  /** The Pod security levels of the Locations that contain the cluster. */
  #securityOf({ cluster, name }: Pick<TargetConnection, "cluster" | "name">) {
    const target = this.#targets.get(keyOf({ cluster, name }));
    const of = this.#locations
      .list({ cluster })
      .filter((location) =>
        locationMatcher({ location })({ name, labels: target?.metadata.labels }),
      );
    return strictestLevel(of.map(({ spec }) => spec.podSecurity?.enforce));
  }

  #lookAgain(cluster?: ClusterName): void {
    for (const running of this.#running.values()) {
      if (cluster !== undefined && running.connection.cluster !== cluster) continue;
      running.resources.set(this.#synced(running));
      running.security.set(this.#securityOf(running.connection));
      this.#followFormer(running).catch(this.#options.onError);
    }
    this.#lookSoon();
  }

  /**
   * The synced resources decide where workloads may go: a workload that is scheduled before the
   * next check would miss this cluster.
   */
  #lookSoon(): void {
    for (const running of this.#running.values()) {
      running.lists = undefined;
      running.awaitedApis = undefined;
    }
    if (this.#isLookSoon || this.#isClosed) return;
    this.#isLookSoon = true;
    this.#timer.cancel();
    this.#timer = this.#options.clock.schedule(lookSoonMs, this.#look);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    this.#timer.cancel();
    for (const end of this.#unsubscribe) end();
    for (const { connection } of [...this.#connected.values()]) this.#stop(connection);
    await Promise.all(this.#ending);
  }

  #connect(connection: TargetConnection): void {
    const stop = new AbortController();
    this.#connected.set(formatKey(keyOf(connection)), { connection, stop });
    const ending = this.#supervisor.runLoop("syncer", stop.signal, (signal) =>
      this.#sync(connection, signal),
    );
    this.#ending.add(ending);
    void ending.finally(() => this.#ending.delete(ending));
  }

  /** Runs until the signal aborts, or the syncer fails. */
  async #sync(connection: TargetConnection, signal: AbortSignal): Promise<void> {
    const running = this.#start(connection);
    const key = formatKey(keyOf(connection));
    this.#running.set(key, running);
    onAbort(signal, () => this.#forget(key, running));
    try {
      await Promise.race([untilAborted(signal), running.syncer.ended()]);
      // A syncer that the control plane rejected is not restarted: its SyncTarget reports the
      // reason.
      if (running.syncer.health.refused !== undefined) await untilAborted(signal);
    } finally {
      this.#forget(key, running);
      await running.syncer.stop();
    }
  }

  #forget(key: string, running: Running): void {
    if (this.#running.get(key) !== running) return;
    this.#running.delete(key);
    running.natives.close();
    const { cluster } = running.connection;
    if (![...this.#running.values()].some((other) => other.connection.cluster === cluster)) {
      this.#informers.delete(cluster);
    }
  }

  #start(connection: TargetConnection): Running {
    const { client, clock, random, onError } = this.#options;
    const { cluster, name, uid } = connection;
    const syncTargetClient = client.inCluster(cluster);
    const natives = new NativeKinds({
      client: connection.client,
      clock,
      onError,
      onChange: () => {
        resources.set(this.#synced({ connection, natives }));
        this.#lookSoon();
      },
    });
    const resources = new ResourceSet(this.#synced({ connection, natives }));
    const policies = new PolicySet(this.#policies.of(cluster, name));
    const security = new PodSecuritySetting(this.#securityOf(connection));
    const syncer = startSyncer({
      upstream: syncTargetClient,
      scope: { cluster },
      upstreamInformers: this.#informersOf(cluster),
      shared: this.#options.agentViewOf({ cluster, name, uid }),
      downstream: connection.client,
      target: { cluster, name, uid },
      resources,
      policies,
      agentLeaseMs: this.#options.agentLeaseMs,
      agentTunnel: this.#options.agentTunnel,
      namespaceKey: this.#options.namespaceKey,
      podSecurity: security,
      syncTargetClient,
      clock,
      random,
      onError,
    });
    const sets = { resources, policies, security, natives };
    const unknown = { said: undefined, lists: undefined, awaitedApis: undefined };
    const state = { ...unknown, isReady: false, wasReady: false, former: [] };
    return { connection, syncer, ...sets, ...state };
  }

  #informersOf(cluster: TargetConnection["cluster"]): UpstreamInformers {
    const known = this.#informers.get(cluster);
    if (known !== undefined) return known;
    const { client, clock, random, onError } = this.#options;
    const home = client.inCluster(cluster);
    const made = new UpstreamInformers({
      client: home,
      scope: { cluster },
      clock,
      random,
      onError,
    });
    this.#informers.set(cluster, made);
    return made;
  }

  readonly #look = () => {
    if (this.#isClosed) return;
    this.#isLookSoon = false;
    this.#timer = this.#options.clock.schedule(lookMs, this.#look);
    for (const [key, running] of this.#running) {
      const target = this.#targets.get(keyOf(running.connection));
      if (target !== undefined && isBeingDeleted(target)) running.syncer.leave();
      if (this.#reporting.has(key)) continue;
      running.awaitedApis ??= this.#awaitedApis(running.connection);
      const { isReady, wasReady: hasStarted, awaitedApis } = running;
      const progress = { wasReady: isReady, hasStarted, awaitedApis };
      const condition = syncerCondition(running.syncer.health, progress);
      running.isReady = condition.status === "True";
      running.wasReady ||= running.isReady;
      if (hasStarted !== running.wasReady) running.lists = undefined;
      running.lists ??= this.#resourceListsOf(running);
      const { lists } = running;
      const saying = JSON.stringify([condition.reason, condition.message, lists]);
      if (running.said === saying) continue;
      running.said = saying;
      this.#reporting.add(key);
      this.#say(running.connection, condition, lists)
        .catch((error: unknown) => {
          running.said = undefined;
          this.#options.onError(error);
        })
        .finally(() => this.#reporting.delete(key));
    }
  };

  /**
   * What is synced, and what was synced before and is no longer. Both lists stay as they are until
   * the syncer is ready: before that, a resource may be missing because its import is not observed.
   */
  #resourceListsOf({ connection, natives, wasReady }: Running): ResourceLists {
    const { syncedResources, formerResources } = this.#targets.get(keyOf(connection))?.status ?? {};
    if (!wasReady)
      return {
        ...(syncedResources === undefined ? {} : { syncedResources }),
        ...(formerResources === undefined ? {} : { formerResources }),
      };
    const synced = this.#synced({ connection, natives });
    const current = new Set(synced.map(({ resource }) => formatGroupResource(resource)));
    const known = new Set([...(syncedResources ?? []), ...(formerResources ?? [])]);
    const left = [...known].filter((name) => !current.has(name));
    return {
      syncedResources: [...current].sort(),
      ...(left.length === 0 ? {} : { formerResources: left.sort() }),
    };
  }

  async #say(
    { cluster, name, uid, signal }: TargetConnection,
    condition: SyncerCondition,
    lists: ResourceLists,
  ): Promise<void> {
    const lastTransitionTime = timestamp(this.#options.clock.now());
    const conditions = [{ type: targetConditions.syncerReady, ...condition, lastTransitionTime }];
    const client = this.#options.client.inCluster(cluster);
    const write = { client, target: { metadata: { name, uid } }, signal };
    await writeSyncTargetStatus(write, "syncers", { conditions, ...lists });
  }

  #stop(connection: TargetConnection): void {
    const key = formatKey(keyOf(connection));
    const connected = this.#connected.get(key);
    if (connected?.connection !== connection) return;
    this.#connected.delete(key);
    connected.stop.abort();
  }

  /**
   * What is not served yet of the cluster's APIs: before the first import, what was requested;
   * then, APIs whose negotiation has not ended.
   */
  #awaitedApis({ cluster, name }: TargetConnection): readonly string[] {
    const target = this.#targets.get(keyOf({ cluster, name }));
    const isImported = isConditionTrue(
      target?.status?.conditions,
      targetConditions.apiImporterReady,
    );
    if (this.#options.awaitsImport === true && !isImported)
      return target?.spec?.resources ?? this.#options.resources;
    const imports = this.#imports.byIndex(byLocation, { cluster, value: name });
    return imports.filter(isBeingNegotiated).map(({ spec }) => definitionName(spec));
  }

  #synced({
    connection,
    natives,
    former = [],
  }: Pick<Running, "connection" | "natives"> & Partial<Pick<Running, "former">>): SyncedResource[] {
    const { cluster, name } = connection;
    if (!this.#policies.hasSynced) return [];
    const { compatible, available } = importConditions;
    const spec = this.#targets.get(keyOf(connection))?.spec;
    const isOnlyServed = new Set(
      spec?.resources === undefined ? servedBeside(this.#options.resources) : [],
    );
    const offer = this.#offers.get(keyOf({ cluster, name: computeExportName }));
    const negotiated = this.#imports
      .list({ cluster })
      .filter(
        ({ spec, status }) =>
          spec.location === name &&
          isConditionTrue(status?.conditions, compatible) &&
          isConditionTrue(status?.conditions, available),
      )
      .map(syncedResource)
      .filter(({ resource }) => !isOnlyServed.has(formatGroupResource(resource)))
      .map((one) => {
        const isShared = offer?.resources.has(formatGroupResource(one.resource)) === true;
        return { ...one, isShared };
      });
    // Before the SyncTarget is observed, its requested resources are unknown.
    const asked = spec === undefined ? [] : (spec.resources ?? this.#options.resources);
    const carried = syncedNativeKinds(asked).map((one) => ({
      ...one,
      isShared: offer?.claims.has(formatGroupResource(one.resource)) === true,
      consentLabel: consentLabel(cluster),
    }));
    const wanted = [...negotiated, ...carried, ...natives.nativeResourcesFor(negotiated)];
    const names = new Set(wanted.map(({ resource }) => formatGroupResource(resource)));
    const left = former
      .filter(({ resource }) => !names.has(formatGroupResource(resource)))
      .map((one) => {
        const name = formatGroupResource(one.resource);
        const isShared = [offer?.resources, offer?.claims].some((all) => all?.has(name) === true);
        return isSyncedNative(name)
          ? { ...one, isShared, consentLabel: consentLabel(cluster) }
          : { ...one, isShared };
      });
    return [...wanted, ...left].sort((a, b) =>
      a.resource.resource < b.resource.resource ? -1 : 1,
    );
  }

  readonly #drain: DrainHook = async ({ metadata: { name }, status }, { cluster, signal }) => {
    const running = this.#running.get(formatKey(keyOf({ cluster, name })));
    if (running === undefined) return "done";
    // Objects that the syncer sees need no request; the server is asked when it sees none.
    if (running.syncer.hasSyncedObjects()) return "pending";
    if (running.syncer.hasNamespaces()) return "pending";
    const isFollowed = (one: string) =>
      running.resources.current.some(({ resource }) => formatGroupResource(resource) === one);
    const home = this.#options.client.inCluster(cluster);
    const served = await servedResources(home, signal);
    const { formerResources = [] } = status ?? {};
    if (formerResources.some((one) => served.has(one) && !isFollowed(one))) return "pending";
    const assignments = [
      ...clusterLabels.map((label) => `${label}=${name}`),
      `${stateLabel(name)}=${stateSync}`,
    ];
    for (const { resource, isShared } of running.resources.current) {
      for (const labelSelector of assignments) {
        const { items } = await home.resource(resource).list({ labelSelector, limit: 1, signal });
        if (items.length > 0) return "pending";
      }
      if (isShared !== true) continue;
      // The view contains only objects of this SyncTarget.
      const others = this.#options.agentViewOf(running.syncer.target).inCluster("*");
      const { items } = await others.resource(resource).list({ limit: 1, signal });
      if (items.length > 0) return "pending";
    }
    return "done";
  };
}

function syncedResource({ spec }: APIResourceImport): SyncedResource {
  const { groupVersion, plural, kind, scope, subResources = [] } = spec;
  const { group = "", version } = groupVersion;
  return {
    resource: defineResource<KubernetesObject>({
      group: group === "core" ? "" : group,
      version,
      resource: plural,
      kind,
      namespaced: scope === "Namespaced",
    }),
    hasStatus: subResources.some(({ name }) => name === "status"),
  };
}
