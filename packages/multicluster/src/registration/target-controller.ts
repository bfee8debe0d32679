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
  formatKey,
  hasFinalizer,
  isBeingDeleted,
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
  apiResourceImports,
  orphanAnnotation,
  registrationFieldManager,
  type SyncMode,
  type SyncTarget,
  syncTargetFinalizer,
  syncTargets,
} from "../api/index.ts";
import { AgentInstallations } from "./agent-installations.ts";
import { AgentLivenessMonitor } from "./agent-liveness.ts";
import { connectCluster } from "./connect-cluster.ts";
import { diagnose } from "./diagnose.ts";
import { Heartbeats, heartbeatTimeoutMsOf } from "./heartbeats.ts";
import { describeHeldObject, heldObjectResources, heldObjects } from "./held-objects.ts";
import { readKubeconfig, type Unseal } from "./kubeconfig-source.ts";
import { type Problem, problem } from "./problem.ts";
import { statusEvents } from "./status-events.ts";
import { type LinkReport, type LinkSettings, linkDefaults, TargetLink } from "./target-link.ts";
import { isStatusCurrent, type Observation, targetStatus } from "./target-status.ts";
import type { TargetConnection, Targets } from "./targets.ts";
import { TenantShares } from "./tenant-share.ts";

export interface TargetControllerOptions {
  readonly clusters: Clusters;
  readonly targets: Targets;
  /** The resources to sync when a SyncTarget does not list any. */
  readonly resources: readonly string[];
  readonly unseal?: Unseal | undefined;
  /** How long a drain may take before the SyncTarget is deleted regardless. */
  readonly drainTimeoutMs?: number | undefined;
  readonly settings?: Partial<LinkSettings> | undefined;
  /** Whether the address in a kubeconfig may be connected to; all addresses if omitted. */
  readonly isAddressAllowed?: PermitsAddress | undefined;
  /** The connections to physical clusters, of all logical clusters together. */
  readonly connectionsMax?: number | undefined;
  /** Installs agents; without it, users apply the output of `kubectl kcp workload sync`. */
  readonly installer?: AgentInstaller | undefined;
  /**
   * Whether a server process that held an agent's tunnel is alive; every server counts as alive if
   * omitted.
   */
  readonly isServerAlive?: IsServerAlive | undefined;
  /** Whether this process imports APIs: a cluster is not Ready before its first import. */
  readonly awaitsImport?: boolean | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly onError?: ((error: unknown, key?: ObjectKey) => void) | undefined;
}

/** `server` is the server's name in AgentPresence. */
export type IsServerAlive = (server: string, signal: AbortSignal) => Promise<boolean>;

export const drainTimeoutMsDefault = 300_000;
const drainPollMs = 2000;
/** A reconcile writes a status or reads a Secret; slow operations run in the background. */
const concurrency = 8;

interface OpenLink {
  readonly link: TargetLink;
  readonly digest: string;
  /** The generation of the SyncTarget that the cluster was last probed for. */
  generation: number | undefined;
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
  readonly #heartbeats: Heartbeats;
  readonly #silence: AgentLivenessMonitor;
  /** The time since which each SyncTarget is being deleted, as observed by this process. */
  readonly #leavingSinceMs = new Map<string, number>();

  constructor(options: TargetControllerOptions) {
    const { clusters, onError } = options;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#source = clusters.source(syncTargets);
    this.#shares = new TenantShares(this.#clock, options.connectionsMax);
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
    if (target === undefined) {
      await this.#forget(formatKey(key));
      return undefined;
    }
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
    const { observation, waitMs } = await this.#observe(key, target, context);
    await this.#report(key, target, observation, context);
    return { requeueAfterMs: waitMs };
  }

