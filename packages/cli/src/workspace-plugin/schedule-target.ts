/**
 * `kubectl kcp cordon|uncordon|drain <name>`: makes a cluster unschedulable, moves its workloads
 * away, or reverts both.
 */
import { systemClock } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type SyncTarget, syncTargets } from "@kcp-ts/multicluster";
import { findCondition, type ResourceClient } from "@kcp-ts/sdk";
import { durationMs } from "./durations.ts";
import { Progress } from "./progress.ts";
import type { Session } from "./session.ts";

type DrainBlocker = NonNullable<
  NonNullable<NonNullable<SyncTarget["status"]>["drain"]>["blocked"]
>[number];

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

/** All clusters are changed first: a drain that waits for one does not delay the next. */
export async function scheduleTargets(
  session: Session,
  names: readonly string[],
  verb: SchedulingVerb,
  options: DrainOptions = {},
): Promise<void> {
  for (const name of names) await scheduleTarget(session, name, verb, options);
  if (verb !== "drain") return;
  const resource = session.clientIn(session.address.workspace).resource(syncTargets);
  const { wait = process.stdout.isTTY === true } = options;
  for (const name of names)
    if (wait) await untilDrained(session, resource, name, options);
    else session.print(`kubectl kcp drain ${name} --wait shows the progress`);
}

async function scheduleTarget(
  session: Session,
  name: string,
  verb: SchedulingVerb,
  options: DrainOptions,
): Promise<void> {
  const resource = session.clientIn(session.address.workspace).resource(syncTargets);
  const drain = verb === "drain" ? drainOf(options) : null;
  try {
    const { spec = {} } = await resource.get({ name });
    const done = { cordon: "cordoned", uncordon: "uncordoned", drain: "draining" }[verb];
    if (isAlready(verb, spec, options)) session.print(`${name} already ${done}`);
    else {
      const patch = { spec: { unschedulable: verb !== "uncordon", drain } };
      // A previous request is replaced, not merged.
      const isOther = spec.drain !== undefined && verb === "drain";
      if (isOther)
        await resource.patch({ name }, { type: "merge", patch: { spec: { drain: null } } });
      await resource.patch({ name }, { type: "merge", patch });
      session.print(`${name} ${done}`);
    }
  } catch (error) {
    if (isStatusError(error, "NotFound")) throw new Error(`there is no SyncTarget ${name}`);
    throw error;
  }
}

function isAlready(
  verb: SchedulingVerb,
  { unschedulable = false, drain }: NonNullable<SyncTarget["spec"]>,
  options: DrainOptions,
): boolean {
  const isLeaving = drain !== undefined;
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

/**
 * Prints the progress of the drain, and each blocked workload once. Interrupting the command ends
 * the output, not the drain.
 */
async function untilDrained(
  session: Session,
  resource: ResourceClient<SyncTarget>,
  name: string,
  options: DrainOptions,
): Promise<void> {
  const progress = new Progress(session, options.timeout);
  const late = `${name} is not drained yet, and the drain goes on: kubectl kcp drain ${name} --wait shows its progress, kubectl kcp uncordon ${name} cancels it`;
  await progress.until(async () => {
    const target = await resource.find({ name });
    // With deleteAfterDrain the SyncTarget is deleted when the cluster is empty.
    if (target === undefined) return { isDone: true, line: `${name} drained and removed` };
    const { drain } = target.status ?? {};
    const { status, message = "" } = findCondition(target.status?.conditions, "Drained") ?? {};
    if (status === "True" && options.deleteAfterDrain !== true)
      return { isDone: true, line: `${name} drained: ${message}` };
    // Elsewhere than on a terminal, each second would be a line.
    const isLive = process.stdout.isTTY === true;
    const left = isLive ? timeLeft(drain?.estimatedEnd ?? "") : "";
    return {
      isDone: false,
      line: drain === undefined ? `${name}: starting` : `${name}: ${message}${left}`,
      notes: (drain?.blocked ?? []).map(blockerLine),
    };
  }, late);
}

function blockerLine({ kind, namespace = "", name, reason, message }: DrainBlocker): string {
  return `blocked: ${kind.toLowerCase()}/${name} -n ${namespace} (${reason}): ${message}`;
}

/** Nothing is said of an end that has passed: the next look of the drain estimates it again. */
function timeLeft(estimatedEnd: string): string {
  const seconds = Math.ceil((Date.parse(estimatedEnd) - systemClock.now()) / 1000);
  if (!(seconds > 0)) return "";
  return `, about ${seconds < 120 ? `${seconds} s` : `${Math.round(seconds / 60)} min`} left`;
}
