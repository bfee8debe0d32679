/** Computes the status of a SyncTarget from the observed state of the cluster. Pure. */
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import {
  findCondition,
  isConditionTrue,
  type StringMap,
  setCondition,
  timestamp,
} from "@kcp-ts/sdk";
import {
  accessCondition,
  drainedCondition,
  installedCondition,
  nodesCondition,
  type Severity,
  type SeverityCondition,
  type SyncTarget,
  type SyncTargetStatus,
  sharedOwnershipCondition,
  targetConditions,
} from "../api/index.ts";
import type { AgentState } from "./agent-installations.ts";
import { type AgentLiveness, agentHeartbeatMissedReason } from "./agent-liveness.ts";
import { areAllNotReady, type NodeCounts } from "./capacity.ts";
import { clockSkewMaxMs, type Heartbeat, leasesUntilLost } from "./heartbeats.ts";
import { boundedMessage, type Problem } from "./problem.ts";
import type { LinkReport } from "./target-link.ts";

/** The result of the last probe, or the reason why there was none. */
export type Observation =
  | { readonly kind: "link"; readonly report: LinkReport }
  | { readonly kind: "problem"; readonly problem: Problem }
  | AgentObservation;

/** An agent works in the cluster and reports its status itself. */
export interface AgentObservation {
  readonly kind: "agent";
  readonly heartbeat: Heartbeat | undefined;
  /** The state of the installation, where the control plane installs the agent. */
  readonly agent?: AgentState | undefined;
  /** The agent missed a renewal of its Lease that it had promised. */
  readonly liveness?: AgentLiveness | undefined;
}

export interface StatusOptions {
  /** The conditions of others without which the SyncTarget is not Ready. */
  readonly awaited?: readonly string[];
  /** What is waited for before the SyncTarget is deleted. */
  readonly terminating?: string | undefined;
  /** Descriptions of other SyncTargets of the same cluster in the same workspace. */
  readonly sameCluster?: readonly string[];
}

/**
 * The fields and conditions of the status that this controller owns. Other controllers write theirs
 * separately.
 */
export function targetStatus(
  target: SyncTarget,
  observation: Observation,
  nowMs: number,
  { awaited = [], terminating, sameCluster = [] }: StatusOptions = {},
): SyncTargetStatus {
  const known = target.status?.conditions ?? [];
  const health = healthOf(target, observation);
  const drafts = [
    installedOf(observation, health),
    health,
    observation.kind === "link" ? accessOf(observation.report) : undefined,
    sharedOwnershipOf(target, observation, sameCluster),
  ];
  const own = drafts.filter((one) => one !== undefined);
  const isOther = ({ type }: ConditionDraft) =>
    others.has(type) || (observation.kind === "agent" && reportedByAgents.has(type));
  const isHeardOf = observation.kind === "link" || observation.kind === "agent";
  const missing = starting.filter(
    ({ type }) => isHeardOf && awaited.includes(type) && findCondition(known, type) === undefined,
  );
  const silent = observation.kind === "agent" ? heartbeatMissedOf(target, observation) : undefined;
  const ready = summary([
    ...own,
    ...known.filter(isOther),
    ...(silent === undefined ? [] : [silent]),
    ...missing,
  ]);
  const shown = terminating === undefined ? ready : terminatingCondition(terminating);
  const report = observation.kind === "link" ? observation.report : undefined;
  const leaseDurationSeconds = leaseSecondsOf(observation);
  const isOurs = (target.spec?.mode ?? "Push") === "Push";
  return {
    conditions: [shown, ...own].map((one) => withTransitionTime(known, one, nowMs)),
    state: stateOf(target, shown),
    ...(sameCluster.length === 0 ? {} : { registrations: sameCluster.length + 1 }),
    ...(isOurs ? factsOf(target.status ?? {}, report) : {}),
    ...(leaseDurationSeconds === undefined ? {} : { leaseDurationSeconds }),
  };
}

