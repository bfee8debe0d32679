/**
 * The status that an agent reports on its SyncTarget: version, capacity, whether a node is Ready,
 * missing permissions, and other SyncTargets in the cluster. In Push mode, the control plane
 * collects these itself.
 */
import type { Clock, Random } from "@kcp-ts/machinery/base";
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { type Client, EventRecorder, findCondition, pause, startDeadline } from "@kcp-ts/sdk";
import {
  type SyncTarget,
  type SyncTargetStatus,
  syncerFieldManager,
  syncTargets,
  writeSyncTargetStatus,
} from "../api/index.ts";
import type { TargetIdentity } from "../syncer/index.ts";
import { missingAccess } from "./access.ts";
import { type Inventory, nodesIntervalMs, readInventory } from "./capacity.ts";
import { diagnose } from "./diagnose.ts";
import { otherSyncTargets, readClusterID } from "./other-sync-targets.ts";
import { probe } from "./probe.ts";
import { statusEvents } from "./status-events.ts";
import { accessOf, type ConditionDraft, nodesOf, withTransitionTime } from "./target-status.ts";

export interface StatusReporterOptions {
  readonly target: TargetIdentity & { readonly cluster: ClusterName };
  /** The SyncTarget as the agent's informer has it; undefined until it is observed. */
  readonly syncTarget: () => SyncTarget | undefined;
  /** The logical cluster of the SyncTarget. */
  readonly upstream: Client;
  readonly downstream: Client;
  /** The resources to sync when the SyncTarget does not list any. */
  readonly resources: readonly string[];
  readonly intervalMs?: number | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly onError: (error: unknown) => void;
}

export const statusReportIntervalMs = 60_000;
/** The interval at which the nodes of a cluster that is not large are read. */
const nodesPollMs = 10_000;
const retryMs = 5000;
const timeoutMs = 20_000;

export async function runStatusReporter(
  options: StatusReporterOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, onError } = options;
  const reporter = new StatusReporter(options);
  while (!signal.aborted) {
    let waitMs = retryMs;
    const what = "taking stock of the cluster";
    const deadline = startDeadline({ clock, timeoutMs, signal, what });
    try {
      waitMs = await reporter.report(deadline.signal);
    } catch (error) {
      if (signal.aborted) return;
      onError(error);
    } finally {
      deadline.cancel();
    }
    try {
      await pause(clock, waitMs, signal);
    } catch (error) {
      if (!signal.aborted) throw error;
    }
  }
}

/** What is read of a cluster less often than its nodes. */
interface Survey {
  readonly facts: SyncTargetStatus;
  readonly access: ConditionDraft | undefined;
}

class StatusReporter {
  readonly #options: StatusReporterOptions;
  readonly #events: EventRecorder;
  #survey: Survey | undefined;
  #surveyAtMs = Number.NEGATIVE_INFINITY;

  constructor(options: StatusReporterOptions) {
    this.#options = options;
    const { upstream, clock, onError } = options;
    const component = syncerFieldManager;
    this.#events = new EventRecorder({ component, client: () => upstream, clock, onError });
  }

  /** Returns the time until the next report. */
  async report(signal: AbortSignal): Promise<number> {
    const { target, upstream, downstream, clock, intervalMs } = this.#options;
    const { name } = target;
    const resource = upstream.resource(syncTargets);
    const found = this.#options.syncTarget() ?? (await resource.get({ name }, { signal }));
    const { facts, access } = await this.#surveyed(found, signal);
    const nowMs = clock.now();
    const inventory = await readNodes(downstream, { nowMs, signal });
    const drafts = [access, inventory && nodesOf(inventory.nodes)];
    const conditions = drafts
      .filter((one) => one !== undefined)
      .map((draft) => withTransitionTime(found.status?.conditions ?? [], draft, nowMs));
    await this.#write(found, { ...facts, ...capacityOf(inventory), conditions }, signal);
    const everyMs = nodesIntervalMs(inventory?.nodes, intervalMs ?? statusReportIntervalMs);
    return Math.min(this.#surveyAtMs - clock.monotonic(), Math.max(everyMs, nodesPollMs));
  }

  async #surveyed({ spec }: SyncTarget, signal: AbortSignal): Promise<Survey> {
    const { clock, random, intervalMs = statusReportIntervalMs } = this.#options;
    if (this.#survey !== undefined && clock.monotonic() < this.#surveyAtMs) return this.#survey;
    const { target, downstream } = this.#options;
    const answer = await probe(downstream, { timeoutMs, clock, signal });
    if ("reason" in answer) throw new Error(answer.message);
    const resources = spec?.resources ?? this.#options.resources;
    const access = accessOf({ missingAccess: await missingAccess(downstream, resources, signal) });
    const others = await otherSyncTargets(downstream, target, signal);
    const clusterID = await readClusterID(downstream, signal);
    const facts = {
      version: answer.version,
      ...(clusterID === undefined ? {} : { clusterID }),
      ...(others === undefined || others.length === 0 ? {} : { alsoRegisteredAs: [...others] }),
    };
    this.#survey = { facts, access };
    this.#surveyAtMs = clock.monotonic() + intervalMs * (0.8 + 0.4 * random.next());
    return this.#survey;
  }

  async #write(found: SyncTarget, status: SyncTargetStatus, signal: AbortSignal): Promise<void> {
    const { target, upstream } = this.#options;
    const { status: known = {} } = found;
    const { conditions = [], ...facts } = status;
    const isSaid =
      conditions.every((one) => {
        const before = findCondition(known.conditions, one.type);
        return before?.status === one.status && before.message === one.message;
      }) &&
      Object.entries(facts).every(([fact, value]) =>
        jsonEqual(
          value as JsonValue,
          ((known as Record<string, unknown>)[fact] ?? null) as JsonValue,
        ),
      );
    if (isSaid) return;
    await writeSyncTargetStatus({ client: upstream, target: found, signal }, "agent", status);
    for (const event of statusEvents(target.name, known.conditions, conditions))
      this.#events.record(target.cluster, found, event);
  }
}

/** A user who may not list nodes gets no capacity; the cluster's health does not depend on it. */
async function readNodes(
  client: Client,
  listing: { readonly nowMs: number; readonly signal: AbortSignal },
): Promise<Inventory | undefined> {
  try {
    return await readInventory(client, listing);
  } catch (error) {
    if (diagnose(error).reason === "Forbidden") return undefined;
    throw error;
  }
}

function capacityOf(inventory: Inventory | undefined): SyncTargetStatus {
  if (inventory === undefined) return {};
  const { capacity, allocatable } = inventory;
  return { capacity: { ...capacity }, allocatable: { ...allocatable } };
}
