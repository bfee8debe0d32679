/** What the status of a SyncTarget says, from what is known of the cluster. Pure. */
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { findCondition, type StringMap, setCondition, timestamp } from "@kcp-ts/sdk";
import {
  heartbeatIntervalMsOf,
  type Severity,
  type SeverityCondition,
  type SyncTarget,
  type SyncTargetStatus,
  targetConditions,
} from "../api/index.ts";
import { type AgentLiveness, agentHeartbeatMissedReason } from "./agent-silence.ts";
import type { AgentState } from "./agent-upkeep.ts";
import { clockSkewMaxMs, type Heartbeat, timeoutsUntilLost } from "./heartbeats.ts";
import type { LinkReport } from "./target-link.ts";
import { boundedMessage, type Problem } from "./verdict.ts";

/** How the cluster was found, or why it could not be looked for. */
export type Observation =
  | { readonly kind: "link"; readonly report: LinkReport }
  | { readonly kind: "problem"; readonly problem: Problem }
  | AgentObservation
  | { readonly kind: "draining"; readonly message: string };

/** An agent works in the cluster and reports by itself. */
export interface AgentObservation {
  readonly kind: "agent";
  readonly heartbeat: Heartbeat | undefined;
  /** How far its installation is, where it is installed from here. */
  readonly agent?: AgentState | undefined;
  /** It has not kept its word. */
  readonly silence?: AgentLiveness | undefined;
}

export const accessCondition = "SyncerAuthorized";
export const installedCondition = "SyncerInstalled";
export const sharedOwnershipCondition = "Exclusive";

/** The part of the status that is ours, with the conditions that are. Others write theirs beside it. */
export function targetStatus(
  target: SyncTarget,
  observation: Observation,
  nowMs: number,
  { awaitsImport = false }: { readonly awaitsImport?: boolean | undefined } = {},
): SyncTargetStatus {
  const known = target.status?.conditions ?? [];
  const health = healthOf(target, observation);
  const drafts = [
    installedOf(observation, health),
    health,
    ...(observation.kind === "link" ? clusterConditions(observation.report) : []),
  ];
  const own = drafts.filter((one) => one !== undefined);
  const isOther = ({ type }: ConditionDraft) =>
    others.has(type) || (observation.kind === "agent" && type === accessCondition);
  const isNotImported =
    awaitsImport &&
    observation.kind === "link" &&
    findCondition(known, targetConditions.apiImporterReady) === undefined;
  const silent = observation.kind === "agent" ? heartbeatMissedOf(target, observation) : undefined;
  const ready = summary([
    ...own,
    ...known.filter(isOther),
    ...(silent === undefined ? [] : [silent]),
    ...(isNotImported ? [notImported] : []),
  ]);
  const shown = observation.kind === "draining" ? draining(observation.message) : ready;
  const report = observation.kind === "link" ? observation.report : undefined;
  const isOurs = (target.spec?.mode ?? "Push") === "Push";
  return {
    conditions: [shown, ...own].map((one) => withTransitionTime(known, one, nowMs)),
    ...(isOurs ? factsOf(target.status ?? {}, report) : {}),
  };
}

/** Without the time of its last transition. */
export type ConditionDraft = Omit<SeverityCondition, "lastTransitionTime">;

const others: ReadonlySet<string> = new Set([
  targetConditions.apiImporterReady,
  targetConditions.syncerReady,
]);

/** For who waits for a cluster to be ready and then uses what it lends. */
const notImported = unknown(
  targetConditions.apiImporterReady,
  "ImportingAPIs",
  "the cluster answers, and its APIs are looked at for the first time",
);

function heartbeatMissedOf(
  target: SyncTarget,
  { silence }: AgentObservation,
): ConditionDraft | undefined {
  const why = isTunnelBroken(target)
    ? "the agent's tunnel broke off, and no heartbeat has come since"
    : silence && heartbeatMissedMessage(target.status ?? {}, silence);
  const next = "look at the agent's log, and at its way to the control plane";
  if (why === undefined) return undefined;
  return unknown(targetConditions.ready, agentHeartbeatMissedReason, `${why}: ${next}`);
}

function heartbeatMissedMessage(status: SyncTargetStatus, silence: AgentLiveness): string {
  if (silence === "orphaned")
    return "no server has the agent's tunnel any more, and it has neither dialled again nor written a heartbeat";
  const seconds = (heartbeatIntervalMsOf(status) ?? 0) / 1000;
  return `no heartbeat has come since ${status.lastHeartbeatTime}, and the agent promised one every ${seconds} s`;
}

/** And no heartbeat has come since: who cannot dial may still be there. */
function isTunnelBroken({ status: { tunnel, lastHeartbeatTime = "" } = {} }: SyncTarget): boolean {
  return tunnel?.brokenAfter !== undefined && tunnel.brokenAfter === lastHeartbeatTime;
}