/** The summary of a table, as kubectl shows nodes. */
function stateOf({ metadata, spec, status }: SyncTarget, ready: ConditionDraft): string {
  const health = { True: "Ready", False: "NotReady", Unknown: "Unknown" }[ready.status];
  const parts = [metadata.deletionTimestamp === undefined ? health : "Terminating"];
  if (spec?.unschedulable === true) parts.push("SchedulingDisabled");
  if (spec?.drain !== undefined) {
    const { total = 0, moved = 0 } = status?.drain ?? {};
    const isDrained = isConditionTrue(status?.conditions, drainedCondition);
    parts.push(isDrained ? "Drained" : `Draining(${moved}/${total})`);
  }
  return parts.join();
}

/** The duration of a Lease at whose end the agent stops workloads. */
function leaseSecondsOf(observation: Observation): number | undefined {
  const renewal = observation.kind === "agent" ? observation.heartbeat?.renewal : undefined;
  return renewal?.stopsAtExpiry === true ? renewal.durationMs / 1000 : undefined;
}

/** A condition without lastTransitionTime. */
export type ConditionDraft = Omit<SeverityCondition, "lastTransitionTime">;

const others: ReadonlySet<string> = new Set([
  targetConditions.apiImporterReady,
  targetConditions.syncerReady,
]);

const reportedByAgents: ReadonlySet<string> = new Set([accessCondition, nodesCondition]);

/**
 * Conditions of others before they are written. Clients that wait for Ready use the cluster's
 * exported APIs next.
 */
const starting: readonly ConditionDraft[] = [
  unknown(targetConditions.apiImporterReady, "ImportingAPIs", "Discovering APIs"),
  unknown(targetConditions.syncerReady, "SyncerStarting", "Starting the syncer"),
];

function heartbeatMissedOf(
  target: SyncTarget,
  { heartbeat, liveness }: AgentObservation,
): ConditionDraft | undefined {
  const why = isTunnelBroken(target, heartbeat)
    ? "the agent's tunnel broke off, and the agent has not renewed its Lease since"
    : liveness && heartbeatMissedMessage(heartbeat, liveness);
  const next = "look at the agent's log, and at its way to the control plane";
  if (why === undefined) return undefined;
  return unknown(targetConditions.ready, agentHeartbeatMissedReason, `${why}: ${next}`);
}

function heartbeatMissedMessage(heartbeat: Heartbeat | undefined, liveness: AgentLiveness): string {
  if (liveness === "orphaned")
    return "no server has the agent's tunnel any more, and it has neither dialled again nor renewed its Lease";
  const { renewTime, intervalMs = 0 } = heartbeat?.renewal ?? {};
  return `the agent has not renewed its Lease since ${renewTime}, and promised to do so every ${intervalMs / 1000} s`;
}

/**
 * Whether the tunnel broke and the agent has not renewed its Lease since: an agent that cannot dial
 * may still be alive.
 */
function isTunnelBroken({ status }: SyncTarget, heartbeat: Heartbeat | undefined): boolean {
  const { disconnectedAt } = status?.tunnel ?? {};
  return disconnectedAt !== undefined && disconnectedAt === (heartbeat?.renewal.renewTime ?? "");
}

function healthOf(target: SyncTarget, observation: Observation): ConditionDraft {
  const type = targetConditions.heartbeatHealthy;
  switch (observation.kind) {
    case "problem":
      return failed(type, observation.problem);
    case "agent":
      return heartbeatOf(target, observation);
    case "link": {
      const { health, problem, skewMs, nodes } = observation.report;
      if (health === "True" && nodes !== undefined && areAllNotReady(nodes))
        return { ...nodesOf(nodes), type };
      if (health === "True")
        return passed(type, "ClusterReady", `the cluster answers${clockSkewMessage(skewMs)}`);
      if (problem === undefined) return unknown(type, "Connecting", "Connecting");
      return health === "False"
        ? failed(type, problem)
        : unknown(type, problem.reason, problem.message);
    }
  }
}

/**
 * As an agent reports it. The agent is well and its Lease holds: workloads of which at most one may
 * run are not replaced, because kubelets that the cluster does not hear of may run them.
 */
export function nodesOf(nodes: NodeCounts): ConditionDraft {
  const { total } = nodes;
  if (!areAllNotReady(nodes)) return passed(nodesCondition, "NodesReady", "");
  const none = total === 1 ? "its only node is not Ready" : `none of its ${total} nodes is Ready`;
  const message = `the cluster answers, but ${none}: kubectl describe nodes there says why`;
  return failed(nodesCondition, { reason: "NodesNotReady", message });
}

