/** DaemonSets: one Pod on every node that it fits. */
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { type Client, Controller, enqueueOwner, type ObjectKey } from "@kcp-ts/sdk";
import {
  type DaemonSet,
  daemonSets,
  isAvailable,
  isReady,
  isTerminating,
  type Node,
  nodes,
  type Pod,
  pods,
  type Toleration,
  writeStatus,
} from "../api/index.ts";
import type { WorkloadContext } from "./context.ts";
import { ControllerRevisions, revisionLabel } from "./controller-revisions.ts";
import { PodControl } from "./pod-control.ts";
import { amount } from "./rollout.ts";

/** A daemon Pod stays on its node in spite of node conditions. */
const daemonTolerations: readonly Toleration[] = [
  { key: "node.kubernetes.io/not-ready", operator: "Exists", effect: "NoExecute" },
  { key: "node.kubernetes.io/unreachable", operator: "Exists", effect: "NoExecute" },
  { key: "node.kubernetes.io/disk-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/memory-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/pid-pressure", operator: "Exists", effect: "NoSchedule" },
  { key: "node.kubernetes.io/unschedulable", operator: "Exists", effect: "NoSchedule" },
];

export function daemonSetController(context: WorkloadContext): Controller {
  const sets = new DaemonSets(context);
  const controller = new Controller({
    name: "daemonset",
    ...context,
    concurrency: 8,
    reconcile: (key, { client }) => sets.reconcile(key, client),
  })
    .watch(daemonSets)
    .watch(pods, { map: enqueueOwner(daemonSets) });
  return controller.watch(nodes, { map: () => sets.keys() });
}

class DaemonSets {
  readonly #context: WorkloadContext;
  readonly #control: PodControl;
  readonly #revisions: ControllerRevisions;
  readonly #found;
  readonly #nodes;

  constructor(context: WorkloadContext) {
    this.#context = context;
    this.#control = new PodControl(context, daemonSets);
    this.#revisions = new ControllerRevisions(context, daemonSets);
    this.#found = context.clusters.source(daemonSets);
    this.#nodes = context.clusters.source(nodes);
  }

