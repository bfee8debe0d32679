/**
 * StatefulSets: Pods with stable names, created in order, updated in reverse order, each with
 * claims of its own.
 */
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { isStatusError } from "@kcp-ts/machinery/status";
import { type Client, Controller, enqueueOwner, type ObjectKey } from "@kcp-ts/sdk";
import {
  isAvailable,
  isReady,
  isTerminating,
  type Pod,
  persistentVolumeClaims,
  pods,
  type StatefulSet,
  statefulSets,
  writeStatus,
} from "../api/index.ts";
import type { WorkloadContext } from "./context.ts";
import { ControllerRevisions, revisionLabel } from "./controller-revisions.ts";
import { PodControl } from "./pod-control.ts";

export function statefulSetController(context: WorkloadContext): Controller {
  const sets = new StatefulSets(context);
  return new Controller({
    name: "statefulset",
    ...context,
    concurrency: 8,
    reconcile: (key, { client }) => sets.reconcile(key, client),
  })
    .watch(statefulSets)
    .watch(pods, { map: enqueueOwner(statefulSets) });
}

class StatefulSets {
  readonly #context: WorkloadContext;
  readonly #control: PodControl;
  readonly #revisions: ControllerRevisions;
  readonly #found;

  constructor(context: WorkloadContext) {
    this.#context = context;
    this.#control = new PodControl(context, statefulSets);
    this.#revisions = new ControllerRevisions(context, statefulSets);
    this.#found = context.clusters.source(statefulSets);
  }

  async reconcile(key: ObjectKey, client: Client): Promise<undefined> {
    const set = this.#found.store.get(key);
    if (set === undefined || isTerminating(set)) return;
    const all = this.#control.of(set, key.cluster);
    const update = await this.#revisions.current(set, key.cluster, client);
    const current = set.status?.currentRevision ?? update;
    if (this.#control.isObserved(set)) await this.#step(set, all, { update, current }, client);
    await this.#writeStatus(set, all, { update, current }, client);
    const inUse = new Set([update, current, ...all.map((pod) => revisionOf(set, pod))]);
    await this.#revisions.forget(set, key.cluster, inUse, client);
  }

  /** One Pod at a time, unless podManagementPolicy is Parallel. */
  async #step(
    set: StatefulSet,
    all: readonly Pod[],
    revisions: Revisions,
    client: Client,
  ): Promise<void> {
    const isOrdered = set.spec.podManagementPolicy !== "Parallel";
    const wanted = ordinalsOf(set);
    const byName = new Map(all.map((pod) => [pod.metadata.name, pod]));
    for (const ordinal of wanted) {
      const pod = byName.get(nameOf(set, ordinal));
      const isOver = pod?.status?.phase === "Failed" || pod?.status?.phase === "Succeeded";
      if (pod === undefined) await this.#create(set, ordinal, revisions, client);
      else if (isOver && !isTerminating(pod)) await this.#control.delete(client, set, pod);
      else if (!isOrdered || (isReady(pod) && !isTerminating(pod))) continue;
      if (isOrdered) return;
    }
    const names = new Set(wanted.map((ordinal) => nameOf(set, ordinal)));
    const surplus = all.filter((pod) => !names.has(pod.metadata.name)).sort(byOrdinalDown);
    for (const pod of surplus) {
      if (!isTerminating(pod)) await this.#control.delete(client, set, pod);
      if (isOrdered) return;
    }
    await this.#roll(set, byName, revisions, client);
  }

