/**
 * startSyncer: keeps one physical cluster in step with what is assigned to it upstream, given a client for either side. In the control plane's process
 * (Push), in a Pod of the cluster (Pull) or from a shell (None) it is the same.
 *
 * A lost connection freezes: nothing is written, nothing is deleted, and what was missed is made up for when it is back.
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
import { sharedTargetName, targetNameIn } from "../api/index.ts";
import type { SyncContext, SyncedResource } from "./context.ts";
import { DownstreamNamespaces } from "./downstream-namespaces.ts";
import { EventSync, type KindOf } from "./event-sync.ts";
import { runFence } from "./fence.ts";
import { runHeartbeat, targetConfirmation } from "./heartbeat.ts";
import { isRace, type KindHealth, KindSync } from "./kind-sync.ts";
import { Lease } from "./lease.ts";
import type { TargetIdentity } from "./origin.ts";
import { PodSecuritySetting } from "./pod-security.ts";
import { type KindPolicy, type Policies, policyFor } from "./policy.ts";
import { PolicySet } from "./policy-set.ts";
import { Reporter } from "./reporter.ts";
import { idOf, ResourceSet } from "./resource-set.ts";
import type { TunnelState } from "./tunnel-state.ts";
import { UpstreamInformers } from "./upstream-informers.ts";
import { isUpstreamUnavailable } from "./upstream-objects.ts";

export interface SyncerOptions {
  /** A logical cluster, or the server of all of them: see `scope`. */
  readonly upstream: Client;
  /** Whose objects are synced: those of all logical clusters, or of the one that `upstream` speaks to. */
  readonly scope: InformerScope;
  /**
   * The control plane as it is shown to who syncs to this SyncTarget; not one cluster of it. By it objects of other logical clusters are synced, of kinds that are
   * shared; nobody else's are if it is left out.
   */
  readonly shared?: Client | undefined;
  /** Logical clusters whose objects may go to this SyncTarget; only its own if left out. */
  readonly serves?: ((cluster: ClusterName) => boolean) | undefined;
  readonly downstream: Client;
  readonly target: TargetIdentity;
  readonly resources: ResourceSet | readonly SyncedResource[];
  readonly policies?: PolicySet | Policies | undefined;
  /** Shared among the syncers of a process; its own if left out. */
  readonly upstreamInformers?: UpstreamInformers | undefined;
  /** The logical cluster of the SyncTarget: it is looked at before anything is deleted, and told that the syncer lives. */
  readonly home?: Client | undefined;
  /**
   * Works in the cluster itself, so it can stop what may run once at most when the control plane is out of reach: so long after its last heartbeat that counted.
   * Needs a `home`.
   */
  readonly agentLeaseMs?: number | undefined;
  /** Of an agent: without it heartbeats come often, and say so. Needs a `home`. */
  readonly agentTunnel?: TunnelState | undefined;
  /** What proves that a namespace in the cluster was made by this syncer; `namespaceKeyBytes` of it. */
  readonly namespaceKey?: Uint8Array | undefined;
  /** What Pods of other logical clusters may do in the cluster; the baseline if left out. */
  readonly podSecurity?: PodSecuritySetting | undefined;
  /** Objects worked on at a time. */
  readonly workers?: number | undefined;
  readonly metrics?: MetricsRegistry | undefined;
  readonly onError?: ((error: unknown) => void) | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
}

export interface SyncerHealth {
  /** Why nothing is synced at all; undefined when it is. */
  readonly refused: string | undefined;
  readonly kinds: ReadonlyMap<string, KindHealth>;
  /** Objects that wait for their turn or are being worked on. */
  readonly pending: number;
  /** Objects that wait for a later time: after a failure, or to look again. */
  readonly delayed: number;
}

export interface Syncer {
  readonly target: TargetIdentity;
  readonly health: SyncerHealth;
  /** Whether an upstream object is assigned to the cluster or held for it, as far as it was seen. */
  holdsSomething(): boolean;
  /** Resolves when both sides of all kinds there are now have been seen whole. */
  synced(signal: AbortSignal): Promise<void>;
  /** Resolves when it was stopped, or refused; rejects when a part of it failed, which stops all of it. */
  ended(): Promise<void>;
  /** Resolves when no write of this syncer is under way any more. Idempotent. */
  stop(): Promise<void>;
}

interface Item {
  readonly kind: string;
  readonly key: ObjectKey;
}

const workersDefault = 8;
const retry = { firstMs: 50, mostMs: 300_000 };
/** What the control plane cannot do now says nothing about the object. */
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
    const { serves = (cluster) => cluster === target.cluster, home } = options;
    this.#context = {
      target,
      downstream,
      namespaceKey: options.namespaceKey,
      podSecurity: options.podSecurity ?? new PodSecuritySetting(),
      upstreamIn: upstreamClients(options),
      // Who is served without an offer knows it by its name.
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
      // One tenant's thousand objects do not stand before another's one.
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

  holdsSomething(): boolean {
    return [...this.#kinds.values()].some(({ view }) => view.holdsSomething);
  }

  start(): void {
    const { home: client, workers = workersDefault } = this.#options;
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
    this.#running.start(() => runHeartbeat({ context, client, tunnel, onLost }));
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

  /** The type loop: kinds start and end without the others noticing. What was synced of one that ends stays as it is. */
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

  /** Events belong to Pods: who brings those up wants to know what befell them. */
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

  #policyFor({ resource }: SyncedResource): KindPolicy {
    return policyFor(this.#policies.current, resource);
  }

  async #work(): Promise<void> {
    for (let item = await this.#queue.take(); item !== undefined; item = await this.#queue.take()) {
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
    const { againAfterMs } = await kind.sync(item.key);
    this.#queue.forget(item);
    if (againAfterMs !== undefined) this.#queue.addAfter(item, againAfterMs);
  }
}

function leaseOf({ home, agentLeaseMs }: SyncerOptions, clock: Clock): Lease | undefined {
  return agentLeaseMs === undefined || home === undefined
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

/** A client costs nothing to keep and microseconds to make, which every write would have to pay. */
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
  return resource.resource === "pods" && resource.group === "" && policy.direction !== "down";
}

function isSame(one: KindPolicy, other: KindPolicy): boolean {
  return jsonEqual(one as unknown as JsonObject, other as unknown as JsonObject);
}

function kindName({ synced }: KindSync): string {
  return formatResource(synced.resource);
}
