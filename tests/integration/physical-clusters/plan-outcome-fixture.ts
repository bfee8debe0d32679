/**
 * For the test that compares plans with what happens: trials by seed, each in a logical cluster of
 * its own, over simulated clusters that all trials share.
 */
import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import {
  type PlacementReviewSpec,
  type PlannedChange,
  placementReviews,
  type ReviewedPlan,
  type SyncTarget,
  type SyncTargetSpec,
  syncTargets,
  workloadPlacements,
} from "@kcp-ts/multicluster";
import { type Client, defineResource, findCondition, type KubernetesObject } from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import type { TestControlPlane } from "@kcp-ts/testing/internal";
import { eventually as eventuallyWithin, SeededRandom } from "@kcp-ts/testkit";
import { startControlPlaneWithClusters, startPhysicalCluster } from "./fixture.ts";

interface Workload extends KubernetesObject {
  readonly spec?: {
    readonly replicas?: number;
    readonly ordinals?: { readonly start?: number };
    readonly template?: object;
  };
  readonly status?: Readonly<Record<string, unknown>> & {
    readonly conditions?: readonly { type: string; status: string }[];
  };
}

const deployments = defineResource<Workload>(kinds.deployments);
const statefulSets = defineResource<Workload>(kinds.statefulSets);
const daemonSets = defineResource<Workload>(kinds.daemonSets);
const resources = { deployments, statefulSets, daemonSets } as const;
type Kind = keyof typeof resources;

const namespace = "default";
const clusterNames = ["a", "b", "c", "d"] as const;
const synced = [
  "deployments.apps",
  "statefulsets.apps",
  "daemonsets.apps",
  "replicasets.apps",
  "persistentvolumeclaims",
  "persistentvolumes",
];
const clusterLabel = "workload.kcp.io/cluster";

/** By workload: the replicas in each reachable cluster that has any. */
export type Shares = Readonly<Record<string, Readonly<Record<string, number>>>>;

export interface Outcome {
  readonly before: Shares;
  readonly change: PlannedChange;
  readonly plan: ReviewedPlan;
  readonly planned: Shares;
  readonly happened: Shares;
}

function eventually<Value>(check: () => Value | Promise<Value>): Promise<Value> {
  return eventuallyWithin(check, { timeoutMs: 180_000, intervalMs: 50 });
}

interface TrialCluster {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly spec: SyncTargetSpec;
}

interface TrialWorkload {
  readonly kind: Kind;
  readonly name: string;
  readonly object: object;
}

type TrialChange =
  | { readonly verb: "drain" | "loss"; readonly cluster: string }
  | { readonly verb: "join"; readonly cluster: TrialCluster }
  | {
      readonly verb: "edit";
      readonly kind: Kind;
      readonly name: string;
      readonly patch: { readonly metadata?: object; readonly spec?: object };
    };

export interface Trial {
  readonly clusters: readonly TrialCluster[];
  readonly workloads: readonly TrialWorkload[];
  readonly change: TrialChange;
}

/** Everything that the seed decides. */
export function trialOf(seed: number): Trial {
  const random = new SeededRandom(seed);
  const pick = <Value>(values: readonly Value[]): Value =>
    values[random.integer(values.length)] as Value;
  const count = 1 + random.integer(4);
  const cluster = (name: string): TrialCluster => ({
    name,
    labels: { region: pick(["us", "eu"]) },
    spec: {
      ...(random.chance(0.1)
        ? { taints: [{ key: "dedicated", effect: pick(["NoSchedule", "PreferNoSchedule"]) }] }
        : {}),
      ...(random.chance(0.1) ? { unschedulable: true } : {}),
      // Which of several workloads gets scarce capacity first is no property of a plan.
      ...(count === 1 && random.chance(0.4)
        ? { resourceLimits: { pods: String(1 + random.integer(6)) } }
        : {}),
    },
  });
  const all = clusterNames.map(cluster);
  const clusters = all.slice(0, 2 + random.integer(all.length - 1));
  const workloads = Array.from({ length: count }, (_, index) => workloadOf(random, `w${index}`));
  const joining = all[clusters.length];
  const verbs = ["drain", "drain", "loss", "edit", ...(joining === undefined ? [] : ["join"])];
  const verb = pick(verbs);
  if (verb === "join" && joining !== undefined)
    return { clusters, workloads, change: { verb, cluster: joining } };
  if (verb === "edit") {
    const edited = workloads.find(({ kind }) => kind !== "daemonSets");
    if (edited !== undefined)
      return { clusters, workloads, change: { verb, ...edited, patch: editOf(random) } };
  }
  const change = {
    verb: verb === "loss" ? "loss" : "drain",
    cluster: pick(clusters).name,
  } as const;
  return { clusters, workloads, change };
}

