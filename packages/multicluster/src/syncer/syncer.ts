/**
 * startSyncer: syncs one physical cluster with the upstream objects that are assigned to it, given
 * a client for each side. The code is the same in the control plane's process (Push), in a Pod of
 * the cluster (Pull) and from a shell (None).
 *
 * A lost connection freezes the state: nothing is written or deleted, and missed changes are synced
 * when the connection is back.
 */
import {
  type Clock,
  onAbort,
  type Random,
  systemClock,
  systemRandom,
  TaskGroup,
} from "@kcp-ts/machinery/base";
import { type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type Client,
  ExponentialFailureRateLimiter,
  formatKey,
  formatResource,
  type InformerScope,
  type MetricsRegistry,
  type ObjectKey,
  WorkQueue,
} from "@kcp-ts/sdk";
import { type SyncRules, sharedTargetName, targetNameIn } from "../api/index.ts";
import { targetConfirmation } from "./confirm-target.ts";
import type { SyncContext, SyncedResource } from "./context.ts";
import { DownstreamNamespaces } from "./downstream-namespaces.ts";
import { EventSync, type KindOf } from "./event-sync.ts";
import { runFence } from "./fence.ts";
import { isRace, type KindHealth, KindSync } from "./kind-sync.ts";
import { Lease } from "./lease.ts";
import type { TargetIdentity } from "./origin.ts";
import { PodSecuritySetting } from "./pod-security.ts";
import { type Policies, policyFor } from "./policy.ts";
import { PolicySet } from "./policy-set.ts";
import { runLeaseRenewal } from "./renew-lease.ts";
import { Reporter } from "./reporter.ts";
import { idOf, ResourceSet } from "./resource-set.ts";
import type { TunnelState } from "./tunnel-state.ts";
import { UpstreamInformers } from "./upstream-informers.ts";
import { isUpstreamUnavailable } from "./upstream-objects.ts";

export interface SyncerOptions {
  /** A client of a logical cluster, or of all logical clusters: see `scope`. */
  readonly upstream: Client;
  /** The logical clusters whose objects are synced: all, or the one of `upstream`. */
  readonly scope: InformerScope;
  /**
   * The control plane's view for the syncer of this SyncTarget, for all logical clusters. Objects
   * of other logical clusters are synced through it, for shared kinds; none are synced if omitted.
   */
  readonly shared?: Client | undefined;
  /**
   * The logical clusters whose objects may be synced to this SyncTarget; only its own if omitted.
   */
  readonly serves?: ((cluster: ClusterName) => boolean) | undefined;
  readonly downstream: Client;
  readonly target: TargetIdentity;
  readonly resources: ResourceSet | readonly SyncedResource[];
  readonly policies?: PolicySet | Policies | undefined;
  /** Informers that the syncers of a process share; the syncer's own if omitted. */
  readonly upstreamInformers?: UpstreamInformers | undefined;
  /**
   * A client of the SyncTarget's logical cluster: the syncer confirms the SyncTarget before it
   * deletes an object, and renews its Lease.
   */
  readonly syncTargetClient?: Client | undefined;
  /**
   * Set in an agent, which can stop StopBeforeStart workloads when the control plane is
   * unreachable: it does so this long after its last accepted renewal. Requires
   * `syncTargetClient`.
   */
  readonly agentLeaseMs?: number | undefined;
  /**
   * The tunnel of an agent: without it, the agent renews its Lease often. Requires
   * `syncTargetClient`.
   */
  readonly agentTunnel?: TunnelState | undefined;
  /** The key that signs the syncer's namespaces in the cluster, of 32 bytes. */
  readonly namespaceKey?: Uint8Array | undefined;
  /** The Pod security level for other logical clusters; baseline if omitted. */
  readonly podSecurity?: PodSecuritySetting | undefined;
  /** The number of objects that are synced concurrently. */
  readonly workers?: number | undefined;
  readonly metrics?: MetricsRegistry | undefined;
  readonly onError?: ((error: unknown) => void) | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
}