function heartbeatOf(
  { metadata, spec }: SyncTarget,
  { heartbeat, agent }: AgentObservation,
): ConditionDraft {
  const type = targetConditions.heartbeatHealthy;
  const { name } = metadata;
  if (heartbeat === undefined) {
    const next =
      agent?.message ??
      (spec?.mode === "Pull"
        ? `its agent has to run in the cluster: kubectl kcp workload sync ${name} --output agent.yaml prints what to apply there`
        : `run a syncer for ${name} in or beside the cluster`);
    return unknown(type, "WaitingForAgent", `Lease not renewed yet: ${next}`);
  }
  const { renewal, silentMs, skewMs } = heartbeat;
  const { renewTime, durationMs } = renewal;
  if (silentMs <= durationMs)
    return passed(type, "HeartbeatHealthy", clockSkewMessage(skewMs).replace(/^, but /, ""));
  const message = `Lease not renewed since ${renewTime}: look at the syncer's log, and at its way to the control plane`;
  if (silentMs <= durationMs * leasesUntilLost) return unknown(type, "HeartbeatLate", message);
  return failed(type, { reason: agentHeartbeatMissedReason, message });
}

/**
 * A skewed clock does not make the cluster unhealthy, but may invalidate its tokens and
 * certificates.
 */
export function clockSkewMessage(skewMs: number | undefined): string {
  if (skewMs === undefined || Math.abs(skewMs) < clockSkewMaxMs) return "";
  const where = skewMs > 0 ? "ahead of" : "behind";
  return `, but its clock is about ${skewText(Math.abs(skewMs))} ${where} the control plane's: set both by the same time, or tokens and certificates count as expired`;
}

/** Rounded, so that the message does not change with every probe. */
function skewText(skewMs: number): string {
  const hours = skewMs / 3_600_000;
  if (hours >= 48) return `${Math.round(hours / 24)} days`;
  if (hours >= 2) return `${Math.round(hours)} hours`;
  return `${Math.round(skewMs / clockSkewMaxMs) * (clockSkewMaxMs / 1000)} s`;
}

/** A failed installation matters only while no agent reports. */
function installedOf(observation: Observation, health: ConditionDraft): ConditionDraft | undefined {
  if (observation.kind !== "agent" || observation.agent === undefined) return undefined;
  const { state, message } = observation.agent;
  const type = installedCondition;
  const severity = health.status === "True" ? "Info" : "Error";
  if (state === "failed")
    return failed(type, { reason: "ErrorInstallingSyncer", message }, severity);
  if (state === "installed") return passed(type, "SyncerInstalled", message);
  return { type, status: "Unknown", severity: "Info", reason: "SyncerInstalling", message };
}

/**
 * Two SyncTargets may share a cluster. The condition reports it, because it may be unintended;
 * Ready does not depend on it.
 */
function sharedOwnershipOf(
  { status }: SyncTarget,
  observation: Observation,
  sameCluster: readonly string[],
): ConditionDraft | undefined {
  const report = observation.kind === "link" ? observation.report : undefined;
  const found = report === undefined ? status?.alsoRegisteredAs : report.otherSyncTargets;
  const isUnknown = found === undefined && (report?.clusterID ?? status?.clusterID) === undefined;
  if (isUnknown) return undefined;
  const isNamed = (one: string) => sameCluster.some((other) => one.startsWith(`${other} (uid `));
  const foreign = (found ?? []).filter((one) => !isNamed(one));
  const others = [...sameCluster, ...foreign];
  const type = sharedOwnershipCondition;
  // Another control plane does not know how much of the cluster this one uses.
  const counted =
    foreign.length > 0 ? "capacity is counted twice" : "the capacity is divided among them";
  if (others.length === 0)
    return failed(type, { reason: "NoOtherSyncTargets", message: "" }, "Info");
  const message = `also registered as ${others.join(", ")}; ${counted}. If one of them should not have work in this cluster, delete that SyncTarget; if it is deleted already, delete the namespaces with its uid in the annotation kcp.io/namespace-locator`;
  return passed(type, "OtherSyncTargets", boundedMessage(message));
}