function workloadOf(random: SeededRandom, name: string): TrialWorkload {
  const kind: Kind = random.chance(0.6)
    ? "deployments"
    : random.chance(0.8)
      ? "statefulSets"
      : "daemonSets";
  const [placement, failover] = [placementOf(random, 0.3), failoverOf(random)];
  const labels = { app: name };
  const template = {
    metadata: { labels },
    spec: { containers: [{ name: "main", image: "app:1" }] },
  };
  const replicas = random.integer(8) + (kind === "statefulSets" ? 1 : 0);
  const hasVolumes = kind === "statefulSets" && random.chance(0.5);
  const migration = random.chance(0.6)
    ? { annotations: { "workload.kcp.io/volume-migration": "detach" } }
    : {};
  const claim = {
    metadata: { name: "data", ...migration },
    spec: {
      accessModes: ["ReadWriteOnce"],
      storageClassName: "shared",
      resources: { requests: { storage: "1Gi" } },
    },
  };
  const spec = {
    selector: { matchLabels: labels },
    template,
    ...(kind === "daemonSets"
      ? {}
      : { replicas: kind === "statefulSets" ? Math.min(replicas, 4) : replicas }),
    ...(kind === "statefulSets" ? { serviceName: name } : {}),
    ...(hasVolumes ? { volumeClaimTemplates: [claim] } : {}),
  };
  // With StopBeforeStart, replicas go where there is room when they stop: where several end up
  // depends on which of them stops first.
  const annotations = { ...placement, ...(replicas > 1 ? {} : failover) };
  return { kind, name, object: { metadata: { name, namespace, annotations }, spec } };
}

function placementOf(random: SeededRandom, chance: number): Readonly<Record<string, string>> {
  const amount = (most: number) => random.integer(most + 1);
  return {
    ...(random.chance(chance)
      ? { "workload.kcp.io/cluster-selector": `region=${random.chance(0.5) ? "us" : "eu"}` }
      : {}),
    ...(random.chance(chance)
      ? { "workload.kcp.io/cluster-weights": `a=${amount(3)},b=${amount(3)}` }
      : {}),
    ...(random.chance(chance / 2) ? { "workload.kcp.io/cluster-capacity": `a=${amount(3)}` } : {}),
  };
}

function failoverOf(random: SeededRandom): Readonly<Record<string, string>> {
  return random.chance(0.15) ? { "workload.kcp.io/failover-strategy": "StopBeforeStart" } : {};
}

function editOf(random: SeededRandom) {
  if (random.chance(0.5)) return { spec: { replicas: random.integer(10) } };
  return { metadata: { annotations: placementOf(random, 0.7) } };
}

export class PlanOutcomes {
  readonly #plane: TestControlPlane;
  readonly #kubeconfigs: ReadonlyMap<string, string>;

  private constructor(plane: TestControlPlane, kubeconfigs: ReadonlyMap<string, string>) {
    this.#plane = plane;
    this.#kubeconfigs = kubeconfigs;
  }

  static async start(t: TestContext): Promise<PlanOutcomes> {
    const plane = await startControlPlaneWithClusters(t, {
      gracePeriods: { unreachableAfterMs: 500, recoveryMs: 0 },
      link: { probeMs: 500, probeTimeoutMs: 20_000, failuresMax: 2, inventoryMs: 2000 },
      importPollMs: 5000,
    });
    const kubelet = { startDelayMs: { min: 0, max: 20 }, stopDelayMs: 5, runMs: 100 };
    const kubeconfigs = new Map<string, string>();
    for (const name of clusterNames) {
      const { kubeconfig } = await startPhysicalCluster(t, { name, kubelet });
      kubeconfigs.set(name, kubeconfig);
    }
    return new PlanOutcomes(plane, kubeconfigs);
  }

