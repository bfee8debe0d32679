/**
 * The status that an agent reports on its SyncTarget: version, capacity, missing permissions, and
 * other SyncTargets in the cluster. In Push mode, the control plane collects these itself.
 */
import type { Clock, Random } from "@kcp-ts/machinery/base";
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { type Client, EventRecorder, findCondition, pause, startDeadline } from "@kcp-ts/sdk";
import {
  type SyncTarget,
  syncerFieldManager,
  syncTargets,
  writeSyncTargetStatus,
} from "../api/index.ts";
import type { TargetIdentity } from "../syncer/index.ts";
import { missingAccess } from "./access.ts";
import { type Capacity, readInventory } from "./capacity.ts";
import { diagnose } from "./diagnose.ts";
import { otherSyncTargets, readClusterID } from "./other-sync-targets.ts";
import { probe } from "./probe.ts";
import { statusEvents } from "./status-events.ts";
import { accessOf, withTransitionTime } from "./target-status.ts";

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
const retryMs = 5000;
const timeoutMs = 20_000;

export async function runStatusReporter(
  options: StatusReporterOptions,
  signal: AbortSignal,
): Promise<void> {
  const { clock, random, onError, upstream, intervalMs = statusReportIntervalMs } = options;
  const component = syncerFieldManager;
  const events = new EventRecorder({ component, client: () => upstream, clock, onError });
  while (!signal.aborted) {
    let waitMs = intervalMs * (0.8 + 0.4 * random.next());
    const what = "taking stock of the cluster";
    const deadline = startDeadline({ clock, timeoutMs, signal, what });
    try {
      await report(options, events, deadline.signal);
    } catch (error) {
      if (signal.aborted) return;
      onError(error);
      waitMs = Math.min(waitMs, retryMs);
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

async function report(
  options: StatusReporterOptions,
  events: EventRecorder,
  signal: AbortSignal,
): Promise<void> {
  const { target, upstream, downstream, clock } = options;
  const { name } = target;
  const resource = upstream.resource(syncTargets);
  const found = options.syncTarget() ?? (await resource.get({ name }, { signal }));
  const { spec, status: known = {} } = found;
  const answer = await probe(downstream, { timeoutMs, clock, signal });
  if ("reason" in answer) throw new Error(answer.message);
  const resources = spec?.resources ?? options.resources;
  const access = accessOf({ missingAccess: await missingAccess(downstream, resources, signal) });
  const drafts = access === undefined ? [] : [access];
  const others = await otherSyncTargets(downstream, target, signal);
  const clusterID = await readClusterID(downstream, signal);
  const nowMs = clock.now();
  const conditions = drafts.map((draft) =>
    withTransitionTime(known.conditions ?? [], draft, nowMs),
  );
  const facts = {
    version: answer.version,
    ...(clusterID === undefined ? {} : { clusterID }),
    ...(others === undefined || others.length === 0 ? {} : { alsoRegisteredAs: [...others] }),
    ...(await capacityOf(downstream, { nowMs, signal })),
  };
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
  const write = { client: upstream, target: found, signal };
  await writeSyncTargetStatus(write, "agent", { ...facts, conditions });
  for (const event of statusEvents(name, known.conditions, conditions))
    events.record(target.cluster, found, event);
}

/** A user who may not list nodes gets no capacity; the cluster's health does not depend on it. */
async function capacityOf(
  client: Client,
  listing: { readonly nowMs: number; readonly signal: AbortSignal },
): Promise<Partial<Capacity>> {
  try {
    const { capacity, allocatable } = await readInventory(client, listing);
    return { capacity, allocatable };
  } catch (error) {
    if (diagnose(error).reason === "Forbidden") return {};
    throw error;
  }
}
