/** ReplicaSets: keep the desired number of Pods of a template. */
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import {
  type Client,
  Controller,
  enqueueOwner,
  type ObjectKey,
  type ReconcileResult,
  timestamp,
} from "@kcp-ts/sdk";
import {
  isActive,
  isAvailable,
  isReady,
  isTerminating,
  type Pod,
  pods,
  type ReplicaSet,
  replicaSets,
  writeStatus,
} from "../api/index.ts";
import type { WorkloadContext } from "./context.ts";
import { PodControl } from "./pod-control.ts";
import { podsToDelete } from "./pods-to-delete.ts";

/**
 * The limit on Pods that one reconcile creates or deletes, as in Kubernetes: other keys get their
 * turn in between.
 */
export const burstReplicas = 500;
/**
 * A large set is not reconciled for each of its Pods, but after a delay in proportion to its size.
 */
const largeSet = 200;
const recountMsPerPod = 0.05;

export function replicaSetController(context: WorkloadContext): Controller {
  const sets = new ReplicaSets(context);
  return new Controller({
    name: "replicaset",
    ...context,
    concurrency: 8,
    reconcile: (key, { client }) => sets.reconcile(key, client),
  })
    .watch(replicaSets)
    .watch(pods, { map: enqueueOwner(replicaSets) });
}

class ReplicaSets {
  readonly #context: WorkloadContext;
  readonly #control: PodControl;
  readonly #found;
  readonly #countAgainAtMs = new Map<string, number>();

  constructor(context: WorkloadContext) {
    this.#context = context;
    this.#control = new PodControl(context, replicaSets);
    this.#found = context.clusters.source(replicaSets);
  }

  async reconcile(key: ObjectKey, client: Client): Promise<ReconcileResult> {
    const set = this.#found.store.get(key);
    if (set === undefined) return undefined;
    const uid = set.metadata.uid ?? "";
    if (isTerminating(set)) {
      this.#countAgainAtMs.delete(uid);
      this.#control.forget(uid);
      return undefined;
    }
    const nowMs = this.#context.clock.monotonic();
    const waitMs = (this.#countAgainAtMs.get(uid) ?? 0) - nowMs;
    if (waitMs > 0) return { requeueAfterMs: waitMs };
    const all = this.#control.of(set, key.cluster);
    if (all.length > largeSet) this.#countAgainAtMs.set(uid, nowMs + all.length * recountMsPerPod);
    const active = all.filter(isActive);
    const failure = await this.#manage(set, active, client);
    const status = statusOf(set, all, this.#context, failure?.error);
    if (!jsonEqual(status as unknown as JsonValue, (set.status ?? null) as unknown as JsonValue))
      await writeStatus(client, replicaSets, set, status);
    if (failure !== undefined) throw failure.error;
    return this.#untilAvailable(set, active);
  }

  /**
   * Creates missing Pods or deletes surplus ones; an error is written to the status before the
   * retry.
   */
  async #manage(
    set: ReplicaSet,
    active: readonly Pod[],
    client: Client,
  ): Promise<{ readonly error: unknown } | undefined> {
    const missing = (set.spec.replicas ?? 1) - active.length;
    if (missing === 0 || !this.#control.isObserved(set)) return undefined;
    const count = Math.min(Math.abs(missing), burstReplicas);
    try {
      if (missing < 0) await this.#control.deleteMany(client, set, podsToDelete(active, count));
      else
        await this.#control.createMany(client, count, { owner: set, template: set.spec.template });
      return undefined;
    } catch (error) {
      return { error };
    }
  }

  #untilAvailable(set: ReplicaSet, active: readonly Pod[]): ReconcileResult {
    const seconds = set.spec.minReadySeconds ?? 0;
    if (seconds === 0) return undefined;
    const nowMs = this.#context.clock.now();
    const isWaiting = active.some((pod) => isReady(pod) && !isAvailable(pod, seconds, nowMs));
    return isWaiting ? { requeueAfterMs: 1000 } : undefined;
  }
}

function statusOf(
  set: ReplicaSet,
  all: readonly Pod[],
  { clock, knowsTerminatingReplicas }: WorkloadContext,
  failure: unknown,
): NonNullable<ReplicaSet["status"]> {
  const minReadySeconds = set.spec.minReadySeconds ?? 0;
  const nowMs = clock.now();
  const labels = Object.entries(set.spec.template.metadata?.labels ?? {});
  let [replicas, ready, available, labelled, terminating] = [0, 0, 0, 0, 0];
  for (const pod of all) {
    if (!isActive(pod)) {
      if (isTerminating(pod)) terminating++;
      continue;
    }
    replicas++;
    if (labels.every(([key, value]) => pod.metadata.labels?.[key] === value)) labelled++;
    if (!isReady(pod)) continue;
    ready++;
    if (isAvailable(pod, minReadySeconds, nowMs)) available++;
  }
  const conditions = failureCondition(set, failure, nowMs);
  return {
    replicas,
    ...(labelled === 0 ? {} : { fullyLabeledReplicas: labelled }),
    ...(ready === 0 ? {} : { readyReplicas: ready }),
    ...(available === 0 ? {} : { availableReplicas: available }),
    ...(knowsTerminatingReplicas ? { terminatingReplicas: terminating } : {}),
    observedGeneration: set.metadata.generation ?? 0,
    ...(conditions.length === 0 ? {} : { conditions }),
  };
}

function failureCondition(set: ReplicaSet, failure: unknown, nowMs: number) {
  const others = (set.status?.conditions ?? []).filter(({ type }) => type !== "ReplicaFailure");
  if (failure === undefined) return others;
  const known = set.status?.conditions?.find(({ type }) => type === "ReplicaFailure");
  const message = failure instanceof Error ? failure.message : String(failure);
  return [
    ...others,
    {
      type: "ReplicaFailure",
      status: "True",
      reason: "FailedCreate",
      message,
      lastTransitionTime: known?.lastTransitionTime ?? timestamp(nowMs),
    },
  ];
}
