/**
 * The controller of SyncTargets: connects to each physical cluster, keeps asking how it does, and says so in the status.
 *
 * One for all logical clusters. It knows nothing of what others do in the clusters: it hands connections to `Targets`, and asks there before
 * it lets a SyncTarget go.
 */
import { createHash } from "node:crypto";
import { type Clock, type Random, systemClock, systemRandom } from "@kcp-ts/machinery/base";
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import {
  addFinalizer,
  Client,
  type Clusters,
  type Connection,
  Controller,
  connect,
  EventRecorder,
  findCondition,
  formatKey,
  hasFinalizer,
  isBeingDeleted,
  KubeconfigError,
  type ObjectKey,
  type ObjectSource,
  type PermitsAddress,
  type ReconcileContext,
  type ReconcileResult,
  removeFinalizer,
  stringMember,
} from "@kcp-ts/sdk";
import {
  apiResourceImports,
  orphanAnnotation,
  registrationFieldManager,
  type SyncTarget,
  syncTargetFinalizer,
  syncTargets,
  targetConditions,
} from "../api/index.ts";
import { boundedTransport } from "./bounded-transport.ts";
import { checkKubeconfig, isProblem } from "./check-kubeconfig.ts";
import { type OpenSealed, readKubeconfig } from "./kubeconfig-source.ts";
import { type LinkSettings, linkDefaults, TargetLink } from "./target-link.ts";
import { heartbeatMaxAgeMs, type Observation, targetStatus } from "./target-status.ts";
import type { Targets } from "./targets.ts";
import { type Problem, problem } from "./verdict.ts";

export interface TargetControllerOptions {
  readonly clusters: Clusters;
  readonly targets: Targets;
  /** What is synced where a SyncTarget does not say. */
  readonly resources: readonly string[];
  readonly openSealed?: OpenSealed | undefined;
  /** How long a cluster may take to be emptied before its SyncTarget goes all the same. */
  readonly drainTimeoutMs?: number | undefined;
  readonly settings?: Partial<LinkSettings> | undefined;
  /** Whether an address that a kubeconfig leads to may be connected to; all may if left out. */
  readonly permits?: PermitsAddress | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  readonly onError?: ((error: unknown, key?: ObjectKey) => void) | undefined;
}

export const drainTimeoutMsDefault = 300_000;
const drainPollMs = 2000;
/** Statuses are written and Secrets read; what takes time is done beside. */
const concurrency = 8;

interface OpenLink {
  readonly link: TargetLink;
  readonly digest: string;
}

export class TargetController {
  readonly controller: Controller;
  readonly #options: TargetControllerOptions;
  readonly #clock: Clock;
  readonly #source: ObjectSource<SyncTarget>;
  readonly #events: EventRecorder;
  readonly #links = new Map<string, OpenLink>();

