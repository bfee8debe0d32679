/**
 * One syncer for each physical cluster that this process is connected to. What it syncs is what was negotiated for the cluster: APIs whose import is
 * both Compatible and Available.
 *
 * Syncers of one logical cluster share their upstream informers: what a kind costs upstream does not grow with the number of physical clusters. Those of different
 * ones share nothing: a watch over all logical clusters has metadata only where they define a kind each in their own way.
 *
 * Where a compute workspace offers its clusters to others, their objects are synced as well, through the view that is made for whoever syncs to the SyncTarget: the
 * control plane decides whose those are, the same for this process and for agents.
 *
 * Whether it works is said on the SyncTarget, in the condition SyncerReady. It is not true while a watch is broken: then what clusters last reported may be
 * old, and nobody should rely on it.
 *
 * A SyncTarget that is being deleted is held while something is still assigned to it: what can go elsewhere gets the time to do so.
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
  clusterLabels,
  importConditions,
  importInformer,
  isOnlyHeartbeat,
  type Location,
  locations,
  type SyncTarget,
  stateLabel,
  stateSync,
  syncTargets,
  targetConditions,
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
  /** Of the control plane, not of one cluster of it. */
  readonly client: Client;
  /** Run by the caller. */
  readonly clusters: Clusters;
  readonly targets: Targets;
  /** What is synced where a SyncTarget does not say. */
  readonly resources: readonly string[];
  /** Of an agent in its own cluster: how long its lease is. */
  readonly agentLeaseMs?: number | undefined;
  /** And whether it has a tunnel. */
  readonly agentTunnel?: TunnelState | undefined;
  /** What proves that namespaces in clusters were made by their syncers. */
  readonly namespaceKey?: Uint8Array | undefined;
  /** The control plane as it is shown to who syncs to a SyncTarget; not one cluster of it. */
  readonly viewOf: (target: TargetIdentity) => Client;
  readonly clock: Clock;
  readonly random: Random;
  readonly onError: (error: unknown) => void;
}

/** A SyncTarget that is connected: its syncer is started again while it is. */
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
  /** What was said last. */
  said: string | undefined;
  isReady: boolean;
}

