/**
 * The SyncTarget controller: connects to each physical cluster, probes its health, and writes the
 * status.
 *
 * One controller serves all logical clusters. The controller does not know which other controllers
 * work in the clusters: it hands connections to `Targets`, and runs the drain hooks there before it
 * removes the finalizer of a SyncTarget.
 */
import { createHash } from "node:crypto";
import { type Clock, type Random, systemClock, systemRandom } from "@kcp-ts/machinery/base";
import {
  addFinalizer,
  type Client,
  type Clusters,
  Controller,
  EventRecorder,
  findCondition,
  formatKey,
  hasFinalizer,
  isBeingDeleted,
  isConditionTrue,
  type KubernetesObject,
  type ObjectKey,
  type ObjectSource,
  type PermitsAddress,
  type ReconcileContext,
  type ReconcileResult,
  removeFinalizer,
  stringMember,
} from "@kcp-ts/sdk";
import type { AgentInstaller } from "../agent/index.ts";
import {
  acceptedLeaseSeconds,
  apiResourceImports,
  orphanAnnotation,
  registrationFieldManager,
  renewalOf,
  type SyncMode,
  type SyncTarget,
  type SyncTargetStatus,
  stopBeforeStartLabel,
  syncTargetFinalizer,
  syncTargets,
  targetConditions,
  writeSyncTargetStatus,
} from "../api/index.ts";
import { AgentInstallations } from "./agent-installations.ts";
import { AgentLivenessMonitor } from "./agent-liveness.ts";
import { type ConnectFunction, connectCluster } from "./connect-cluster.ts";
import { diagnose } from "./diagnose.ts";
import { Heartbeats } from "./heartbeats.ts";
import { describeHeldObject, heldObjects } from "./held-objects.ts";
import { readKubeconfig, type Unseal } from "./kubeconfig-source.ts";
import { type Problem, problem } from "./problem.ts";
import { statusEvents } from "./status-events.ts";
import { SyncerLeases } from "./syncer-leases.ts";
import { type LinkReport, type LinkSettings, linkDefaults, TargetLink } from "./target-link.ts";
import {
  type AgentObservation,
  isStatusCurrent,
  type Observation,
  type StatusOptions,
  targetStatus,
} from "./target-status.ts";
import type { TargetConnection, Targets } from "./targets.ts";
import { TenantShares } from "./tenant-share.ts";

export interface TargetControllerOptions {
  readonly clusters: Clusters;
  readonly targets: Targets;
  /** The resources to sync when a SyncTarget does not list any. */
  readonly resources: readonly string[];
  readonly unseal?: Unseal | undefined;
  /** How long a SyncTarget that is being deleted waits for a lost cluster. */
  readonly drainTimeoutMs?: number | undefined;
  readonly settings?: Partial<LinkSettings> | undefined;
  /** Whether the address in a kubeconfig may be connected to; all addresses if omitted. */
  readonly isAddressAllowed?: PermitsAddress | undefined;
  /** The connections to physical clusters, of all logical clusters together. */
  readonly connectionsMax?: number | undefined;
  readonly connect?: ConnectFunction | undefined;
  /** Installs agents; without it, users apply the output of `kubectl kcp workload sync`. */
  readonly installer?: AgentInstaller | undefined;
  /**
   * Whether a server process that held an agent's tunnel is alive; every server counts as alive if
   * omitted.
   */
  readonly isServerAlive?: IsServerAlive | undefined;
  /**
   * The conditions that this process writes for clusters without an agent: the importer's, the
   * syncer's. A cluster is not Ready before they are known.
   */
  readonly awaitedConditions?: readonly string[] | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly onError?: ((error: unknown, key?: ObjectKey) => void) | undefined;
}

/** `server` is the server's name in AgentPresence. */
export type IsServerAlive = (server: string, signal: AbortSignal) => Promise<boolean>;

export const drainTimeoutMsDefault = 300_000;
const drainPollMs = 2000;
const drainPollMsMax = 30_000;
/** A reconcile writes a status or reads a Secret; slow operations run in the background. */
const concurrency = 8;

interface OpenLink {
  readonly link: TargetLink;
  readonly digest: string;
  /** The generation of the SyncTarget that the cluster was last probed for. */
  generation: number | undefined;
  /** When the kubeconfig was last read. */
  readAtMs: number;
}