export function accessOf({ missingAccess: missing }: Pick<LinkReport, "missingAccess">) {
  if (missing === undefined) return undefined;
  if (missing.length === 0) return passed(accessCondition, "SyncerAuthorized", "");
  const message = `the user that the syncer has in the cluster may not ${missing.join(", ")}: grant it by a ClusterRole and a ClusterRoleBinding in the cluster`;
  return failed(accessCondition, {
    reason: "SyncerUnauthorized",
    message: boundedMessage(message, 1024),
  });
}

/** The worst condition: False before Unknown before True; the first of several equal ones. */
function summary(conditions: readonly ConditionDraft[]): ConditionDraft {
  const type = targetConditions.ready;
  for (const status of ["False", "Unknown"] as const) {
    const worst = conditions.find((one) => one.status === status && one.severity !== "Info");
    if (worst !== undefined) return { ...withoutObserved(worst), type };
  }
  return passed(type, "ClusterReady", "");
}

function withoutObserved({
  type,
  status,
  reason,
  message,
  severity,
}: ConditionDraft): ConditionDraft {
  return { type, status, reason, message, ...(severity === undefined ? {} : { severity }) };
}

function terminatingCondition(message: string): ConditionDraft {
  return failed(targetConditions.ready, { reason: "Terminating", message }, "Info");
}

function passed(type: string, reason: string, message: string): ConditionDraft {
  return { type, status: "True", reason, message };
}

function failed(
  type: string,
  { reason, message }: { readonly reason: string; readonly message: string },
  severity: Severity = "Error",
): ConditionDraft {
  return { type, status: "False", severity, reason, message };
}

function unknown(type: string, reason: string, message: string): ConditionDraft {
  return { type, status: "Unknown", severity: "Warning", reason, message };
}

/** The condition with its lastTransitionTime. */
export function withTransitionTime(
  known: readonly SeverityCondition[],
  draft: ConditionDraft,
  nowMs: number,
): SeverityCondition {
  const { type, status } = draft;
  const before = findCondition(known, type);
  // Tolerations count from the time at which the cluster was last True; a change between Unknown
  // and False does not restart them.
  const isStillNot = before !== undefined && before.status !== "True" && status !== "True";
  if (isStillNot)
    return { ...withoutObserved(draft), lastTransitionTime: before.lastTransitionTime };
  const after = findCondition(
    setCondition(before === undefined ? [] : [before], draft, nowMs),
    type,
  );
  return {
    ...withoutObserved(draft),
    lastTransitionTime: after?.lastTransitionTime ?? timestamp(nowMs),
  };
}

/** The last observed values stay while the cluster is unreachable. */
function factsOf(
  known: SyncTargetStatus,
  report: LinkReport | undefined,
): Partial<SyncTargetStatus> {
  const version = report?.version ?? known.version;
  const clusterID = report?.clusterID ?? known.clusterID;
  const others = report?.otherSyncTargets ?? known.alsoRegisteredAs ?? [];
  const isAsked = report?.capacity !== undefined;
  const capacity: StringMap | undefined = isAsked ? report?.capacity : known.capacity;
  const allocatable = isAsked ? report?.allocatable : known.allocatable;
  return {
    ...(version === undefined ? {} : { version }),
    ...(clusterID === undefined ? {} : { clusterID }),
    ...(others.length === 0 ? {} : { alsoRegisteredAs: [...others] }),
    ...(capacity === undefined ? {} : { capacity }),
    ...(allocatable === undefined ? {} : { allocatable }),
  };
}

/** Whether the object already has this status. */
export function isStatusCurrent({ status = {} }: SyncTarget, said: SyncTargetStatus): boolean {
  const { conditions = [], ...facts } = said;
  const isFactSaid = Object.entries(facts).every(([name, value]) =>
    jsonEqual(value as JsonValue, ((status as Record<string, unknown>)[name] ?? null) as JsonValue),
  );
  return (
    isFactSaid &&
    status.leaseDurationSeconds === said.leaseDurationSeconds &&
    status.registrations === said.registrations &&
    conditions.every((one) => {
      const known = findCondition(status.conditions, one.type);
      return (
        known?.status === one.status && known.reason === one.reason && known.message === one.message
      );
    })
  );
}
