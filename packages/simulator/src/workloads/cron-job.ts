/** CronJobs: create Jobs on schedule. */
import { type JsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  Controller,
  enqueueOwner,
  type Indexers,
  type ObjectKey,
  type ReconcileResult,
  timestamp,
} from "@kcp-ts/sdk";
import {
  type CronJob,
  controlledBy,
  cronJobs,
  isTerminating,
  type Job,
  jobs,
  ownedBy,
  writeStatus,
} from "../api/index.ts";
import type { WorkloadContext } from "./context.ts";
import { type CronSchedule, nextAfter, parseSchedule } from "./cron-schedule.ts";
import { finishedConditionOf } from "./job.ts";

export function cronJobController(context: WorkloadContext): Controller {
  const all = new CronJobs(context);
  return new Controller({
    name: "cronjob",
    ...context,
    reconcile: (key, { client }) => all.reconcile(key, client),
  })
    .watch(cronJobs)
    .watch(jobs, { map: enqueueOwner(cronJobs) });
}

/** More missed times than this are not counted one by one. */
const missedMax = 100;

class CronJobs {
  readonly #context: WorkloadContext;
  readonly #found;
  readonly #jobs;

  constructor(context: WorkloadContext) {
    this.#context = context;
    this.#found = context.clusters.source(cronJobs);
    this.#jobs = context.clusters.source<Job>(jobs, { indexers: controlledBy as Indexers<Job> });
  }

  async reconcile(key: ObjectKey, client: Client): Promise<ReconcileResult> {
    const cron = this.#found.store.get(key);
    if (cron === undefined || isTerminating(cron)) return undefined;
    const schedule = parseSchedule(cron.spec.schedule);
    const { uid = "" } = cron.metadata;
    const owned = this.#jobs.store.byIndex("controller", { cluster: key.cluster, value: uid });
    const nowMs = this.#context.clock.now();
    const dueMs =
      schedule === undefined || cron.spec.suspend === true
        ? undefined
        : lastDue(cron, schedule, nowMs);
    let last = cron.status?.lastScheduleTime;
    if (dueMs !== undefined && (await this.#start(cron, owned, dueMs, client)))
      last = timestamp(dueMs);
    await this.#forget(cron, owned, client);
    await this.#writeStatus(cron, owned, last, client);
    const nextMs = schedule && nextAfter(schedule, nowMs);
    return nextMs === undefined || cron.spec.suspend === true
      ? undefined
      : { requeueAfterMs: nextMs - nowMs };
  }

  /** Whether this time is done: a Job was created, or must not be created. */
  async #start(
    cron: CronJob,
    owned: readonly Job[],
    dueMs: number,
    client: Client,
  ): Promise<boolean> {
    const running = owned.filter((job) => finishedConditionOf(job) === undefined);
    if (running.length > 0 && cron.spec.concurrencyPolicy === "Forbid") return false;
    if (cron.spec.concurrencyPolicy === "Replace")
      for (const job of running) await remove(job, client);
    const { jobTemplate } = cron.spec;
    const { name, namespace = "" } = cron.metadata;
    const jobName = `${name}-${Math.floor(dueMs / 60_000)}`;
    try {
      await client
        .resource(jobs)
        .create({
          metadata: {
            name: jobName,
            namespace,
            ...(jobTemplate.metadata?.labels === undefined
              ? {}
              : { labels: jobTemplate.metadata.labels }),
            annotations: {
              ...jobTemplate.metadata?.annotations,
              "batch.kubernetes.io/cronjob-scheduled-timestamp": timestamp(dueMs),
            },
            ownerReferences: [ownedBy(cron, cronJobs)],
          },
          spec: jobTemplate.spec,
        });
      const message = `Created job ${jobName}`;
      this.#context.recordEvent(cron, { type: "Normal", reason: "SuccessfulCreate", message });
    } catch (error) {
      if (!isStatusError(error, "AlreadyExists")) throw error;
    }
    return true;
  }

  async #forget(cron: CronJob, owned: readonly Job[], client: Client): Promise<void> {
    const { successfulJobsHistoryLimit: good = 3, failedJobsHistoryLimit: bad = 1 } = cron.spec;
    for (const [type, limit] of [
      ["Complete", good],
      ["Failed", bad],
    ] as const) {
      const ended = owned.filter(
        (job) => finishedConditionOf(job)?.type === type && !isTerminating(job),
      );
      ended.sort((a, b) => (a.metadata.name < b.metadata.name ? 1 : -1));
      for (const job of ended.slice(limit)) await remove(job, client);
    }
  }

  async #writeStatus(
    cron: CronJob,
    owned: readonly Job[],
    lastScheduleTime: string | undefined,
    client: Client,
  ): Promise<void> {
    const running = owned.filter((job) => finishedConditionOf(job) === undefined);
    const done = owned
      .map(({ status }) => status?.completionTime ?? "")
      .concat(cron.status?.lastSuccessfulTime ?? "")
      .sort()
      .at(-1);
    const status = {
      ...(running.length === 0 ? {} : { active: running.map(referenceTo) }),
      ...(lastScheduleTime === undefined ? {} : { lastScheduleTime }),
      ...(done === undefined || done === "" ? {} : { lastSuccessfulTime: done }),
    };
    if (!jsonEqual(status as JsonValue, (cron.status ?? {}) as unknown as JsonValue))
      await writeStatus(client, cronJobs, cron, status);
  }
}

/** The newest due time that is not done; times that are too old are skipped. */
function lastDue(cron: CronJob, schedule: CronSchedule, nowMs: number): number | undefined {
  const { lastScheduleTime } = cron.status ?? {};
  const { creationTimestamp = "" } = cron.metadata;
  let sinceMs = Date.parse(lastScheduleTime ?? creationTimestamp);
  const { startingDeadlineSeconds: seconds } = cron.spec;
  if (seconds !== undefined) sinceMs = Math.max(sinceMs, nowMs - seconds * 1000);
  let dueMs: number | undefined;
  for (let missed = 0; missed < missedMax; missed++) {
    const nextMs = nextAfter(schedule, dueMs ?? sinceMs);
    if (nextMs === undefined || nextMs > nowMs) break;
    dueMs = nextMs;
  }
  return dueMs;
}

function referenceTo({ metadata }: Job): JsonObject {
  const { name, namespace = "", uid = "", resourceVersion = "" } = metadata;
  return { apiVersion: "batch/v1", kind: "Job", name, namespace, uid, resourceVersion };
}

async function remove({ metadata }: Job, client: Client): Promise<void> {
  const { name, namespace = "", uid = "" } = metadata;
  await client
    .resource(jobs)
    .delete({ name, namespace }, { propagationPolicy: "Background", preconditions: { uid } })
    .catch((error: unknown) => {
      if (!isStatusError(error, "NotFound")) throw error;
    });
}