  /** Plans the change of the seed's trial, carries it out, and awaits rest. */
  async play(seed: number): Promise<Outcome> {
    const trial = trialOf(seed);
    const client = this.#plane.client.inCluster(`trial-${seed}`);
    for (const cluster of trial.clusters) await this.#register(client, cluster);
    for (const { kind, object } of trial.workloads)
      await eventually(() => client.resource(resources[kind]).create(object as never));
    const before = await untilRest(client, trial);
    const change = await this.#plannedChange(client, trial.change);
    const plan = await reviewOf(client, { plan: change });
    const planned = Object.fromEntries(
      trial.workloads.map(({ name }) => [
        name,
        plan.moves.find((move) => move.name === name)?.to ?? withoutLost(before, trial, name),
      ]),
    );
    await this.#carryOut(client, trial.change);
    const happened = await untilRest(client, trial, trial.change);
    await this.#remove(client, trial);
    return { before, change, plan, planned, happened };
  }

  async #register(client: Client, { name, labels, spec }: TrialCluster): Promise<void> {
    const kubeconfig = this.#kubeconfigs.get(name) ?? "";
    const target = { metadata: { name, labels }, spec: { ...spec, kubeconfig, resources: synced } };
    await client.resource(syncTargets).create(target as never);
    await eventually(async () => {
      const { status } = await client.resource(syncTargets).get({ name });
      assert.equal(findCondition(status?.conditions, "Ready")?.status, "True");
      for (const one of synced) assert.ok(status?.syncedResources?.includes(one), one);
    });
  }

  async #plannedChange(client: Client, change: TrialChange): Promise<PlannedChange> {
    switch (change.verb) {
      case "drain":
        return { drain: change.cluster };
      case "loss":
        return { loss: change.cluster };
      case "join": {
        const { name, labels, spec } = change.cluster;
        const metadata = { name, labels };
        return { join: { ...syncTargetHead, metadata, spec } as SyncTarget };
      }
      case "edit": {
        const { kind, name, patch } = change;
        const resource = client.resource(resources[kind]);
        const options = { type: "merge", patch: patch as never } as const;
        const object = await resource.patch({ namespace, name }, options, { dryRun: true });
        const { group, version, kind: kindName } = resources[kind];
        return { objects: [{ ...object, apiVersion: `${group}/${version}`, kind: kindName }] };
      }
    }
  }

  async #carryOut(client: Client, change: TrialChange): Promise<void> {
    const target = (name: string, spec: object) =>
      client.resource(syncTargets).patch({ name }, { type: "merge", patch: { spec } as never });
    switch (change.verb) {
      case "drain":
        await target(change.cluster, { unschedulable: true, drain: {} });
        return;
      case "loss": {
        // The trial's way to the cluster breaks, and that of no other trial.
        const dead = (this.#kubeconfigs.get(change.cluster) ?? "").replace(
          /https:\/\/[^\s"]+/,
          "https://127.0.0.1:1",
        );
        await target(change.cluster, { kubeconfig: dead });
        return;
      }
      case "join":
        await this.#register(client, change.cluster);
        return;
      case "edit": {
        const { kind, name, patch } = change;
        const options = { type: "merge", patch: patch as never } as const;
        await client.resource(resources[kind]).patch({ namespace, name }, options);
      }
    }
  }

  async #remove(client: Client, { workloads, change }: Trial): Promise<void> {
    if (change.verb === "loss") {
      const kubeconfig = this.#kubeconfigs.get(change.cluster) ?? "";
      const patch = { spec: { kubeconfig } };
      await client.resource(syncTargets).patch({ name: change.cluster }, { type: "merge", patch });
    }
    for (const { kind, name } of workloads)
      await client.resource(resources[kind]).delete({ namespace, name });
    await eventually(async () => {
      for (const kind of Object.values(resources))
        assert.deepEqual((await client.resource(kind).list({ namespace })).items.length, 0);
    });
    const { items } = await client.resource(syncTargets).list();
    for (const { metadata } of items) await client.resource(syncTargets).delete(metadata);
  }
}

