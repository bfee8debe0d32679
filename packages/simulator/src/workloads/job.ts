/** Jobs: create Pods until enough of them have succeeded, or too many have failed. */
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  Controller,
  enqueueOwner,
  type ObjectKey,
  type ReconcileResult,
  timestamp,
} from "@kcp-ts/sdk";
import {
  type Condition,
  isActive,
  isReady,
  isTerminating,
  type Job,
  jobs,
  type Pod,
  pods,
  writeStatus,
} from "../api/index.ts";
import type { WorkloadContext } from "./context.ts";
import { PodControl } from "./pod-control.ts";

type Status = NonNullable<Job["status"]>;

const indexAnnotation = "batch.kubernetes.io/job-completion-index";

export function jobController(context: WorkloadContext): Controller {
  const all = new Jobs(context);
  return new Controller({
    name: "job",
    ...context,
    concurrency: 8,
    reconcile: (key, { client }) => all.reconcile(key, client),
  })
    .watch(jobs)
    .watch(pods, { map: enqueueOwner(jobs) });
}

/** Complete or Failed; undefined while the Job runs. */
export function finishedConditionOf({ status }: Job): Condition | undefined {
  return status?.conditions?.find(
    (one) => (one.type === "Complete" || one.type === "Failed") && one.status === "True",
  );
}

class Jobs {
  readonly #context: WorkloadContext;
  readonly #control: PodControl;
  readonly #found;

  constructor(context: WorkloadContext) {
    this.#context = context;
    this.#control = new PodControl(context, jobs);
    this.#found = context.clusters.source(jobs);
  }

  async reconcile(key: ObjectKey, client: Client): Promise<ReconcileResult> {
    const job = this.#found.store.get(key);
    if (job === undefined || isTerminating(job)) return undefined;
    if (finishedConditionOf(job) !== undefined) return this.#expire(job, client);
    const all = this.#control.of(job, key.cluster);
    const tally = tallyOf(job, all);
    const result = jobOutcomeOf(job, tally, this.#context.clock.now());
    const active = all.filter(isActive);
    if (result !== undefined || job.spec.suspend === true)
      await this.#control.deleteMany(client, job, active);
    else if (this.#control.isObserved(job)) await this.#fill(job, active, tally, client);
    await this.#writeStatus(job, all, tally, result, client);
    const { activeDeadlineSeconds: seconds } = job.spec;
    const startMs = Date.parse(job.status?.startTime ?? "");
    if (seconds === undefined || Number.isNaN(startMs)) return undefined;
    return { requeueAfterMs: Math.max(100, startMs + seconds * 1000 - this.#context.clock.now()) };
  }

  async #fill(job: Job, active: readonly Pod[], tally: Tally, client: Client): Promise<void> {
    const { parallelism = 1, completions } = job.spec;
    const left =
      completions === undefined
        ? tally.succeeded > 0
          ? 0
          : parallelism
        : completions - tally.succeeded;
    const missing = Math.min(parallelism, left) - active.length;
    if (missing < 0 && completions !== undefined)
      return this.#control.deleteMany(client, job, active.slice(missing));
    const options = { owner: job, template: job.spec.template };
    if (job.spec.completionMode !== "Indexed")
      return this.#control.createMany(client, Math.max(0, missing), options);
    const taken = new Set([...tally.indexes, ...active.map(indexOf)]);
    for (let index = 0, made = 0; index < (completions ?? 0) && made < missing; index++) {
      if (taken.has(index)) continue;
      made++;
      const text = String(index);
      await this.#control.create(client, {
        ...options,
        labels: { [indexAnnotation]: text },
        annotations: { [indexAnnotation]: text },
        spec: { hostname: `${job.metadata.name}-${text}` },
      });
    }
  }

  async #writeStatus(
    job: Job,
    all: readonly Pod[],
    tally: Tally,
    result: JobOutcome | undefined,
    client: Client,
  ): Promise<void> {
    const now = timestamp(this.#context.clock.now());
    const active = result === undefined && job.spec.suspend !== true ? all.filter(isActive) : [];
    const others = (job.status?.conditions ?? []).filter(({ type }) => type !== "Suspended");
    const suspended = suspendedCondition(job, now);
    const conditions = [
      ...others,
      ...(suspended === undefined ? [] : [suspended]),
      ...(result === undefined ? [] : [conditionOf(result, now)]),
    ];
    const startTime = job.spec.suspend === true ? undefined : (job.status?.startTime ?? now);
    const status: Status = {
      ...(conditions.length === 0 ? {} : { conditions }),
      ...(startTime === undefined ? {} : { startTime }),
      ...(result?.type === "Complete" ? { completionTime: now } : {}),
      ...(active.length === 0 ? {} : { active: active.length }),
      ...(tally.succeeded === 0 ? {} : { succeeded: tally.succeeded }),
      ...(tally.failed === 0 ? {} : { failed: tally.failed }),
      ready: active.filter(isReady).length,
      terminating: all.filter(isTerminating).length,
      ...(tally.indexes.size === 0 ? {} : { completedIndexes: rangesOf(tally.indexes) }),
      uncountedTerminatedPods: {},
    };
    if (!jsonEqual(status as unknown as JsonValue, (job.status ?? {}) as unknown as JsonValue))
      await writeStatus(client, jobs, job, status);
  }

  async #expire(job: Job, client: Client): Promise<ReconcileResult> {
    const { ttlSecondsAfterFinished: seconds } = job.spec;
    if (seconds === undefined) return undefined;
    const endMs = Date.parse(finishedConditionOf(job)?.lastTransitionTime ?? "");
    const leftMs = endMs + seconds * 1000 - this.#context.clock.now();
    if (leftMs > 0) return { requeueAfterMs: leftMs };
    const { name, namespace = "", uid = "" } = job.metadata;
    await client
      .resource(jobs)
      .delete({ name, namespace }, { propagationPolicy: "Background", preconditions: { uid } })
      .catch((error: unknown) => {
        if (!isStatusError(error, "NotFound")) throw error;
      });
    return undefined;
  }
}