  async #observe(
    key: ObjectKey,
    target: SyncTarget,
    { client, signal }: Pick<ReconcileContext, "client" | "signal">,
  ): Promise<{ readonly observation: Observation; readonly waitMs: number }> {
    const { unseal } = this.#options;
    const mode = modeOf(target);
    if (mode === "Pull") await this.#agents.ensureAccount(client, target, signal);
    const text = await readKubeconfig(target, { key, client, unseal, signal });
    const { probeMs } = this.#settings;
    if (text === undefined) {
      await this.#close(formatKey(key));
      if (mode !== "Push")
        return await this.#observeAgent(key, target, { waitMs: probeMs, signal });
      const message =
        "there is no kubeconfig: set spec.kubeconfig or spec.kubeconfigSecretRef, or let an agent connect with spec.mode Pull";
      return broken(problem("InvalidKubeConfig", message), probeMs);
    }
    const open = typeof text === "string" ? await this.#open(key, target, text, client) : text;
    if (!("link" in open)) {
      await this.#close(formatKey(key));
      return broken(open, probeMs);
    }
    const { generation } = target.metadata;
    if (open.generation !== generation) open.link.reviewAgain();
    open.generation = generation;
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
    const heartbeat = this.#heartbeats.observe(id, target.status ?? {});
    const { problem } = report ?? {};
    const failed = problem && ({ state: "failed", message: problem.message } as const);
    const agent = this.#agents.stateOf(id) ?? failed;
    const liveness = this.#silence.observe(key, target, isServerThere);
    const observation = { kind: "agent" as const, heartbeat, agent, liveness };
    const { inventoryMs } = this.#settings;
    const often = Math.min(waitMs, inventoryMs, heartbeatTimeoutMsOf(target.status) / 4);
    // Requeued for exactly this time, not for the next probe: the withdrawal of endpoints depends
    // on it.
    const lateInMs = heartbeat === undefined ? 0 : heartbeat.lateMs - heartbeat.silentMs + 1;
    return { observation, waitMs: lateInMs > 0 ? Math.min(often, lateInMs) : often };
  }

  /** The link for this kubeconfig: another kubeconfig or another mode gets another link. */
  async #open(
    key: ObjectKey,
    target: SyncTarget,
    text: string,
    upstream: Client,
  ): Promise<OpenLink | Problem> {
    const id = formatKey(key);
    const uid = target.metadata.uid ?? "";
    const mode = modeOf(target);
    const digest = createHash("sha256").update(`${uid}\n${mode}\n${text}`).digest("hex");
    const known = this.#links.get(id);
    if (known?.digest === digest) return known;
    await this.#close(id);
    const connection = connectCluster(text, {
      clock: this.#clock,
      cluster: key.cluster,
      shares: this.#shares,
      isAddressAllowed: this.#options.isAddressAllowed,
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
      ...(mode === "Pull" ? { onInventory: (made) => this.#install(key, made, upstream) } : {}),
    });
    const open = { link, digest, generation: target.metadata.generation };
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
    const { drainTimeoutMs = drainTimeoutMsDefault } = this.#options;
    if (stringMember(target.metadata.annotations, orphanAnnotation) !== "true") {
      const nowMs = this.#clock.monotonic();
      const sinceMs = this.#leavingSinceMs.get(id) ?? nowMs;
      this.#leavingSinceMs.set(id, sinceMs);
      const isGivenUp = nowMs - sinceMs >= drainTimeoutMs;
      const blocked = isGivenUp ? undefined : await this.#empty(key, target, context);
      if (blocked !== undefined) {
        const message = `${blocked}; to leave it there: kubectl annotate synctarget ${key.name} ${orphanAnnotation}=true`;
        await this.#report(key, target, { kind: "draining", message }, context);
        return { requeueAfterMs: Math.min(drainPollMs, drainTimeoutMs) };
      }
      if (isGivenUp) this.#tellOrphaned(key, target, drainTimeoutMs);
    }
    // The connection ends here: a released object is not synced again.
    await this.#close(id);
    const held = heldObjects(this.#held(key, target, client, signal));
    for await (const original of held) await original.release();
    await this.#agents.revoke(client, target, signal);
    await this.#removeImports(key, target, client, signal);
    const resource = client.resource(syncTargets);
    await removeFinalizer({ resource, object: target, finalizer: syncTargetFinalizer, signal });
    return undefined;
  }

  /** Undefined when no synced object is left in the cluster, else the remaining work. */
  async #empty(
    key: ObjectKey,
    target: SyncTarget,
    context: ReconcileContext,
  ): Promise<string | undefined> {
    const { client, signal } = context;
    const { targets } = this.#options;
    await this.#observe(key, target, context);
    const connection = targets.get(key);
    const { cluster } = key;
    const state = await targets.drain(target, { cluster, connection, signal });
    if (state === "pending") return "what was synced to the cluster is being removed from it";
    const leftover = await describeHeldObject(this.#held(key, target, client, signal));
    if (leftover !== undefined) return `${leftover} is still in the cluster`;
    try {
      await this.#agents.uninstall(target, connection, signal);
      return undefined;
    } catch (error) {
      return `the agent could not be removed from the cluster: ${diagnose(error).message}`;
    }
  }

  #held({ cluster }: ObjectKey, target: SyncTarget, client: Client, signal: AbortSignal) {
    const { resources } = this.#options;
    return heldObjectResources(client, target, cluster, { resources, signal });
  }

  #tellOrphaned({ cluster }: ObjectKey, target: SyncTarget, drainTimeoutMs: number): void {
    this.#events.record(cluster, target, {
      type: "Warning",
      reason: "Orphaned",
      message: `the cluster was not emptied within ${drainTimeoutMs / 1000} s: what was synced to it stays there`,
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
  ): Promise<void> {
    const { awaitsImport } = this.#options;
    const status = targetStatus(target, observation, this.#clock.now(), { awaitsImport });
    if (isStatusCurrent(target, status)) return;
    const options = { fieldManager: registrationFieldManager, force: true, signal };
    await client.resource(syncTargets).sameObject(target).applyStatusFields(status, options);
    for (const event of statusEvents(name, target.status?.conditions, status.conditions))
      this.#events.record(cluster, target, event);
  }

  async #forget(id: string): Promise<void> {
    this.#heartbeats.forget(id);
    this.#silence.forget(id);
    this.#agents.forget(id);
    this.#leavingSinceMs.delete(id);
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

function modeOf({ spec }: SyncTarget): SyncMode {
  return spec?.mode ?? "Push";
}

function broken(found: Problem, waitMs: number) {
  return { observation: { kind: "problem", problem: found } as const, waitMs };
}