const syncTargetHead = { apiVersion: "workload.kcp.io/v1alpha1", kind: "SyncTarget" };

async function reviewOf(client: Client, spec: PlacementReviewSpec): Promise<ReviewedPlan> {
  const metadata = {} as { name: string };
  const { status } = await client.resource(placementReviews).create({ metadata, spec });
  assert.ok(status?.plan !== undefined);
  return status.plan;
}

function withoutLost(before: Shares, { change }: Trial, name: string): Shares[string] {
  const lost = change.verb === "loss" ? change.cluster : undefined;
  const shares = Object.entries(before[name] ?? {}).filter(([cluster]) => cluster !== lost);
  return Object.fromEntries(shares);
}

/** How many looks in a row find the same; more where a workload is not where it should be. */
const sameLooksMin = 12;
const sameLooksOfPendingMin = 60;
const lookMs = 100;

async function untilRest(client: Client, trial: Trial, change?: TrialChange): Promise<Shares> {
  const lost = change?.verb === "loss" ? change.cluster : undefined;
  let [text, looks] = ["", 0];
  const deadline = performance.now() + 180_000;
  for (;;) {
    const { shares, isSettled, isPending } = await look(client, trial, lost);
    const now = JSON.stringify(shares);
    looks = now === text && isSettled ? looks + 1 : 0;
    text = now;
    if (looks >= (isPending ? sameLooksOfPendingMin : sameLooksMin)) return shares;
    if (performance.now() > deadline) throw new Error(`no rest: ${now}`);
    await new Promise((resolve) => setTimeout(resolve, lookMs));
  }
}

async function look(client: Client, { workloads }: Trial, lost: string | undefined) {
  const shares: Record<string, Record<string, number>> = {};
  let [isSettled, isPending] = [true, false];
  if (lost !== undefined) {
    const { status } = await client.resource(syncTargets).get({ name: lost });
    isSettled = findCondition(status?.conditions, "Ready")?.status === "False";
  }
  const unreachable = await workloadsThatLost(client, lost);
  for (const { kind, name } of workloads) {
    const { items } = await client.resource(resources[kind]).list({ namespace });
    const whole = items.find(({ metadata }) => metadata.name === name);
    const own: Record<string, number> = {};
    for (const { metadata, spec, status } of items) {
      const cluster = metadata.labels?.[clusterLabel];
      if (cluster === undefined || !metadata.name.startsWith(`${name}--`)) continue;
      if (metadata.deletionTimestamp !== undefined) isSettled = false;
      if (cluster === lost) {
        if (!unreachable.has(name)) isSettled = false;
        continue;
      }
      const replicas = kind === "daemonSets" ? 1 : (spec?.replicas ?? 1);
      if (replicas > 0) own[cluster] = replicas;
      const ready = kind === "daemonSets" ? replicas : Number(status?.["readyReplicas"] ?? 0);
      if (ready !== replicas) isSettled = false;
    }
    const scheduled = findCondition(whole?.status?.conditions as never, "Scheduled");
    if (scheduled?.status !== "True" && kind !== "daemonSets") isPending = true;
    if (Number(whole?.status?.["observedGeneration"] ?? 0) !== whole?.metadata.generation)
      isSettled = false;
    shares[name] = Object.fromEntries(Object.entries(own).sort());
  }
  return { shares, isSettled, isPending };
}

/** The workloads whose placement records that the cluster is lost. */
async function workloadsThatLost(
  client: Client,
  lost: string | undefined,
): Promise<ReadonlySet<string>> {
  const { items } = await client.resource(workloadPlacements).list({ namespace });
  const affected = items.filter(({ status }) =>
    status?.clusters?.some((one) => one.name === lost && one.unreachableSince !== undefined),
  );
  return new Set(affected.map(({ spec }) => spec?.workloadRef?.name ?? ""));
}