/** An agent to observe, with the connection to its cluster if there is one. */
interface AgentObservationRequest {
  readonly waitMs: number;
  readonly report?: LinkReport;
  readonly signal: AbortSignal;
}

export class TargetController {
  readonly controller: Controller;
  readonly #options: TargetControllerOptions;
  readonly #clock: Clock;
  readonly #source: ObjectSource<SyncTarget>;
  readonly #events: EventRecorder;
  readonly #links = new Map<string, OpenLink>();
  readonly #shares: TenantShares;
  readonly #agents: AgentInstallations;
  readonly #leases: SyncerLeases;
  readonly #heartbeats: Heartbeats;
  readonly #silence: AgentLivenessMonitor;
  /** The names of SyncTargets, by workspace and identity of their cluster. */
  readonly #byClusterID = new Map<string, Set<string>>();
  /** Whether the server of an agent's tunnel was alive when last checked. */
  readonly #isServerThere = new Map<string, boolean>();
  /**
   * The uid of a SyncTarget whose connection ended for its deletion. It is not opened again, when
   * what follows has to be tried again or when the store is behind: the controllers of the cluster
   * would start over with objects that were released.
   */
  readonly #ended = new Map<string, string>();

  constructor(options: TargetControllerOptions) {
    const { clusters, onError } = options;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#source = clusters.source(syncTargets);
    this.#shares = new TenantShares(this.#clock, options.connectionsMax);
    this.#leases = new SyncerLeases({ clusters, onChange: (key) => this.#onLease(key) });
    this.#heartbeats = new Heartbeats(this.#clock);
    this.#silence = new AgentLivenessMonitor({
      clock: this.#clock,
      onExpired: (key) => this.controller.enqueue(key),
    });
    this.#agents = new AgentInstallations({ installer: options.installer, clock: this.#clock });
    this.#events = new EventRecorder({
      component: registrationFieldManager,
      client: (cluster) => clusters.client(cluster),
      clock: this.#clock,
      ...(onError === undefined ? {} : { onError: (error) => onError(error) }),
    });
    this.controller = new Controller({
      name: "synctargets",
      clusters,
      concurrency,
      reconcile: (key, context) => this.#reconcile(key, context),
      clock: this.#clock,
      ...(onError === undefined ? {} : { onError }),
    }).watch(syncTargets);
    this.#source.addHandler({
      added: ({ status }, { key }) => this.#indexClusterID(key, undefined, status?.clusterID),
      updated: ({ status }, { key, previous }) =>
        this.#indexClusterID(key, previous.status?.clusterID, status?.clusterID),
      deleted: ({ status }, { key }) => this.#indexClusterID(key, status?.clusterID, undefined),
    });
  }

  /** Called after the controller has ended. */
  async close(): Promise<void> {
    this.#silence.close();
    const open = [...this.#links.keys()];
    await Promise.all(open.map((key) => this.#close(key)));
    await this.#events.flush();
  }

  async #reconcile(key: ObjectKey, context: ReconcileContext): Promise<ReconcileResult> {
    const target = this.#source.store.get(key);
    if (target === undefined) return await this.#whenAbsent(key, context);
    if (isBeingDeleted(target)) return await this.#finalize(key, target, context);
    if (!hasFinalizer(target, syncTargetFinalizer)) {
      // The finalizer is set before the first connection: other controllers clean up the cluster
      // before the SyncTarget is deleted.
      const resource = context.client.resource(syncTargets);
      await addFinalizer({
        resource,
        object: target,
        finalizer: syncTargetFinalizer,
        signal: context.signal,
      });
      return undefined;
    }
    await this.#leases.ensure(context.client, key, target, context.signal);
    const { observation, waitMs } = await this.#observe(key, target, context);
    await this.#report(key, target, observation, context);
    return { requeueAfterMs: waitMs };
  }

  /**
   * A store that is filled again from a server that is behind lacks a SyncTarget for a while: the
   * connection ends when the server says, too, that the SyncTarget is gone.
   */
  async #whenAbsent(key: ObjectKey, context: ReconcileContext): Promise<ReconcileResult> {
    const id = formatKey(key);
    const { uid } = this.#links.get(id)?.link.connection ?? {};
    if (uid !== undefined && (await isThere(key, uid, context)))
      return { requeueAfterMs: this.#settings.probeMs };
    await this.#forget(id);
    return undefined;
  }

  /** A renewal that changes nothing about the status causes no reconcile. */
  #onLease(key: ObjectKey): void {
    const target = this.#source.store.get(key);
    if (target === undefined) return;
    const lease = this.#leases.of(key, target);
    if (lease !== undefined && modeOf(target) === "Push") return;
    if (lease !== undefined) {
      const observation = this.#agentObservation(key, target);
      const shown = findCondition(target.status?.conditions, targetConditions.ready)?.message;
      const terminating = isBeingDeleted(target) ? shown : undefined;
      const options = this.#statusOptions(key, target, terminating);
      const status = targetStatus(target, observation, this.#clock.now(), options);
      const isAccepted = acceptedLeaseSeconds(lease) === acceptableSeconds(status);
      if (isAccepted && isStatusCurrent(target, status)) return;
    }
    this.controller.enqueue(key);
  }

  async #observe(
    key: ObjectKey,
    target: SyncTarget,
    { client, signal }: Pick<ReconcileContext, "client" | "signal">,
  ): Promise<{ readonly observation: Observation; readonly waitMs: number }> {
    const { unseal } = this.#options;
    const mode = modeOf(target);
    const id = formatKey(key);
    if (mode === "Pull") await this.#agents.ensureAccount(client, target, id, signal);
    const { probeMs, inventoryMs } = this.#settings;
    const known = this.#links.get(id);
    const isFresh =
      known?.generation === target.metadata.generation &&
      known?.link.report.problem === undefined &&
      this.#clock.monotonic() - (known?.readAtMs ?? Number.NEGATIVE_INFINITY) < inventoryMs;
    const text = isFresh ? known : await readKubeconfig(target, { key, client, unseal, signal });
    if (text === undefined) {
      await this.#close(formatKey(key));
      if (mode !== "Push")
        return await this.#observeAgent(key, target, { waitMs: probeMs, signal });
      const message =
        "there is no kubeconfig: set spec.kubeconfig or spec.kubeconfigSecretRef, or let an agent connect with spec.mode Pull";
      return broken(problem("InvalidKubeConfig", message), probeMs);
    }
    const open =
      typeof text === "string" ? await this.#open(key, target, text, { client, signal }) : text;
    if (!("link" in open)) {
      await this.#close(formatKey(key));
      return broken(open, probeMs);
    }
    const { generation } = target.metadata;
    if (open.generation !== generation) open.link.reviewAgain();
    open.generation = generation;
    if (!isFresh) open.readAtMs = this.#clock.monotonic();
    const waitMs = open.link.tick();
    const { report } = open.link;
    if (mode !== "Push") return await this.#observeAgent(key, target, { waitMs, report, signal });
    return { observation: { kind: "link", report }, waitMs };
  }

  /**
   * A connection to the cluster is used only for the installation: the agent reports its health
   * itself.
   */
  async #observeAgent(
    key: ObjectKey,
    target: SyncTarget,
    { waitMs, report, signal }: AgentObservationRequest,
  ): Promise<{ readonly observation: Observation; readonly waitMs: number }> {
    const id = formatKey(key);
    const { server } = target.status?.tunnel ?? {};
    const isServerThere =
      server === undefined || ((await this.#options.isServerAlive?.(server, signal)) ?? true);
    this.#isServerThere.set(id, isServerThere);
    const observation = this.#agentObservation(key, target, report);
    const { heartbeat } = observation;
    const { inventoryMs } = this.#settings;
    const durationMs = heartbeat?.renewal.durationMs ?? inventoryMs;
    const often = Math.min(waitMs, inventoryMs, durationMs / 4);
    // Requeued for exactly this time, not for the next probe: the withdrawal of endpoints depends
    // on it.
    const lateInMs = heartbeat === undefined ? 0 : durationMs - heartbeat.silentMs + 1;
    return { observation, waitMs: lateInMs > 0 ? Math.min(often, lateInMs) : often };
  }

  #agentObservation(
    key: ObjectKey,
    target: SyncTarget,
    report = this.#links.get(formatKey(key))?.link.report,
  ): AgentObservation {
    const id = formatKey(key);
    const renewal = renewalOf(this.#leases.of(key, target));
    const heartbeat = this.#heartbeats.observe(id, renewal);
    const isServerThere = this.#isServerThere.get(id) ?? true;
    const liveness = this.#silence.observe(key, target, { renewal, isServerThere });
    const { problem: found } = report ?? {};
    const failed = found && ({ state: "failed", message: found.message } as const);
    return { kind: "agent", heartbeat, agent: this.#agents.stateOf(id) ?? failed, liveness };
  }

  /** The link for this kubeconfig: another kubeconfig or another mode gets another link. */
  async #open(
    key: ObjectKey,
    target: SyncTarget,
    text: string,
    context: Pick<ReconcileContext, "client" | "signal">,
  ): Promise<OpenLink | Problem> {
    const id = formatKey(key);
    const uid = target.metadata.uid ?? "";
    const mode = modeOf(target);
    const digest = createHash("sha256").update(`${uid}\n${mode}\n${text}`).digest("hex");
    const known = this.#links.get(id);
    if (known?.digest === digest) return known;
    await this.#close(id);
    if (this.#ended.get(id) === uid || !(await isThere(key, uid, context)))
      throw new Error(`the store shows SyncTarget ${key.name} as it was before its deletion`);
    const connection = connectCluster(text, {
      clock: this.#clock,
      cluster: key.cluster,
      shares: this.#shares,
      isAddressAllowed: this.#options.isAddressAllowed,
      connect: this.#options.connect,
    });
    if ("reason" in connection) return connection;
    const { clock, targets, random = systemRandom } = { ...this.#options, clock: this.#clock };
    const worker = mode === "Push" ? "here" : "agent";
    const link = new TargetLink({
      connection,
      target: { cluster: key.cluster, name: key.name, uid, worker },
      resources: () => (mode === "Push" ? this.#resourcesOf(key) : []),
      settings: this.#settings,
      clock,
      random,
      onChange: () => this.controller.enqueue(key),
      onConnected: (made) => targets.add(made),
      ...(mode === "Pull"
        ? { onInventory: (made) => this.#install(key, made, context.client) }
        : {}),
    });
    const { generation } = target.metadata;
    const open = { link, digest, generation, readAtMs: this.#clock.monotonic() };
    this.#links.set(id, open);
    return open;
  }

  async #install(key: ObjectKey, connection: TargetConnection, upstream: Client): Promise<void> {
    const target = this.#source.store.get(key);
    if (target === undefined || isBeingDeleted(target)) return;
    await this.#agents.install(connection, target, upstream, this.#resourcesOf(key));
  }

  #resourcesOf(key: ObjectKey): readonly string[] {
    return this.#source.store.get(key)?.spec?.resources ?? this.#options.resources;
  }

  async #finalize(
    key: ObjectKey,
    target: SyncTarget,
    context: ReconcileContext,
  ): Promise<ReconcileResult> {
    const { client, signal } = context;
    const id = formatKey(key);
    if (!hasFinalizer(target, syncTargetFinalizer)) {
      await this.#forget(id);
      return undefined;
    }
    const { annotations, uid = "" } = target.metadata;
    if (!this.#links.has(id) && !(await isThere(key, uid, context))) {
      await this.#forget(id);
      return undefined;
    }
    const isOrphaned = stringMember(annotations, orphanAnnotation) === "true";
    if (!isOrphaned && this.#ended.get(id) !== uid) {
      const { observation } = await this.#observe(key, target, context);
      const blocked = await this.#empty(key, target, context);
      if (blocked !== undefined) {
        const terminating = `${blocked}; to leave it there: kubectl annotate synctarget ${key.name} ${orphanAnnotation}=true`;
        const status = await this.#report(key, target, observation, context, terminating);
        if (!(await this.#isGivenUp(key, target, status, context)))
          return { requeueAfterMs: this.#deletionPollMs(target) };
        this.#tellOrphaned(key, target);
      }
    }
    this.#ended.set(id, uid);
    await this.#close(id);
    const held = heldObjects({ client, target, cluster: key.cluster, signal });
    for await (const original of held) await original.release();
    await this.#agents.revoke(client, target, signal);
    await this.#removeImports(key, target, client, signal);
    await this.#leases.remove(client, key, target, signal);
    const resource = client.resource(syncTargets);
    await removeFinalizer({ resource, object: target, finalizer: syncTargetFinalizer, signal });
    return undefined;
  }

  /** Undefined when no synced object is left in the cluster, else the remaining work. */
  async #empty(
    key: ObjectKey,
    target: SyncTarget,
    { client, signal }: ReconcileContext,
  ): Promise<string | undefined> {
    const { targets } = this.#options;
    const connection = targets.get(key);
    const { cluster } = key;
    const state = await targets.drain(target, { cluster, connection, signal });
    if (state === "pending") return "what was synced to the cluster is being removed from it";
    const leftover = await describeHeldObject({ client, target, cluster, signal });
    if (leftover !== undefined) return `${leftover} is still in the cluster`;
    try {
      await this.#agents.uninstall(target, connection, signal);
      return undefined;
    } catch (error) {
      return `the agent could not be removed from the cluster: ${diagnose(error).message}`;
    }
  }

  /**
   * A cluster that answers is waited for as long as it takes. A lost one is not, by the times on
   * the SyncTarget, unless it may still run a workload of which no second one may start.
   */
  async #isGivenUp(
    { cluster }: ObjectKey,
    { metadata, ...rest }: SyncTarget,
    { conditions }: SyncTargetStatus,
    { client, signal }: ReconcileContext,
  ): Promise<boolean> {
    const { drainTimeoutMs = drainTimeoutMsDefault } = this.#options;
    const healthy = findCondition(conditions, targetConditions.heartbeatHealthy);
    if (healthy === undefined || healthy.status === "True") return false;
    const times = [metadata.deletionTimestamp, healthy.lastTransitionTime];
    const sinceMs = Math.max(...times.map((time) => Date.parse(time ?? "") || 0));
    if (this.#clock.now() - sinceMs < drainTimeoutMs) return false;
    const isRunningOnce = ({ metadata: { labels, deletionTimestamp } }: KubernetesObject) =>
      deletionTimestamp === undefined && stringMember(labels, stopBeforeStartLabel) === "true";
    const held = { client, target: { metadata, ...rest }, cluster, signal };
    return (await describeHeldObject(held, isRunningOnce)) === undefined;
  }

  /** A deletion that takes long is looked at less often. */
  #deletionPollMs({ metadata }: SyncTarget): number {
    const { drainTimeoutMs = drainTimeoutMsDefault } = this.#options;
    const sinceMs = this.#clock.now() - Date.parse(metadata.deletionTimestamp ?? "");
    return Math.min(Math.max(drainPollMs, sinceMs / 10), drainPollMsMax, drainTimeoutMs);
  }

  #tellOrphaned({ cluster }: ObjectKey, target: SyncTarget): void {
    this.#events.record(cluster, target, {
      type: "Warning",
      reason: "Orphaned",
      message: "the cluster is lost and was not emptied in time: what was synced to it stays there",
    });
  }

  /**
   * The garbage collector would delete the imports, too, but other controllers must see the cluster
   * leave before its SyncTarget is deleted.
   */
  async #removeImports(
    { name: location }: ObjectKey,
    target: SyncTarget,
    client: Client,
    signal: AbortSignal,
  ): Promise<void> {
    const imports = client.resource(apiResourceImports);
    for await (const page of imports.pages({ signal })) {
      for (const one of page.items) {
        const { metadata, spec } = one;
        const isOwn = metadata.ownerReferences?.some(({ uid }) => uid === target.metadata.uid);
        if (spec.location === location && isOwn === true)
          await imports.sameObject(one).remove({ signal });
      }
    }
  }

  async #report(
    { cluster, name }: ObjectKey,
    target: SyncTarget,
    observation: Observation,
    { client, signal }: ReconcileContext,
    terminating?: string,
  ): Promise<SyncTargetStatus> {
    const key = { cluster, namespace: "", name };
    const options = this.#statusOptions(key, target, terminating);
    const status = targetStatus(target, observation, this.#clock.now(), options);
    // A Lease is accepted after the status says that the agent is well, and no longer before the
    // status says that it is not: an agent whose renewal is accepted is not replaced.
    const lease = this.#leases.of(key, target);
    const seconds = acceptableSeconds(status);
    if (lease !== undefined && seconds === undefined)
      await this.#leases.accept(client, lease, undefined, signal);
    if (!isStatusCurrent(target, status)) {
      const writer = modeOf(target) === "Push" ? "registrationInPushMode" : "registration";
      await writeSyncTargetStatus({ client, target, signal }, writer, status);
      for (const event of statusEvents(name, target.status?.conditions, status.conditions))
        this.#events.record(cluster, target, event);
    }
    if (lease !== undefined && seconds !== undefined)
      await this.#leases.accept(client, lease, seconds, signal);
    return status;
  }

  #statusOptions(key: ObjectKey, target: SyncTarget, terminating?: string): StatusOptions {
    const sameCluster = this.#sameCluster(key, target);
    return { awaited: this.#awaitedOf(target), terminating, sameCluster };
  }

  /**
   * Other SyncTargets of the same cluster in the same workspace. A cluster says itself who it is,
   * so it says nothing about SyncTargets of other workspaces.
   */
  #sameCluster(key: ObjectKey, { status }: SyncTarget): readonly string[] {
    const id = this.#links.get(formatKey(key))?.link.report.clusterID ?? status?.clusterID;
    const names = this.#byClusterID.get(clusterKey(key, id)) ?? [];
    return [...names].filter((name) => name !== key.name).map((name) => `SyncTarget ${name}`);
  }

  /** Keeps the index by clusterID, and reconciles the SyncTargets of a cluster that change. */
  #indexClusterID(key: ObjectKey, before: string | undefined, now: string | undefined): void {
    if (before === now) return;
    const [old, current] = [clusterKey(key, before), clusterKey(key, now)];
    const left = this.#byClusterID.get(old);
    left?.delete(key.name);
    if (left?.size === 0) this.#byClusterID.delete(old);
    if (now !== undefined)
      this.#byClusterID.set(current, (this.#byClusterID.get(current) ?? new Set()).add(key.name));
    for (const one of [old, current])
      for (const name of this.#byClusterID.get(one) ?? [])
        this.controller.enqueue({ ...key, name });
  }

  /** An agent imports and syncs; a syncer that a user runs by hand may do neither. */
  #awaitedOf(target: SyncTarget): readonly string[] {
    const mode = modeOf(target);
    if (mode === "Pull") return [targetConditions.apiImporterReady, targetConditions.syncerReady];
    return mode === "Push" ? (this.#options.awaitedConditions ?? []) : [];
  }

  async #forget(id: string): Promise<void> {
    this.#heartbeats.forget(id);
    this.#silence.forget(id);
    this.#isServerThere.delete(id);
    this.#agents.forget(id);
    this.#ended.delete(id);
    await this.#close(id);
  }

  async #close(id: string): Promise<void> {
    const open = this.#links.get(id);
    if (open === undefined) return;
    this.#links.delete(id);
    this.#options.targets.remove(open.link.connection);
    await open.link.close();
  }

  get #settings(): LinkSettings {
    return { ...linkDefaults, ...this.#options.settings };
  }
}

/** Asks the server: the store may be older than a deletion that this controller has seen. */
async function isThere(
  { name }: ObjectKey,
  uid: string,
  { client, signal }: Pick<ReconcileContext, "client" | "signal">,
): Promise<boolean> {
  const found = await client.resource(syncTargets).find({ name }, { signal });
  return found?.metadata.uid === uid;
}

function clusterKey({ cluster }: ObjectKey, clusterID: string | undefined): string {
  return `${cluster}|${clusterID ?? ""}`;
}

function modeOf({ spec }: SyncTarget): SyncMode {
  return spec?.mode ?? "Push";
}

/** The duration for which renewals of the agent's Lease count; undefined while they do not. */
function acceptableSeconds({ conditions, leaseDurationSeconds }: SyncTargetStatus) {
  const isWell = isConditionTrue(conditions, targetConditions.heartbeatHealthy);
  return isWell ? leaseDurationSeconds : undefined;
}

function broken(found: Problem, waitMs: number) {
  return { observation: { kind: "problem", problem: found } as const, waitMs };
}