/** What was found in the cluster, by whoever works there. */
export function clusterConditions(
  found: Pick<LinkReport, "missingAccess" | "otherClaims">,
): readonly ConditionDraft[] {
  return [accessOf(found), sharedOwnershipOf(found)].filter((one) => one !== undefined);
}

function healthOf(target: SyncTarget, observation: Observation): ConditionDraft {
  const type = targetConditions.heartbeatHealthy;
  switch (observation.kind) {
    case "problem":
      return failed(type, observation.problem);
    case "draining":
      return findCondition(target.status?.conditions, type) ?? unknown(type, "Terminating", "");
    case "agent":
      return heartbeatOf(target, observation);
    case "link": {
      const { health, problem, skewMs } = observation.report;
      if (health === "True")
        return passed(type, "ClusterReady", `the cluster answers${clockSkewMessage(skewMs)}`);
      if (problem === undefined)
        return unknown(type, "Connecting", "the cluster is asked for the first time");
      return health === "False"
        ? failed(type, problem)
        : unknown(type, problem.reason, problem.message);
    }
  }
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
    return failed(type, { reason: "ErrorHeartbeat", message: `No heartbeat yet seen: ${next}` });
  }
  const { last, silentMs, lateMs, skewMs } = heartbeat;
  if (silentMs <= lateMs)
    return passed(type, "HeartbeatHealthy", clockSkewMessage(skewMs).replace(/^, but /, ""));
  const message = `No heartbeat since ${last}: look at the syncer's log, and at its way to the control plane`;
  if (silentMs <= lateMs * timeoutsUntilLost) return unknown(type, "HeartbeatLate", message);
  return failed(type, { reason: "ErrorHeartbeat", message });
}

/** A cluster whose clock is off is not worse for it, but its tokens and certificates may be. */
export function clockSkewMessage(skewMs: number | undefined): string {
  if (skewMs === undefined || Math.abs(skewMs) < clockSkewMaxMs) return "";
  // In steps, so that the sentence does not change with every look.
  const seconds = Math.round(Math.abs(skewMs) / clockSkewMaxMs) * (clockSkewMaxMs / 1000);
  const where = skewMs > 0 ? "ahead of" : "behind";
  return `, but its clock is about ${seconds} s ${where} the control plane's: set both by the same time, or tokens and certificates count as expired`;
}

/** An installation that fails matters as long as no agent reports. */
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

/** Two may share a cluster; that they do is said, for nobody may have meant it. */
function sharedOwnershipOf({ otherClaims: others }: Pick<LinkReport, "otherClaims">) {
  if (others === undefined) return undefined;
  if (others.length === 0) return passed(sharedOwnershipCondition, "NoOtherClaims", "");
  const message = `${others.join(", ")} also has work in this cluster: both use its capacity. If one of them should not, delete that SyncTarget; if it is gone already, delete the namespaces with its uid in the annotation kcp.io/namespace-locator`;
  return failed(
    sharedOwnershipCondition,
    { reason: "ClaimedByOthers", message: boundedMessage(message) },
    "Info",
  );
}

function accessOf({ missingAccess: missing }: Pick<LinkReport, "missingAccess">) {
  if (missing === undefined) return undefined;
  if (missing.length === 0) return passed(accessCondition, "SyncerAuthorized", "");
  const message = `the user that the syncer has in the cluster may not ${missing.join(", ")}: grant it by a ClusterRole and a ClusterRoleBinding in the cluster`;
  return failed(accessCondition, {
    reason: "SyncerUnauthorized",
    message: boundedMessage(message, 1024),
  });
}

/** The worst of all: False before Unknown before True, and of equals the first. */
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

function draining(message: string): ConditionDraft {
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

/** With the time of its last transition. */
export function withTransitionTime(
  known: readonly SeverityCondition[],
  draft: ConditionDraft,
  nowMs: number,
): SeverityCondition {
  const { type, status } = draft;
  const before = findCondition(known, type);
  // How long a cluster is tolerated counts from when it was last well, whether it is unknown or bad by now.
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

/** What was found last stays when the cluster is silent. */
function factsOf(
  known: SyncTargetStatus,
  report: LinkReport | undefined,
): Partial<SyncTargetStatus> {
  const version = report?.version ?? known.version;
  const isAsked = report?.capacity !== undefined;
  const capacity: StringMap | undefined = isAsked ? report?.capacity : known.capacity;
  const allocatable = isAsked ? report?.allocatable : known.allocatable;
  return {
    ...(version === undefined ? {} : { version }),
    ...(capacity === undefined ? {} : { capacity }),
    ...(allocatable === undefined ? {} : { allocatable }),
  };
}

/** Whether the object says all of this already. */
export function isStatusCurrent({ status = {} }: SyncTarget, said: SyncTargetStatus): boolean {
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
