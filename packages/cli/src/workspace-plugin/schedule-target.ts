/**
 * `kubectl kcp cordon|uncordon|drain <name>`: makes a cluster unschedulable, moves its workloads
 * away, or reverts both.
 */
import { isStatusError } from "@kcp-ts/machinery/status";
import { type SyncTarget, syncTargets } from "@kcp-ts/multicluster";
import { findCondition, type ResourceClient } from "@kcp-ts/sdk";
import { durationMs } from "./durations.ts";
import { Progress } from "./progress.ts";
import type { Session } from "./session.ts";

export type SchedulingVerb = "cordon" | "uncordon" | "drain";

export interface DrainOptions {
  readonly maxWorkloads?: string;
  readonly maxReplicas?: string;
  readonly deadline?: string;
  readonly deleteAfterDrain?: boolean;
  /** By default the command waits on a terminal only. */
  readonly wait?: boolean;
  readonly timeout?: string;
}

export async function scheduleTarget(
  session: Session,
  name: string,
  verb: SchedulingVerb,
  options: DrainOptions = {},
): Promise<void> {
  const resource = session.clientIn(session.address.workspace).resource(syncTargets);
  const drain = verb === "drain" ? drainOf(options) : null;
  try {
    const { spec = {} } = await resource.get({ name });
    const done = { cordon: "cordoned", uncordon: "uncordoned", drain: "draining" }[verb];
    if (isAlready(verb, spec, options)) session.print(`${name} already ${done}`);
    else {
      const patch = { spec: { unschedulable: verb !== "uncordon", evictAfter: null, drain } };
      // A previous request is replaced, not merged.
      const isOther = spec.drain !== undefined && verb === "drain";
      if (isOther)
        await resource.patch({ name }, { type: "merge", patch: { spec: { drain: null } } });
      await resource.patch({ name }, { type: "merge", patch });
      session.print(`${name} ${done}`);
    }
    const { wait = process.stdout.isTTY === true } = options;
    if (verb === "drain" && wait) await untilDrained(session, resource, name, options);
  } catch (error) {
    if (isStatusError(error, "NotFound")) throw new Error(`there is no SyncTarget ${name}`);
    throw error;
  }
}

function isAlready(
  verb: SchedulingVerb,
  { unschedulable = false, evictAfter, drain }: NonNullable<SyncTarget["spec"]>,
  options: DrainOptions,
): boolean {
  const isLeaving = evictAfter !== undefined || drain !== undefined;
  if (verb === "cordon") return unschedulable && !isLeaving;
  if (verb === "uncordon") return !unschedulable && !isLeaving;
  const isPlain = Object.keys(drainOf(options)).length === 0;
  return drain !== undefined && isPlain;
}

function drainOf({ maxWorkloads, maxReplicas, deadline, deleteAfterDrain }: DrainOptions) {
  const workloads = countOf(maxWorkloads, "--max-workloads");
  const replicas = countOf(maxReplicas, "--max-replicas");
  const budget = {
    ...(workloads === undefined ? {} : { workloads }),
    ...(replicas === undefined ? {} : { replicas }),
  };
  return {
    ...(Object.keys(budget).length === 0 ? {} : { budget }),
    ...(deadline === undefined
      ? {}
      : { deadlineSeconds: Math.max(1, Math.ceil(durationMs(deadline, "--deadline") / 1000)) }),
    ...(deleteAfterDrain === true ? { deleteAfterDrain } : {}),
  };
}

function countOf(text: string | undefined, flag: string): number | undefined {
  if (text === undefined) return undefined;
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new Error(`invalid ${flag} ${text}: 1 or more`);
  return Number(text);
}

/** Prints the progress of the drain. Interrupting the command ends the output, not the drain. */
async function untilDrained(
  session: Session,
  resource: ResourceClient<SyncTarget>,
  name: string,
  options: DrainOptions,
): Promise<void> {
  const progress = new Progress(session, options.timeout);
  await progress.until(async () => {
    const target = await resource.find({ name });
    // With deleteAfterDrain the SyncTarget is deleted when the cluster is empty.
    if (target === undefined) return { isDone: true, line: `${name} drained and removed` };
    const drained = findCondition(target.status?.conditions, "Drained");
    const isLeaving = options.deleteAfterDrain === true;
    if (drained?.status === "True" && !isLeaving) return { isDone: true, line: `${name} drained` };
    return { isDone: false, line: progressLine(target) };
  }, `${name} is not drained yet: it goes on, see kubectl describe synctarget ${name}`);
}

function progressLine({ status, metadata: { name } }: SyncTarget): string {
  const { drain } = status ?? {};
  if (drain === undefined) return `${name}: starting`;
  const { moved, total, blocked = [], estimatedEnd } = drain;
  const [first] = blocked;
  const held =
    first === undefined
      ? ""
      : `, ${blocked.length} blocked (${first.namespace ?? ""}/${first.name}: ${first.reason})`;
  const end = estimatedEnd === undefined ? "" : `, until about ${estimatedEnd}`;
  return `${name}: ${moved} of ${total} workloads moved${held}${end}`;
}
