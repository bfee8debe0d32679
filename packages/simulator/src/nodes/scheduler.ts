/**
 * The scheduler: binds every Pod to the least loaded node that it fits. No preemption, no
 * preferences.
 */
import type { Clock, Random } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  type Clusters,
  Controller,
  type EventInput,
  type KubernetesObject,
  type ObjectKey,
  type ReconcileResult,
  resourcePath,
  timestamp,
} from "@kcp-ts/sdk";
import { isTerminating, type Node, nodes, type Pod, pods, writeStatus } from "../api/index.ts";
import { capacityOf, type Load, requestsOf, unfitReason } from "./node-fit.ts";
import { NodeLoads } from "./node-loads.ts";

export interface SchedulerOptions {
  readonly clusters: Clusters;
  readonly clock: Clock;
  readonly random: Random;
  readonly recordEvent: (object: KubernetesObject, eventInput: EventInput) => void;
  readonly onError: (error: unknown, key: ObjectKey) => void;
}

export const schedulerName = "default-scheduler";
const concurrency = 32;
/** Unschedulable Pods are retried when the cluster changes, and after this time at the latest. */
const retryMs = 60_000;

export function schedulerController(options: SchedulerOptions): Controller {
  const { clusters, clock } = options;
  const scheduler = new Scheduler(options);
  const controller = new Controller({
    name: "scheduler",
    clusters,
    clock,
    concurrency,
    onError: options.onError,
    reconcile: (key, { client }) => scheduler.reconcile(key, client),
  }).watch(pods, { predicate: ({ type, object }) => type !== "deleted" && isWaiting(object) });
  scheduler.onRoom((key) => controller.enqueue(key));
  return controller;
}

function isWaiting(pod: Pod): boolean {
  return (
    (pod.spec.nodeName ?? "") === "" &&
    (pod.spec.schedulerName ?? schedulerName) === schedulerName &&
    !isTerminating(pod) &&
    pod.status?.phase !== "Failed"
  );
}

class Scheduler {
  readonly #options: SchedulerOptions;
  readonly #pods;
  readonly #nodes;
  readonly #loads = new NodeLoads();
  readonly #waiting = new Map<string, ObjectKey>();
  #candidates: readonly Candidate[] | undefined;

  constructor(options: SchedulerOptions) {
    this.#options = options;
    this.#pods = options.clusters.source(pods);
    this.#nodes = options.clusters.source(nodes);
  }

  onRoom(retry: (key: ObjectKey) => void): void {
    const retryAll = () => {
      const keys = [...this.#waiting.values()];
      this.#waiting.clear();
      for (const key of keys) retry(key);
    };
    this.#pods.addHandler({
      added: (pod) => this.#loads.note(pod),
      updated: (pod) => this.#loads.note(pod),
      deleted: (pod) => {
        this.#loads.remove(pod.metadata.uid ?? "");
        retryAll();
      },
    });
    const nodesChanged = () => {
      this.#candidates = undefined;
      retryAll();
    };
    this.#nodes.addHandler({ added: nodesChanged, updated: nodesChanged, deleted: nodesChanged });
  }

  async reconcile(key: ObjectKey, client: Client): Promise<ReconcileResult> {
    const pod = this.#pods.store.get(key);
    if (pod === undefined || !isWaiting(pod)) return undefined;
    if ((pod.spec.schedulingGates ?? []).length > 0) return this.#hold(pod, client);
    const demand = requestsOf(pod);
    const choice = this.#choose(pod, demand);
    if (typeof choice !== "string") return this.#refuse(key, pod, choice, client);
    const { name, namespace = "", uid = "" } = pod.metadata;
    this.#loads.place(uid, choice, demand);
    try {
      await client.send({
        method: "POST",
        path: resourcePath(pods, { name, namespace, subresource: "binding" }),
        body: {
          apiVersion: "v1",
          kind: "Binding",
          metadata: { name, namespace, uid },
          target: { kind: "Node", name: choice },
        },
      });
    } catch (error) {
      this.#loads.remove(uid);
      if (isStatusError(error, "NotFound") || isStatusError(error, "Conflict")) return undefined;
      throw error;
    }
    this.#options.recordEvent(pod, {
      type: "Normal",
      reason: "Scheduled",
      message: `Successfully assigned ${namespace}/${name} to ${choice}`,
    });
    return undefined;
  }

  /** The least loaded node; a random one among equals. Or the reasons why there is none. */
  #choose(pod: Pod, demand: Load): string | readonly string[] {
    this.#candidates ??= this.#nodes.store
      .list()
      .map((node) => ({ node, capacity: capacityOf(node) }));
    const reasons: string[] = [];
    let best: string | undefined;
    let bestScore = Number.POSITIVE_INFINITY;
    for (const { node, capacity } of this.#candidates) {
      const { name } = node.metadata;
      const load = this.#loads.of(name);
      const reason = unfitReason(pod, demand, node, capacity, load);
      if (reason !== undefined) {
        reasons.push(reason);
        continue;
      }
      const score =
        load.pods / capacity.pods +
        (demand.cpu > 0 ? load.cpu / capacity.cpu : 0) +
        (demand.memory > 0 ? load.memory / capacity.memory : 0) +
        this.#options.random.next() * 1e-6;
      if (score < bestScore) [best, bestScore] = [name, score];
    }
    return best ?? reasons;
  }

  async #refuse(
    key: ObjectKey,
    pod: Pod,
    reasons: readonly string[],
    client: Client,
  ): Promise<ReconcileResult> {
    this.#waiting.set(`${key.namespace}/${key.name}`, key);
    const message = unschedulableMessage(reasons);
    this.#options.recordEvent(pod, { type: "Warning", reason: "FailedScheduling", message });
    await this.#condition(pod, "Unschedulable", message, client);
    return { requeueAfterMs: retryMs };
  }

  async #hold(pod: Pod, client: Client): Promise<undefined> {
    const message = "Scheduling is blocked due to non-empty scheduling gates";
    await this.#condition(pod, "SchedulingGated", message, client);
  }

  async #condition(pod: Pod, reason: string, message: string, client: Client): Promise<void> {
    const known = pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
    if (known?.reason === reason && known.message === message) return;
    const others = (pod.status?.conditions ?? []).filter((one) => one !== known);
    const lastTransitionTime = known?.lastTransitionTime ?? timestamp(this.#options.clock.now());
    const condition = {
      type: "PodScheduled",
      status: "False",
      reason,
      message,
      lastTransitionTime,
    };
    await writeStatus(client, pods, pod, { ...pod.status, conditions: [...others, condition] });
  }
}

interface Candidate {
  readonly node: Node;
  readonly capacity: ReturnType<typeof capacityOf>;
}

/** `0/3 nodes are available: 1 Insufficient cpu, 2 Too many pods.` */
export function unschedulableMessage(reasons: readonly string[]): string {
  if (reasons.length === 0) return "no nodes available to schedule pods";
  const counts = new Map<string, number>();
  for (const reason of reasons) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  const parts = [...counts].map(([reason, count]) => `${count} ${reason}`).sort();
  return `0/${reasons.length} nodes are available: ${parts.join(", ")}.`;
}