  constructor(options: TargetControllerOptions) {
    const { clusters, onError } = options;
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#source = clusters.source(syncTargets);
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

  /** After the controller has ended. */
  async close(): Promise<void> {
    const open = [...this.#links.keys()];
    await Promise.all(open.map((key) => this.#close(key)));
    await this.#events.flush();
  }

  async #reconcile(key: ObjectKey, context: ReconcileContext): Promise<ReconcileResult> {
    const target = this.#source.store.get(key);
    if (target === undefined) {
      await this.#close(formatKey(key));
      return undefined;
    }
    if (isBeingDeleted(target)) return await this.#finalize(key, target, context);
    if (!hasFinalizer(target, syncTargetFinalizer)) {
      // Before the first connection: what others do in the cluster is undone before the SyncTarget goes.
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
    const { openSealed } = this.#options;
    const text = await readKubeconfig(target, { key, client, openSealed, signal });
    const { probeMs } = this.#settings;
    if (text === undefined) {
      await this.#close(formatKey(key));
      const mode = target.spec?.mode ?? "Push";
      if (mode !== "Push") return { observation: { kind: "agent" }, waitMs: heartbeatMaxAgeMs / 4 };
      const message =
        "there is no kubeconfig: set spec.kubeconfig or spec.kubeconfigSecretRef, or let an agent connect with spec.mode Pull";
      return broken(problem("InvalidKubeConfig", message), probeMs);
    }
    const open = typeof text === "string" ? await this.#open(key, target, text) : text;
    if (!("link" in open)) {
      await this.#close(formatKey(key));
      return broken(open, probeMs);
    }
    const waitMs = open.link.tick();
    return { observation: { kind: "link", report: open.link.report }, waitMs };
  }

  /** The link for this kubeconfig: another kubeconfig is another link. */
  async #open(key: ObjectKey, target: SyncTarget, text: string): Promise<OpenLink | Problem> {
    const id = formatKey(key);
    const uid = target.metadata.uid ?? "";
    const digest = createHash("sha256").update(`${uid}\n${text}`).digest("hex");
    const known = this.#links.get(id);
    if (known?.digest === digest) return known;
    await this.#close(id);
    const connection = this.#connect(text);
    if ("reason" in connection) return connection;
    const { clock, targets, random = systemRandom } = { ...this.#options, clock: this.#clock };
    const link = new TargetLink({
      connection,
      target: { cluster: key.cluster, name: key.name, uid },
      resources: () => this.#syncedFromHere(key),
      settings: this.#settings,
      clock,
      random,
      onChange: () => this.controller.enqueue(key),
      onConnected: (made) => targets.add(made),
    });
    const open = { link, digest };
    this.#links.set(id, open);
    return open;
  }

  #connect(text: string): Connection | Problem {
    const kubeconfig = checkKubeconfig(text);
    if (isProblem(kubeconfig)) return kubeconfig;
    try {
      const connection = connect(kubeconfig, {
        clock: this.#clock,
        permits: this.#options.permits,
      });
      const transport = boundedTransport(connection.transport);
      const { basePath } = connection.client;
      const client = new Client({ transport, basePath, clock: this.#clock, userAgent: "kcp" });
      return { ...connection, transport, client };
    } catch (error) {
      if (!(error instanceof KubeconfigError)) throw error;
      return problem("ErrorCreatingClient", `${error.message}: correct the kubeconfig`);
    }
  }

  #syncedFromHere(key: ObjectKey): readonly string[] {
    const spec = this.#source.store.get(key)?.spec;
    return (spec?.mode ?? "Push") === "Push" ? (spec?.resources ?? this.#options.resources) : [];
  }

  async #finalize(
    key: ObjectKey,
    target: SyncTarget,
    context: ReconcileContext,
  ): Promise<ReconcileResult> {
    const { client, signal } = context;
    if (!hasFinalizer(target, syncTargetFinalizer)) {
      await this.#close(formatKey(key));
      return undefined;
    }
    const { targets, drainTimeoutMs = drainTimeoutMsDefault } = this.#options;
    if (stringMember(target.metadata.annotations, orphanAnnotation) !== "true") {
      await this.#observe(key, target, context);
      const { cluster } = key;
      const state = await targets.drain(target, { cluster, connection: targets.get(key), signal });
      const sinceMs = this.#clock.now() - Date.parse(target.metadata.deletionTimestamp ?? "");
      if (state === "pending" && sinceMs < drainTimeoutMs) {
        const message = `what was synced to the cluster is being removed from it; to leave it there: kubectl annotate synctarget ${key.name} ${orphanAnnotation}=true`;
        await this.#report(key, target, { kind: "draining", message }, context);
        return { requeueAfterMs: drainPollMs };
      }
      if (state === "pending") this.#tellOrphaned(key, target, drainTimeoutMs);
    }
    await this.#removeImports(key, target, client, signal);
    await this.#close(formatKey(key));
    const resource = client.resource(syncTargets);
    await removeFinalizer({ resource, object: target, finalizer: syncTargetFinalizer, signal });
    return undefined;
  }

  #tellOrphaned({ cluster }: ObjectKey, target: SyncTarget, drainTimeoutMs: number): void {
    this.#events.record(cluster, target, {
      type: "Warning",
      reason: "Orphaned",
      message: `the cluster was not emptied within ${drainTimeoutMs / 1000} s: what was synced to it stays there`,
    });
  }

  /** The garbage collector would, too, but others are to see the cluster leave before its SyncTarget is gone. */
  async #removeImports(
    { name: location }: ObjectKey,
    target: SyncTarget,
    client: Client,
    signal: AbortSignal,
  ): Promise<void> {
    const imports = client.resource(apiResourceImports);
    for await (const page of imports.pages({ signal })) {
      for (const { metadata, spec } of page.items) {
        const isOwn = metadata.ownerReferences?.some(({ uid }) => uid === target.metadata.uid);
        if (spec.location === location && isOwn === true)
          await imports.delete({ name: metadata.name }, { signal });
      }
    }
  }

  async #report(
    { cluster, name }: ObjectKey,
    target: SyncTarget,
    observation: Observation,
    { client, signal }: ReconcileContext,
  ): Promise<void> {
    const status = targetStatus(target, observation, this.#clock.now());
    if (isSaid(target, status)) return;
    const options = { fieldManager: registrationFieldManager, force: true, signal };
    await client.resource(syncTargets).applyStatus({ metadata: { name }, status }, options);
    const { ready: type } = targetConditions;
    const [before, after] = [target.status?.conditions, status.conditions].map((list) =>
      findCondition(list, type),
    );
    if (after === undefined || (before?.status === after.status && before.reason === after.reason))
      return;
    this.#events.record(cluster, target, {
      type: after.status === "True" ? "Normal" : "Warning",
      reason: after.reason,
      message: after.message === "" ? "the cluster is ready" : after.message,
    });
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

function broken(found: Problem, waitMs: number) {
  return { observation: { kind: "problem", problem: found } as const, waitMs };
}

/** Whether the object says all of this already. */
function isSaid({ status = {} }: SyncTarget, said: NonNullable<SyncTarget["status"]>): boolean {
  const { conditions = [], ...facts } = said;
  const isFactSaid = Object.entries(facts).every(([name, value]) =>
    jsonEqual(value as JsonValue, ((status as Record<string, unknown>)[name] ?? null) as JsonValue),
  );
  return (
    isFactSaid &&
    conditions.every((one) => {
      const known = findCondition(status.conditions, one.type);
      return (
        known?.status === one.status && known.reason === one.reason && known.message === one.message
      );
    })
  );
}