  /**
   * Updates from the highest ordinal down to the partition, each when the previous Pod is ready
   * again.
   */
  async #roll(
    set: StatefulSet,
    byName: ReadonlyMap<string, Pod>,
    { update }: Revisions,
    client: Client,
  ): Promise<void> {
    const { type = "RollingUpdate", rollingUpdate } = set.spec.updateStrategy ?? {};
    if (type === "OnDelete") return;
    const partition = firstOf(set) + (rollingUpdate?.partition ?? 0);
    for (const ordinal of ordinalsOf(set).reverse()) {
      if (ordinal < partition) return;
      const pod = byName.get(nameOf(set, ordinal));
      if (pod === undefined || isTerminating(pod)) return;
      if (revisionOf(set, pod) !== update) return this.#control.delete(client, set, pod);
      if (!isReady(pod)) return;
    }
  }

  async #create(
    set: StatefulSet,
    ordinal: number,
    { update, current }: Revisions,
    client: Client,
  ): Promise<void> {
    const name = nameOf(set, ordinal);
    const claims = set.spec.volumeClaimTemplates ?? [];
    for (const claim of claims)
      await this.#ensureClaim(set, `${claim.metadata.name}-${name}`, claim, client);
    const partition = firstOf(set) + (set.spec.updateStrategy?.rollingUpdate?.partition ?? 0);
    const revision = ordinal < partition ? current : update;
    const volumes = [
      ...(set.spec.template.spec.volumes ?? []),
      ...claims.map((claim) => ({
        name: claim.metadata.name,
        persistentVolumeClaim: { claimName: `${claim.metadata.name}-${name}` },
      })),
    ];
    await this.#control.create(client, {
      owner: set,
      template: set.spec.template,
      name,
      labels: {
        [revisionLabel]: revision,
        "statefulset.kubernetes.io/pod-name": name,
        "apps.kubernetes.io/pod-index": String(ordinal),
      },
      spec: {
        hostname: name,
        ...(set.spec.serviceName ? { subdomain: set.spec.serviceName } : {}),
        ...(volumes.length === 0 ? {} : { volumes }),
      },
    });
  }

  async #ensureClaim(
    set: StatefulSet,
    name: string,
    template: NonNullable<StatefulSet["spec"]["volumeClaimTemplates"]>[number],
    client: Client,
  ): Promise<void> {
    const { namespace = "" } = set.metadata;
    const labels = { ...template.metadata.labels, ...set.spec.selector.matchLabels };
    try {
      await client
        .resource(persistentVolumeClaims)
        .create({ metadata: { name, namespace, labels }, spec: template.spec as never });
    } catch (error) {
      if (!isStatusError(error, "AlreadyExists")) throw error;
    }
  }

  async #writeStatus(
    set: StatefulSet,
    all: readonly Pod[],
    { update, current }: Revisions,
    client: Client,
  ): Promise<void> {
    const nowMs = this.#context.clock.now();
    const { minReadySeconds = 0 } = set.spec;
    const living = all.filter((pod) => !isTerminating(pod));
    const count = (is: (pod: Pod) => boolean) => living.filter(is).length;
    const wanted = set.spec.replicas ?? 1;
    const updated = count((pod) => revisionOf(set, pod) === update);
    const ready = count(isReady);
    const isDone = updated === wanted && ready === wanted && all.length === wanted;
    const status = {
      observedGeneration: set.metadata.generation ?? 0,
      replicas: all.length,
      ...nonZero("readyReplicas", ready),
      ...nonZero(
        "currentReplicas",
        count((pod) => revisionOf(set, pod) === (isDone ? update : current)),
      ),
      ...nonZero("updatedReplicas", updated),
      currentRevision: isDone ? update : current,
      updateRevision: update,
      collisionCount: 0,
      availableReplicas: count((pod) => isAvailable(pod, minReadySeconds, nowMs)),
    };
    if (!jsonEqual(status as unknown as JsonValue, (set.status ?? {}) as unknown as JsonValue))
      await writeStatus(client, statefulSets, set, status);
  }
}

interface Revisions {
  readonly update: string;
  readonly current: string;
}

function nonZero(name: string, count: number): Record<string, number> {
  return count === 0 ? {} : { [name]: count };
}

/** The first ordinal, from which a partition counts. */
function firstOf({ spec }: StatefulSet): number {
  return spec.ordinals?.start ?? 0;
}

function ordinalsOf(set: StatefulSet): number[] {
  return Array.from({ length: set.spec.replicas ?? 1 }, (_, index) => firstOf(set) + index);
}

function nameOf({ metadata }: StatefulSet, ordinal: number): string {
  return `${metadata.name}-${ordinal}`;
}

function revisionOf(_set: StatefulSet, pod: Pod): string {
  return pod.metadata.labels?.[revisionLabel] ?? "";
}

function byOrdinalDown(a: Pod, b: Pod): number {
  const ordinal = ({ metadata }: Pod) => Number(/-(\d+)$/.exec(metadata.name)?.[1] ?? -1);
  return ordinal(b) - ordinal(a);
}