const fieldManager = "kcp-syncers";
/** Between looks at all syncers of this process, which cost next to nothing. */
const lookMs = 500;
/** And from a change of what is synced: several come together. */
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
  readonly #unsubscribe: readonly (() => void)[];
  #timer: Timer;
  #isLookSoon = false;
  #isClosed = false;

  constructor(options: SyncersOptions) {
    this.#options = options;
    // Not the server's: what one tenant's cluster brings about does not make the server unready. Its SyncTarget says it.
    this.#supervisor = new LoopSupervisor({
      ...{ clock: options.clock, random: options.random },
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
    this.#targets = this.#followed(clusters.source(syncTargets), (now, before) =>
      isOnlyHeartbeat(now, before),
    );
    this.#offers = this.#followed(clusters.source(apiExports, computeExportInformer), () => false);
    this.#locations = this.#followed(clusters.source(locations), () => false);
    this.#policies = new SyncPolicies({
      ...options,
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
        gone: (connection) => this.#stop(connection),
      }),
      targets.onDrain(this.#drain),
    ];
  }

  /** What decides which kinds are synced; updates that are `idle` do not. */
  #followed<Cached>(
    source: ObjectSource<Cached>,
    idle: (now: Cached, before: Cached) => boolean,
  ): ObjectStore<Cached> {
    const look = (_object: Cached, { key }: { readonly key: ObjectKey }) =>
      this.#lookAgain(key.cluster);
    source.addHandler({
      added: look,
      updated: (now, { key, previous }) => {
        if (!idle(now, previous)) look(now, { key });
      },
      deleted: look,
    });
    return source.store;
  }

  /** What the Locations that a cluster is in say of its tenants' Pods. */
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
    }
    this.#lookSoon();
  }

  /** What is synced decides where workloads may go: who waits for the next look is placed without this cluster. */
  #lookSoon(): void {
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

  /** Until the signal aborts, or the syncer fails. */
  async #sync(connection: TargetConnection, signal: AbortSignal): Promise<void> {
    const running = this.#start(connection);
    const key = formatKey(keyOf(connection));
    this.#running.set(key, running);
    onAbort(signal, () => this.#forget(key, running));
    try {
      await Promise.race([untilAborted(signal), running.syncer.ended()]);
      // A syncer that was refused is not started again: its SyncTarget says why.
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
    const home = client.inCluster(cluster);
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
      upstream: home,
      scope: { cluster },
      upstreamInformers: this.#informersOf(cluster),
      shared: this.#options.viewOf({ cluster, name, uid }),
      downstream: connection.client,
      target: { cluster, name, uid },
      resources,
      policies,
      agentLeaseMs: this.#options.agentLeaseMs,
      agentTunnel: this.#options.agentTunnel,
      namespaceKey: this.#options.namespaceKey,
      podSecurity: security,
      home,
      clock,
      random,
      onError,
    });
    const sets = { resources, policies, security, natives };
    return { connection, syncer, ...sets, said: undefined, isReady: false };
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
    for (const running of this.#running.values()) {
      const condition = syncerCondition(running.syncer.health, running.isReady);
      running.isReady = condition.status === "True";
      const synced = running.resources.current.map(({ resource }) => formatGroupResource(resource));
      const saying = [condition.reason, condition.message, ...synced.sort()].join();
      if (running.said === saying) continue;
      running.said = saying;
      this.#say(running.connection, condition, synced).catch((error: unknown) => {
        running.said = undefined;
        this.#options.onError(error);
      });
    }
  };

  async #say(
    { cluster, name, signal }: TargetConnection,
    condition: SyncerCondition,
    syncedResources: readonly string[],
  ): Promise<void> {
    const lastTransitionTime = timestamp(this.#options.clock.now());
    const conditions = [{ type: targetConditions.syncerReady, ...condition, lastTransitionTime }];
    const resource = this.#options.client.inCluster(cluster).resource(syncTargets);
    const options = { fieldManager, force: true, signal };
    await resource.applyStatus(
      { metadata: { name }, status: { conditions, syncedResources } },
      options,
    );
  }

  #stop(connection: TargetConnection): void {
    const key = formatKey(keyOf(connection));
    const connected = this.#connected.get(key);
    if (connected?.connection !== connection) return;
    this.#connected.delete(key);
    connected.stop.abort();
  }

  #synced({ connection, natives }: Pick<Running, "connection" | "natives">): SyncedResource[] {
    const { cluster, name } = connection;
    if (!this.#policies.hasSynced) return [];
    const { compatible, available } = importConditions;
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
      .map((one) => {
        const isShared = offer?.resources.has(formatGroupResource(one.resource)) === true;
        return { ...one, isShared };
      });
    const spec = this.#targets.get(keyOf(connection))?.spec;
    // Before the SyncTarget is seen, nobody knows what it asks for.
    const asked = spec === undefined ? [] : (spec.resources ?? this.#options.resources);
    const carried = syncedNativeKinds(asked).map((one) => ({
      ...one,
      isShared: offer?.claims.has(formatGroupResource(one.resource)) === true,
      consentLabel: consentLabel(cluster),
    }));
    return [...negotiated, ...carried, ...natives.besides(negotiated)].sort((a, b) =>
      a.resource.resource < b.resource.resource ? -1 : 1,
    );
  }

  readonly #drain: DrainHook = async ({ metadata: { name } }, { cluster, signal }) => {
    const running = this.#running.get(formatKey(keyOf({ cluster, name })));
    const home = this.#options.client.inCluster(cluster);
    const assignments = [
      ...clusterLabels.map((label) => `${label}=${name}`),
      `${stateLabel(name)}=${stateSync}`,
    ];
    for (const { resource, isShared } of running?.resources.current ?? []) {
      for (const labelSelector of assignments) {
        const { items } = await home.resource(resource).list({ labelSelector, limit: 1, signal });
        if (items.length > 0) return "pending";
      }
      if (isShared !== true || running === undefined) continue;
      // Nothing else is in there.
      const others = this.#options.viewOf(running.syncer.target).inCluster("*");
      const { items } = await others.resource(resource).list({ limit: 1, signal });
      if (items.length > 0) return "pending";
    }
    // No longer assigned, and not yet gone from the cluster.
    if (running?.syncer.holdsSomething() === true) return "pending";
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