export interface SyncerHealth {
  /** Why the syncer does not sync at all; undefined when it does. */
  readonly refused: string | undefined;
  readonly kinds: ReadonlyMap<string, KindHealth>;
  /** Objects that are queued or in flight. */
  readonly pending: number;
  /** Objects that wait for a requeue: after an error, or to be checked again. */
  readonly delayed: number;
}

export interface Syncer {
  readonly target: TargetIdentity;
  readonly health: SyncerHealth;
  /** Whether an upstream object is assigned to the cluster or held for it, as far as observed. */
  hasSyncedObjects(): boolean;
  /** The SyncTarget is being deleted: the syncer removes its namespaces as they become empty. */
  leave(): void;
  /** Whether the syncer may still have a namespace to remove from the cluster. */
  hasNamespaces(): boolean;
  /** Resolves when both sides of all current kinds are listed. */
  synced(signal: AbortSignal): Promise<void>;
  /**
   * Resolves when the syncer is stopped or rejected; rejects when a part of it fails, which stops
   * all of it.
   */
  ended(): Promise<void>;
  /** Resolves when no write of this syncer is in flight any more. Idempotent. */
  stop(): Promise<void>;
}

interface Item {
  readonly kind: string;
  readonly key: ObjectKey;
}

const workersDefault = 8;
const retry = { firstMs: 50, mostMs: 300_000 };
/** An unavailable control plane says nothing about the object. */
const unavailableRetryMostMs = 30_000;

export function startSyncer(options: SyncerOptions): Syncer {
  const syncer = new RunningSyncer(options);
  syncer.start();
  return syncer;
}

class RunningSyncer implements Syncer {
  readonly target: TargetIdentity;
  readonly #options: SyncerOptions;
  readonly #context: SyncContext;
  readonly #resources: ResourceSet;
  readonly #policies: PolicySet;
  readonly #informers: UpstreamInformers;
  readonly #sharedInformers: UpstreamInformers | undefined;
  readonly #namespaces: DownstreamNamespaces;
  readonly #reporter: Reporter;
  readonly #queue: WorkQueue<Item>;
  readonly #kinds = new Map<string, KindSync>();
  readonly #stop = new AbortController();
  readonly #running = new TaskGroup(this.#stop.signal);
  #stopListening = () => {};
  #events: { readonly stop: AbortController } | undefined;
  #refused: string | undefined;

