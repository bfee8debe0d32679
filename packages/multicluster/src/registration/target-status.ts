/** What the status of a SyncTarget says, from what is known of the cluster. Pure. */
import { findCondition, type StringMap, setCondition, timestamp } from "@kcp-ts/sdk";
import {
  type Severity,
  type SeverityCondition,
  type SyncTarget,
  type SyncTargetStatus,
  targetConditions,
} from "../api/index.ts";
import type { LinkReport } from "./target-link.ts";
import { bounded, type Problem } from "./verdict.ts";

/** How the cluster was found, or why it could not be looked for. */
export type Observation =
  | { readonly kind: "link"; readonly report: LinkReport }
  | { readonly kind: "problem"; readonly problem: Problem }
  /** An agent reports by itself. */
  | { readonly kind: "agent" }
  | { readonly kind: "draining"; readonly message: string };

/** An agent that was not heard of for so long is not well. */
export const heartbeatMaxAgeMs = 60_000;

export const accessCondition = "SyncerAuthorized";

/** The part of the status that is ours, with the conditions that are. Others write theirs beside it. */
export function targetStatus(
  target: SyncTarget,
  observation: Observation,
  nowMs: number,
): SyncTargetStatus {
  const known = target.status?.conditions ?? [];
  const health = healthOf(target, observation, nowMs);
  const access = accessOf(observation);
  const own = [health, ...(access === undefined ? [] : [access])];
  const ready = summary([...own, ...known.filter(({ type }) => others.has(type))]);
  const shown = observation.kind === "draining" ? draining(observation.message) : ready;
  const report = observation.kind === "link" ? observation.report : undefined;
  return {
    conditions: [shown, ...own].map((one) => settled(known, one, nowMs)),
    ...factsOf(target.status ?? {}, report),
  };
}

type Draft = Omit<SeverityCondition, "lastTransitionTime">;

const others: ReadonlySet<string> = new Set([
  targetConditions.apiImporterReady,
  targetConditions.syncerReady,
]);

function healthOf(target: SyncTarget, observation: Observation, nowMs: number): Draft {
  const type = targetConditions.heartbeatHealthy;
  switch (observation.kind) {
    case "problem":
      return failed(type, observation.problem);
    case "draining":
      return findCondition(target.status?.conditions, type) ?? unknown(type, "Terminating", "");
    case "agent":
      return heartbeat(target, nowMs);
    case "link": {
      const { health, problem } = observation.report;
      if (health === "True") return passed(type, "ClusterReady", "the cluster answers");
      if (problem === undefined)
        return unknown(type, "Connecting", "the cluster is asked for the first time");
      return health === "False"
        ? failed(type, problem)
        : unknown(type, problem.reason, problem.message);
    }
  }
}

function heartbeat({ status, metadata }: SyncTarget, nowMs: number): Draft {
  const type = targetConditions.heartbeatHealthy;
  const last = status?.lastHeartbeatTime;
  if (last === undefined)
    return failed(type, {
      reason: "ErrorHeartbeat",
      message: `No heartbeat yet seen: run a syncer for ${metadata.name} in or beside the cluster`,
    });
  if (nowMs - Date.parse(last) <= heartbeatMaxAgeMs) return passed(type, "HeartbeatHealthy", "");
  const message = `No heartbeat since ${last}: look at the syncer, and at its way to the control plane`;
  return failed(type, { reason: "ErrorHeartbeat", message });
}

function accessOf(observation: Observation): Draft | undefined {
  if (observation.kind !== "link") return undefined;
  const { missingAccess: missing } = observation.report;
  if (missing === undefined) return undefined;
  if (missing.length === 0) return passed(accessCondition, "SyncerAuthorized", "");
  const message = `the user in the kubeconfig may not ${missing.join(", ")}: grant it by a ClusterRole and a ClusterRoleBinding in the cluster`;
  return failed(accessCondition, { reason: "SyncerUnauthorized", message: bounded(message, 1024) });
}

/** The worst of all: False before Unknown before True, and of equals the first. */
function summary(conditions: readonly Draft[]): Draft {
  const type = targetConditions.ready;
  for (const status of ["False", "Unknown"] as const) {
    const worst = conditions.find((one) => one.status === status && one.severity !== "Info");
    if (worst !== undefined) return { ...withoutObserved(worst), type };
  }
  return passed(type, "ClusterReady", "");
}

function withoutObserved({ type, status, reason, message, severity }: Draft): Draft {
  return { type, status, reason, message, ...(severity === undefined ? {} : { severity }) };
}

function draining(message: string): Draft {
  return failed(targetConditions.ready, { reason: "Terminating", message }, "Info");
}

function passed(type: string, reason: string, message: string): Draft {
  return { type, status: "True", reason, message };
}

function failed(
  type: string,
  { reason, message }: { readonly reason: string; readonly message: string },
  severity: Severity = "Error",
): Draft {
  return { type, status: "False", severity, reason, message };
}

function unknown(type: string, reason: string, message: string): Draft {
  return { type, status: "Unknown", severity: "Warning", reason, message };
}

/** With the time of its last transition. */
function settled(
  known: readonly SeverityCondition[],
  draft: Draft,
  nowMs: number,
): SeverityCondition {
  const { type } = draft;
  const before = findCondition(known, type);
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
