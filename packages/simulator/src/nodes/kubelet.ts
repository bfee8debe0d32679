/**
 * The simulated kubelets of all nodes: Pods that are bound to a node start, report and end as their
 * behaviour says. No container runs.
 */
import type { Clock, Random } from "@kcp-ts/machinery/base";
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Change,
  type Client,
  type Clusters,
  Controller,
  type EventInput,
  type KubernetesObject,
  type ObjectKey,
  type ReconcileResult,
} from "@kcp-ts/sdk";
import { isTerminating, nodes, type Pod, pods, writeStatus } from "../api/index.ts";
import { behaviourOf } from "./behaviour.ts";
import type { DownNodes } from "./down-nodes.ts";
import { type PodNetworkInfo, reportAt } from "./pod-status.ts";

export interface KubeletOptions {
  readonly clusters: Clusters;
  readonly clock: Clock;
  readonly random: Random;
  readonly down: DownNodes;
  /** The range of start delays; each Pod has one in between. */
  readonly startDelayMs: { readonly min: number; readonly max: number };
  /** The run time of Pods that run to completion. */
  readonly runMs: number;
  /** The time from the deletion of a Pod to its end; never longer than its grace period. */
  readonly stopDelayMs: number;
  readonly hasSandboxCondition: boolean;
  readonly recordEvent: (object: KubernetesObject, eventInput: EventInput) => void;
  readonly onError: (error: unknown, key: ObjectKey) => void;
}

interface Run {
  readonly uid: string;
  readonly place: PodNetworkInfo;
  readonly startDelayMs: number;
  stopAtMs: number | undefined;
  isTold: boolean;
}

const concurrency = 32;

export function kubeletController(options: KubeletOptions): Controller {
  const kubelet = new Kubelet(options);
  const controller = new Controller({
    name: "kubelet",
    clusters: options.clusters,
    clock: options.clock,
    concurrency,
    onError: options.onError,
    reconcile: (key, { client }) => kubelet.reconcile(key, client),
  }).watch(pods, { predicate: concernsKubelet });
  // Pods of a node that is up again continue.
  options.down.onUp((name) => {
    for (const [key, pod] of kubelet.found.store.entries())
      if (pod.spec.nodeName === name) controller.enqueue(key);
  });
  return controller;
}

/** The watch event of a kubelet's own report needs no reconcile; timers trigger the next step. */
function concernsKubelet(change: Change<Pod>): boolean {
  const { object } = change;
  if ((object.spec.nodeName ?? "") === "") return false;
  if (change.type !== "updated" || change.previous.spec.nodeName !== object.spec.nodeName)
    return true;
  const [now, before] = [object.metadata, change.previous.metadata];
  return (
    now.deletionTimestamp !== before.deletionTimestamp ||
    now.finalizers?.length !== before.finalizers?.length ||
    JSON.stringify(now.annotations) !== JSON.stringify(before.annotations) ||
    object.spec.ephemeralContainers?.length !== change.previous.spec.ephemeralContainers?.length ||
    object.status?.phase === "Pending" ||
    gatesOf(object) !== gatesOf(change.previous)
  );
}

/** The conditions of readiness gates, which others set. */
function gatesOf({ spec, status }: Pod): string {
  const gates = spec.readinessGates?.map(({ conditionType }) =>
    status?.conditions?.find(({ type }) => type === conditionType),
  );
  return JSON.stringify(gates?.map((one) => one?.status));
}

class Kubelet {
  readonly found;
  readonly #nodes;
  readonly #options: KubeletOptions;
  readonly #runs = new Map<string, Run>();
  #addresses = 0;

  constructor(options: KubeletOptions) {
    this.#options = options;
    this.found = options.clusters.source(pods);
    this.#nodes = options.clusters.source(nodes);
  }