  constructor(options: SyncerOptions) {
    this.#options = options;
    const { target, clock = systemClock, random = systemRandom, metrics } = options;
    this.target = target;
    const { upstream, scope, downstream, shared } = options;
    const onError = options.onError ?? (() => {});
    const { signal } = this.#stop;
    const { serves = (cluster) => cluster === target.cluster, syncTargetClient: home } = options;
    this.#context = {
      target,
      downstream,
      namespaceKey: options.namespaceKey,
      podSecurity: options.podSecurity ?? new PodSecuritySetting(),
      upstreamIn: upstreamClients(options),
      // A logical cluster that is served without an export uses the SyncTarget's own name.
      nameIn: (cluster) => (shared === undefined ? target.name : targetNameIn(cluster, target)),
      serves,
      isShared: shared !== undefined,
      confirmTarget: targetConfirmation({ home, target, clock, signal }),
      lease: leaseOf(options, clock),
      clock,
      random,
      signal,
      onError,
    };
    this.#resources =
      options.resources instanceof ResourceSet
        ? options.resources
        : new ResourceSet(options.resources);
    this.#policies =
      options.policies instanceof PolicySet ? options.policies : new PolicySet(options.policies);
    this.#informers =
      options.upstreamInformers ??
      new UpstreamInformers({
        client: upstream,
        scope,
        target: target.name,
        clock,
        random,
        onError,
      });
    this.#sharedInformers =
      shared &&
      new UpstreamInformers({
        client: shared,
        scope: "all-clusters",
        target: sharedTargetName(target),
        clock,
        random,
        onError,
      });
    this.#reporter = new Reporter(this.#context);
    this.#namespaces = new DownstreamNamespaces({
      context: this.#context,
      onAdded: (namespace) => {
        for (const kind of this.#kinds.values()) kind.view.requeueDownstream(namespace);
      },
      resources: () => this.#resources.current.map(({ resource }) => resource),
    });
    this.#queue = new WorkQueue<Item>({
      name: `syncer_${target.name}`,
      keyOf: ({ kind, key }) => `${kind} ${formatKey(key)}`,
      // Fair queuing: thousands of objects of one tenant do not delay a single object of another
      // tenant.
      flowOf: ({ key }) => key.cluster,
      rateLimiter: new ExponentialFailureRateLimiter(retry),
      metrics,
      clock,
    });
  }

  get health(): SyncerHealth {
    const kinds = new Map([...this.#kinds.values()].map((kind) => [kindName(kind), kind.health]));
    const { depth, processing, delayed } = this.#queue;
    return { refused: this.#refused, kinds, pending: depth + processing, delayed };
  }

  hasSyncedObjects(): boolean {
    return [...this.#kinds.values()].some(({ view }) => view.hasSyncedObjects);
  }

  leave(): void {
    this.#namespaces.leave();
  }

  hasNamespaces(): boolean {
    return this.#namespaces.hasNamespaces;
  }

  start(): void {
    const { syncTargetClient: client, workers = workersDefault } = this.#options;
    onAbort(this.#running.signal, () => {
      this.#stop.abort();
      this.#queue.shutDown();
    });
    this.#running.start(() => this.#namespaces.run());
    const stops = [this.#resources, this.#policies].map((set) =>
      set.onChange(() => this.#updateKinds()),
    );
    this.#stopListening = () => {
      for (const stop of stops) stop();
    };
    this.#updateKinds();
    for (let worker = 0; worker < workers; worker++) this.#running.start(() => this.#work());
    if (client === undefined) return;
    const onLost = (message: string) => {
      this.#refused = message;
      this.#context.onError(new Error(message));
      this.stop().catch(this.#context.onError);
    };
    const { lease } = this.#context;
    const { agentTunnel: tunnel } = this.#options;
    const context = this.#context;
    this.#running.start(() => runLeaseRenewal({ context, client, tunnel, onLost }));
    if (lease !== undefined) this.#running.start(() => runFence({ context, lease }));
  }

  async synced(signal: AbortSignal): Promise<void> {
    await this.#namespaces.synced(signal);
    await Promise.all([...this.#kinds.values()].map(({ view }) => view.synced(signal)));
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    this.#stopListening();
    this.#queue.shutDown();
    await Promise.all([...this.#kinds.values()].map((kind) => kind.stop()));
    await this.#running.join();
  }

  ended(): Promise<void> {
    return this.#running.join();
  }

  /**
   * The type loop: kinds start and end independently. Synced objects of a kind that ends stay
   * unchanged.
   */
  #updateKinds(): void {
    if (this.#stop.signal.aborted) return;
    const wanted = new Map(this.#resources.current.map((synced) => [idOf(synced), synced]));
    for (const [id, kind] of this.#kinds) {
      if (wanted.has(id) && isSame(kind.policy, this.#policyFor(kind.synced))) continue;
      this.#kinds.delete(id);
      kind.stop().catch(this.#context.onError);
    }
    for (const [id, synced] of wanted) {
      if (!this.#kinds.has(id)) this.#startKind(id, synced);
    }
    this.#updateEvents();
  }

  /** Events belong to Pods: they are synced up where Pods are. */
  #updateEvents(): void {
    const isWanted = [...this.#kinds.values()].some(isPods);
    if (!isWanted) this.#events?.stop.abort();
    if (!isWanted) this.#events = undefined;
    if (!isWanted || this.#events !== undefined) return;
    const stop = new AbortController();
    this.#events = { stop };
    onAbort(this.#stop.signal, () => stop.abort());
    const events = new EventSync({
      context: this.#context,
      namespaces: this.#namespaces,
      serves: (cluster) =>
        [...this.#kinds.values()].some((one) => isPods(one) && one.view.serves(cluster)),
      viewOf: (group, name) => this.#kindOf(group, name),
      signal: stop.signal,
    });
    this.#running.start(() => events.run());
  }

  #kindOf(group: string, name: string): KindOf | undefined {
    for (const { synced, policy, view } of this.#kinds.values()) {
      const { resource } = synced;
      if (resource.group === group && resource.kind === name) return { resource, policy, view };
    }
    return undefined;
  }

  #startKind(id: string, synced: SyncedResource): void {
    const kind = new KindSync({
      context: this.#context,
      synced,
      policy: this.#policyFor(synced),
      namespaces: this.#namespaces,
      upstreamInformers: this.#informers,
      sharedInformers: this.#sharedInformers,
      reporter: this.#reporter,
      jobs: () => this.#kindOf("batch", "Job")?.view,
      services: () => this.#kindOf("", "Service")?.view,
      onChange: (key) => this.#queue.add({ kind: id, key }),
    });
    this.#kinds.set(id, kind);
    this.#running.start(() => kind.run());
  }

  #policyFor({ resource }: SyncedResource): SyncRules {
    return policyFor(this.#policies.current, resource);
  }

  async #work(): Promise<void> {
    for (let item = await this.#queue.get(); item !== undefined; item = await this.#queue.get()) {
      try {
        await this.#sync(item);
      } catch (error) {
        if (!isRace(error) && !this.#stop.signal.aborted) this.#context.onError(error);
        this.#queue.addRateLimited(item);
        if (isUpstreamUnavailable(error)) this.#queue.addAfter(item, unavailableRetryMostMs);
      } finally {
        this.#queue.done(item);
      }
    }
  }

  async #sync(item: Item): Promise<void> {
    const kind = this.#kinds.get(item.kind);
    if (kind === undefined) return;
    if (!this.#namespaces.hasSynced) return this.#queue.addAfter(item, 1000);
    const { requeueAfterMs } = await kind.sync(item.key);
    this.#queue.forget(item);
    if (requeueAfterMs !== undefined) this.#queue.addAfter(item, requeueAfterMs);
  }
}

function leaseOf(
  { syncTargetClient, agentLeaseMs }: SyncerOptions,
  clock: Clock,
): Lease | undefined {
  return agentLeaseMs === undefined || syncTargetClient === undefined
    ? undefined
    : new Lease(clock, agentLeaseMs);
}

function upstreamClients({
  upstream,
  scope,
  target,
  shared,
}: SyncerOptions): SyncContext["upstreamIn"] {
  if (scope === "all-clusters") return remembered((cluster) => upstream.inCluster(cluster));
  return remembered((cluster) =>
    cluster === target.cluster || shared === undefined ? upstream : shared.inCluster(cluster),
  );
}

const clientsMax = 64;

/**
 * A client costs nothing to keep and microseconds to create, which every write would have to pay.
 */
function remembered(make: (cluster: ClusterName) => Client): (cluster: ClusterName) => Client {
  const clients = new Map<ClusterName, Client>();
  return (cluster) => {
    const known = clients.get(cluster);
    if (known !== undefined) return known;
    const client = make(cluster);
    if (clients.size >= clientsMax) clients.clear();
    clients.set(cluster, client);
    return client;
  };
}

function isPods({ synced: { resource }, policy }: KindSync): boolean {
  return resource.resource === "pods" && resource.group === "" && policy.direction !== "Down";
}

function isSame(one: SyncRules, other: SyncRules): boolean {
  return jsonEqual(one as unknown as JsonObject, other as unknown as JsonObject);
}

function kindName({ synced }: KindSync): string {
  return formatResource(synced.resource);
}