  *keys(): Iterable<ObjectKey> {
    for (const [key] of this.#found.store.entries()) yield key;
  }

  async reconcile(key: ObjectKey, client: Client): Promise<undefined> {
    const set = this.#found.store.get(key);
    if (set === undefined || isTerminating(set)) return;
    const revision = await this.#revisions.current(set, key.cluster, client);
    const hash = revision.slice(set.metadata.name.length + 1);
    const all = this.#control.of(set, key.cluster);
    const wanted = this.#nodes.store.list().filter((node) => isMeant(set, node));
    const names = new Set(wanted.map(({ metadata }) => metadata.name));
    const byNode = new Map<string, Pod[]>();
    for (const pod of all) byNode.set(nodeOf(pod), [...(byNode.get(nodeOf(pod)) ?? []), pod]);
    if (this.#control.isObserved(set)) {
      await this.#place(set, wanted, byNode, hash, client);
      const strays = all.filter((pod) => !names.has(nodeOf(pod)) && !isTerminating(pod));
      await this.#control.deleteMany(client, set, strays);
      await this.#roll(set, wanted, byNode, hash, client);
    }
    await this.#writeStatus(set, wanted, byNode, hash, client);
    const inUse = new Set([revision]);
    await this.#revisions.forget(set, key.cluster, inUse, client);
  }

  async #place(
    set: DaemonSet,
    wanted: readonly Node[],
    byNode: ReadonlyMap<string, readonly Pod[]>,
    hash: string,
    client: Client,
  ): Promise<void> {
    for (const { metadata } of wanted) {
      const there = byNode.get(metadata.name) ?? [];
      const failed = there.filter(({ status }) => status?.phase === "Failed");
      await this.#control.deleteMany(
        client,
        set,
        failed.filter((pod) => !isTerminating(pod)),
      );
      if (there.length > 0) continue;
      await this.#control.create(client, {
        owner: set,
        template: set.spec.template,
        labels: {
          [revisionLabel]: hash,
          "pod-template-generation": String(set.metadata.generation ?? 1),
        },
        spec: {
          affinity: onNode(metadata.name),
          tolerations: [...(set.spec.template.spec.tolerations ?? []), ...daemonTolerations],
        },
      });
    }
  }

  /** Deletes old Pods within maxUnavailable; the next reconcile creates new ones. */
  async #roll(
    set: DaemonSet,
    wanted: readonly Node[],
    byNode: ReadonlyMap<string, readonly Pod[]>,
    hash: string,
    client: Client,
  ): Promise<void> {
    const { type = "RollingUpdate", rollingUpdate } = set.spec.updateStrategy ?? {};
    if (type !== "RollingUpdate") return;
    const max = Math.max(1, amount(rollingUpdate?.maxUnavailable ?? 1, wanted.length, Math.ceil));
    const living = wanted.map(({ metadata }) =>
      (byNode.get(metadata.name) ?? []).find((pod) => !isTerminating(pod)),
    );
    let spare = max - living.filter((pod) => pod === undefined || !isReady(pod)).length;
    for (const pod of living) {
      if (pod === undefined || pod.metadata.labels?.[revisionLabel] === hash) continue;
      if (isReady(pod) && spare-- <= 0) continue;
      await this.#control.delete(client, set, pod);
    }
  }

  async #writeStatus(
    set: DaemonSet,
    wanted: readonly Node[],
    byNode: ReadonlyMap<string, readonly Pod[]>,
    hash: string,
    client: Client,
  ): Promise<void> {
    const nowMs = this.#context.clock.now();
    const { minReadySeconds = 0 } = set.spec;
    const living = wanted.flatMap(({ metadata }) =>
      (byNode.get(metadata.name) ?? []).filter((pod) => !isTerminating(pod)).slice(0, 1),
    );
    const count = (is: (pod: Pod) => boolean) => living.filter(is).length;
    const available = count((pod) => isAvailable(pod, minReadySeconds, nowMs));
    const updated = count((pod) => pod.metadata.labels?.[revisionLabel] === hash);
    const status = {
      currentNumberScheduled: living.length,
      numberMisscheduled: 0,
      desiredNumberScheduled: wanted.length,
      numberReady: count(isReady),
      observedGeneration: set.metadata.generation ?? 0,
      ...(updated === 0 ? {} : { updatedNumberScheduled: updated }),
      ...(available === 0 ? {} : { numberAvailable: available }),
      ...(available === wanted.length ? {} : { numberUnavailable: wanted.length - available }),
    };
    if (!jsonEqual(status as unknown as JsonValue, (set.status ?? {}) as unknown as JsonValue))
      await writeStatus(client, daemonSets, set, status);
  }
}

function onNode(name: string) {
  return {
    nodeAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: {
        nodeSelectorTerms: [
          { matchFields: [{ key: "metadata.name", operator: "In", values: [name] }] },
        ],
      },
    },
  };
}

/** The node of a daemon Pod, bound or not. */
function nodeOf({ spec }: Pod): string {
  if (spec.nodeName !== undefined && spec.nodeName !== "") return spec.nodeName;
  const affinity = spec.affinity as ReturnType<typeof onNode> | undefined;
  const [term] =
    affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  return term?.matchFields?.[0]?.values[0] ?? "";
}

function isMeant({ spec }: DaemonSet, { metadata, spec: node }: Node): boolean {
  const template = spec.template.spec;
  const labels = metadata.labels ?? {};
  const isSelected = Object.entries(template.nodeSelector ?? {}).every(
    ([key, value]) => labels[key] === value,
  );
  const tolerations = [...(template.tolerations ?? []), ...daemonTolerations];
  const refused = (node?.taints ?? []).some(
    (taint) =>
      taint.effect !== "PreferNoSchedule" &&
      !tolerations.some(
        ({ key = "", operator = "Equal", value = "", effect = "" }) =>
          (effect === "" || effect === taint.effect || isNodeTrouble(taint.key)) &&
          (key === "" ? operator === "Exists" : key === taint.key) &&
          (operator === "Exists" || value === (taint.value ?? "")),
      ),
  );
  return isSelected && !refused;
}

/** Daemon Pods tolerate these taints with any effect. */
function isNodeTrouble(key: string): boolean {
  return key === "node.kubernetes.io/not-ready" || key === "node.kubernetes.io/unreachable";
}