  async reconcile(key: ObjectKey, client: Client): Promise<ReconcileResult> {
    const id = `${key.namespace}/${key.name}`;
    const pod = this.found.store.get(key);
    if (pod === undefined) {
      this.#runs.delete(id);
      return undefined;
    }
    if (this.#options.down.has(pod.spec.nodeName ?? "")) return undefined;
    const run = this.#runOf(id, pod, key);
    if (isTerminating(pod)) return this.#stop(pod, run, client);
    return this.#report(pod, run, client);
  }

  async #report(pod: Pod, run: Run, client: Client): Promise<ReconcileResult> {
    const { clock, recordEvent, runMs } = this.#options;
    const behaviour = behaviourOf(pod, { startDelayMs: run.startDelayMs, runMs });
    const nowMs = clock.now();
    const { status, nextAtMs } = reportAt(pod, behaviour, run.place, nowMs);
    if (!jsonEqual(status as unknown as JsonValue, (pod.status ?? {}) as unknown as JsonValue))
      await writeStatus(client, pods, pod, status);
    if (status.phase === "Running" && !run.isTold) {
      run.isTold = true;
      for (const event of startEvents(pod)) recordEvent(pod, event);
    }
    const waiting = status.containerStatuses?.[0]?.state?.waiting;
    if (waiting?.reason === "CrashLoopBackOff")
      recordEvent(pod, { type: "Warning", reason: "BackOff", message: waiting.message ?? "" });
    return nextAtMs === undefined ? undefined : { requeueAfterMs: Math.max(1, nextAtMs - nowMs) };
  }

  async #stop(pod: Pod, run: Run, client: Client): Promise<ReconcileResult> {
    const { clock, stopDelayMs, recordEvent } = this.#options;
    const graceMs = (pod.metadata.deletionGracePeriodSeconds ?? 0) * 1000;
    const nowMs = clock.now();
    if (run.stopAtMs === undefined) {
      run.stopAtMs = nowMs + Math.min(graceMs, stopDelayMs);
      const names = pod.spec.containers.map(({ name }) => name).join(", ");
      recordEvent(pod, {
        type: "Normal",
        reason: "Killing",
        message: `Stopping container ${names}`,
      });
    }
    if (nowMs < run.stopAtMs) return { requeueAfterMs: run.stopAtMs - nowMs };
    // A Pod with finalizers is not removed by the kubelet.
    if (graceMs === 0 && (pod.metadata.finalizers ?? []).length > 0) return undefined;
    const { name, namespace = "", uid = "" } = pod.metadata;
    try {
      await client
        .resource(pods)
        .delete({ name, namespace }, { gracePeriodSeconds: 0, preconditions: { uid } });
    } catch (error) {
      if (!isStatusError(error, "NotFound") && !isStatusError(error, "Conflict")) throw error;
    }
    return undefined;
  }

  #runOf(id: string, pod: Pod, { cluster }: ObjectKey): Run {
    const uid = pod.metadata.uid ?? "";
    const known = this.#runs.get(id);
    if (known?.uid === uid) return known;
    const { clock, random, startDelayMs, hasSandboxCondition } = this.#options;
    const node = this.#nodes.store.get({ cluster, namespace: "", name: pod.spec.nodeName ?? "" });
    const hostIP =
      node?.status?.addresses?.find(({ type }) => type === "InternalIP")?.address ?? "10.0.0.1";
    const run: Run = {
      uid,
      place: {
        podIP: pod.spec.hostNetwork === true ? hostIP : this.#nextAddress(),
        hostIP,
        firstSeenAtMs: clock.now(),
        hasSandboxCondition,
      },
      startDelayMs: Math.round(
        startDelayMs.min + random.next() * (startDelayMs.max - startDelayMs.min),
      ),
      stopAtMs: undefined,
      isTold: false,
    };
    this.#runs.set(id, run);
    return run;
  }

  /** 10.244.0.0/14: a quarter of a million Pods before an address is reused. */
  #nextAddress(): string {
    const number = (this.#addresses++ % (2 ** 18 - 2)) + 1;
    return `10.${244 + (number >> 16)}.${(number >> 8) & 255}.${number & 255}`;
  }
}

function startEvents(pod: Pod): EventInput[] {
  return pod.spec.containers.flatMap(({ name, image = "" }): EventInput[] => [
    {
      type: "Normal",
      reason: "Pulled",
      message: `Container image "${image}" already present on machine`,
    },
    { type: "Normal", reason: "Created", message: `Created container: ${name}` },
    { type: "Normal", reason: "Started", message: `Started container ${name}` },
  ]);
}