interface Tally {
  readonly succeeded: number;
  readonly failed: number;
  readonly indexes: ReadonlySet<number>;
}

/** Counted Pods stay counted, also when they are deleted. */
function tallyOf({ spec, status }: Job, all: readonly Pod[]): Tally {
  const done = all.filter((pod) => pod.status?.phase === "Succeeded");
  const failed = all.filter((pod) => pod.status?.phase === "Failed").length;
  const indexes =
    spec.completionMode === "Indexed"
      ? new Set([...indexesIn(status?.completedIndexes ?? ""), ...done.map(indexOf)])
      : new Set<number>();
  const succeeded = spec.completionMode === "Indexed" ? indexes.size : done.length;
  return {
    succeeded: Math.max(succeeded, status?.succeeded ?? 0),
    failed: Math.max(failed, status?.failed ?? 0),
    indexes,
  };
}

interface JobOutcome {
  readonly type: "Complete" | "Failed";
  readonly reason: string;
  readonly message: string;
}

function jobOutcomeOf({ spec, status }: Job, tally: Tally, nowMs: number): JobOutcome | undefined {
  const { completions, parallelism = 1, backoffLimit = 6, activeDeadlineSeconds } = spec;
  const wanted = completions ?? Math.min(1, parallelism);
  if (tally.failed > backoffLimit)
    return {
      type: "Failed",
      reason: "BackoffLimitExceeded",
      message: "Job has reached the specified backoff limit",
    };
  const startMs = Date.parse(status?.startTime ?? "");
  if (activeDeadlineSeconds !== undefined && nowMs - startMs >= activeDeadlineSeconds * 1000)
    return {
      type: "Failed",
      reason: "DeadlineExceeded",
      message: "Job was active longer than specified deadline",
    };
  if (tally.succeeded >= wanted && wanted > 0)
    return {
      type: "Complete",
      reason: "CompletionsReached",
      message: "Reached expected number of succeeded pods",
    };
  return undefined;
}

function conditionOf(jobOutcome: JobOutcome, now: string): Condition {
  return { ...jobOutcome, status: "True", lastProbeTime: now, lastTransitionTime: now };
}

function suspendedCondition({ spec, status }: Job, now: string): Condition | undefined {
  const known = status?.conditions?.find(({ type }) => type === "Suspended");
  const isSuspended = spec.suspend === true;
  if (!isSuspended && known === undefined) return undefined;
  const wanted = isSuspended ? "True" : "False";
  if (known?.status === wanted) return known;
  return {
    type: "Suspended",
    status: wanted,
    lastProbeTime: now,
    lastTransitionTime: now,
    reason: isSuspended ? "JobSuspended" : "JobResumed",
    message: isSuspended ? "Job suspended" : "Job resumed",
  };
}

function indexOf({ metadata }: Pod): number {
  return Number(metadata.annotations?.[indexAnnotation] ?? -1);
}

/** `0-2,5`. */
export function rangesOf(indexes: ReadonlySet<number>): string {
  const sorted = [...indexes].sort((a, b) => a - b);
  const parts: [number, number][] = [];
  for (const index of sorted) {
    const last = parts.at(-1);
    if (last !== undefined && last[1] === index - 1) last[1] = index;
    else parts.push([index, index]);
  }
  return parts.map(([from, to]) => (from === to ? String(from) : `${from}-${to}`)).join(",");
}

export function indexesIn(text: string): number[] {
  if (text === "") return [];
  return text.split(",").flatMap((part) => {
    const [from = 0, to = from] = part.split("-").map(Number);
    return Array.from({ length: to - from + 1 }, (_, index) => from + index);
  });
}
