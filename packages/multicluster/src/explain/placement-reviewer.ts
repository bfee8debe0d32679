/**
 * Answers questions about placement where all is known that decides it: clusters of other workspaces, who uses these ones, strategies, and how long lost clusters are
 * waited for. The functions are those that decide.
 *
 * Who asks is told of what he may see in his own workspace. Of clusters that others offer, he is told what his own objects say of them: their names, and what keeps replicas away.
 * Who may see SyncTargets is told what leaves them, of those, too, who use them from elsewhere: as a drain does.
 */
import { type Clock, runYielding } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { parseLabelSelector, SelectorSyntaxError } from "@kcp-ts/machinery/selectors";
import { type GroupResource, statusError } from "@kcp-ts/machinery/status";
import type { Client, KubernetesObject, Resource } from "@kcp-ts/sdk";
import { clusterLabel, isSharedTargetName, syncTargets } from "../api/index.ts";
import { type GracePeriods, type Strategy, strategiesDefault } from "../coordination/index.ts";
import { applyToSnapshot } from "./edit-fleet.ts";
import { dependencyKinds, explainDependency } from "./explain-follower.ts";
import { type Explanation, explainPlacement } from "./explain-placement.ts";
import type { EvaluationTime, WorkspaceSnapshot } from "./fleet.ts";
import { readComputeWorkspaces, withComputeWorkspaces } from "./homes.ts";
import {
  planChangeInSteps,
  type SnapshotChange,
  withCordonedTarget,
  withDrainedTarget,
  withJoinedTarget,
} from "./plan-change.ts";
import { planTenants } from "./plan-others.ts";
import { readSnapshot, readStrategies } from "./read-fleet.ts";
import type {
  ExplainedObject,
  PlacementReviewSpec,
  PlacementReviewStatus,
  PlannedChange,
  ReviewedPlan,
} from "./review-spec.ts";

export interface PlacementReviewerOptions {
  /** Of the server; may read everywhere. */
  readonly client: () => Client;
  readonly clock: Clock;
  readonly patience: () => Pick<GracePeriods, "graceMs">;
}

export interface PlacementReviewRequest {
  readonly cluster: ClusterName;
  readonly spec: PlacementReviewSpec;
  /** Whether who asks may do that in the workspace. */
  readonly may: (what: AccessCheck) => Promise<boolean>;
  readonly username: string;
  readonly signal: AbortSignal;
}

type Kind = Resource<KubernetesObject>;

export interface AccessCheck {
  readonly verb: "get" | "list";
  readonly resource: Kind;
  readonly namespace: string;
  /** Empty for a list. */
  readonly name: string;
}

const clustersAccess: AccessCheck = {
  ...{ verb: "list", namespace: "", name: "" },
  resource: syncTargets as unknown as Kind,
};

export class PlacementReviewer {
  readonly #options: PlacementReviewerOptions;

  constructor(options: PlacementReviewerOptions) {
    this.#options = options;
  }

  async answer(question: PlacementReviewRequest): Promise<PlacementReviewStatus> {
    const { explain, plan, clusters } = question.spec;
    if (explain !== undefined) return await this.#explain(question, explain);
    if (plan !== undefined) return { plan: await this.#plan(question, plan) };
    return { clusters: await this.#clusters(question, clusters ?? {}) };
  }

  async #explain(
    question: PlacementReviewRequest,
    explained: ExplainedObject,
  ): Promise<PlacementReviewStatus> {
    const { cluster, signal } = question;
    const { namespace, name } = explained;
    const client = this.#options.client().inCluster(cluster);
    const strategies = await readStrategies(client, { signal });
    const isMeant = (resource: Resource<KubernetesObject>) => isCalled(resource, explained);
    const strategy = strategies.find(({ wholes }) => isMeant(wholes as never));
    const follower = dependencyKinds.find(isMeant);
    const resource = strategy === undefined ? follower : (strategy.wholes as never);
    if (resource === undefined)
      throw statusError.badRequest(
        `cannot explain ${explained.resource}/${name}: it is neither a kind of workload, as in deployment/web, nor one that follows workloads, as in configmap/app`,
      );
    await requireAccess(question, { verb: "get", resource, namespace, name });
    const fleet = await this.#fleet(cluster, strategies, signal);
    if (strategy === undefined) {
      const object = await client.resource(resource).get({ namespace, name }, { signal });
      return { follower: explainDependency(fleet, resource, object) };
    }
    const workload = fleet.workloads.find(
      (one) =>
        one.strategy.name === strategy.name &&
        one.whole.metadata.name === name &&
        (one.whole.metadata.namespace ?? "") === namespace,
    );
    if (workload === undefined)
      throw statusError.badRequest(
        `no ${explained.resource}/${name} in namespace ${namespace} is placed by a policy: is it in another namespace (-n), or assigned to a cluster by a label of its own?`,
      );
    return { explanation: forUser(explainPlacement(fleet, workload, this.#moment())) };
  }

  async #plan(question: PlacementReviewRequest, planned: PlannedChange): Promise<ReviewedPlan> {
    const { cluster, signal } = question;
    const { client } = this.#options;
    const maySeeClusters = await question.may(clustersAccess);
    // What is asked about one of them tells which there are.
    if (planned.objects === undefined) await requireAccess(question, clustersAccess);
    const moment = this.#moment();
    const strategies = await readStrategies(client().inCluster(cluster), { signal });
    const fleet = await this.#fleet(cluster, strategies, signal);
    const change = changeOf(planned, moment.nowMs, strategies);
    const after = changed(fleet, change);
    const { moves, ...plan } = await runYielding(planChangeInSteps(fleet, () => after, moment));
    const visible: (typeof moves)[number][] = [];
    for (const move of moves) {
      const { resource } = kindOf(fleet, after, move.kind);
      const { namespace } = move;
      if (await question.may({ verb: "list", resource, namespace, name: "" })) visible.push(move);
    }
    const hidden = moves.length - visible.length;
    if (!maySeeClusters) return { ...plan, moves: visible, hidden, unseenWorkspaces: 0 };
    const shared = { client: client(), signal };
    const others = await planTenants(fleet, after, moment, shared);
    return {
      moves: [...visible, ...others.moves],
      replicas: plan.replicas + others.replicas,
      staying: plan.staying + others.staying,
      hidden,
      unseenWorkspaces: others.unseenWorkspaces,
    };
  }

  async #clusters(
    question: PlacementReviewRequest,
    { selector: text = "", namespace = "" }: NonNullable<PlacementReviewSpec["clusters"]>,
  ): Promise<readonly string[]> {
    const { cluster, signal } = question;
    const selector = selectorOf(text);
    // Workloads say which clusters they are in to whoever may see them.
    const kinds = strategiesDefault.map(({ wholes }) => wholes as unknown as Kind);
    const accesses = kinds.map((resource) => ({ ...clustersAccess, resource, namespace }));
    const allowed = await Promise.all([clustersAccess, ...accesses].map(question.may));
    if (!allowed.includes(true)) await requireAccess(question, clustersAccess);
    const client = this.#options.client();
    const [own, homes] = await Promise.all([
      client.inCluster(cluster).resource(syncTargets).list({ signal }),
      readComputeWorkspaces(client, cluster, { signal }),
    ]);
    const named = { cluster, targets: own.items } as unknown as WorkspaceSnapshot;
    return withComputeWorkspaces(named, homes)
      .targets.filter(({ metadata }) =>
        selector.matches({ ...metadata.labels, [clusterLabel]: metadata.name }),
      )
      .map(({ metadata }) => metadata.name)
      .sort();
  }

  async #fleet(
    cluster: ClusterName,
    strategies: readonly Strategy[],
    signal: AbortSignal,
  ): Promise<WorkspaceSnapshot> {
    const client = this.#options.client();
    const [own, homes] = await Promise.all([
      readSnapshot({
        client: client.inCluster(cluster),
        root: client.inCluster("root"),
        cluster,
        strategies,
        signal,
      }),
      readComputeWorkspaces(client, cluster, { signal }),
    ]);
    return withComputeWorkspaces(own, homes);
  }

  /** A cluster that has become Ready is trusted here: what is told is where it leads. */
  #moment(): EvaluationTime {
    const { patience, clock } = this.#options;
    return { patience: { ...patience(), settleMs: 0 }, nowMs: clock.now() };
  }
}

/** By the words that kubectl takes for a kind. */
function isCalled(
  { resource, kind, group }: Resource<KubernetesObject>,
  { resource: typed, group: ofGroup }: Pick<ExplainedObject, "resource" | "group">,
): boolean {
  const word = typed.toLowerCase();
  const isWord = word === resource || word === kind.toLowerCase() || word === shortNames[resource];
  return isWord && (ofGroup === undefined || ofGroup === "" || ofGroup === group);
}

const shortNames: Readonly<Record<string, string>> = {
  deployments: "deploy",
  statefulsets: "sts",
  daemonsets: "ds",
  cronjobs: "cj",
  horizontalpodautoscalers: "hpa",
  configmaps: "cm",
  serviceaccounts: "sa",
  services: "svc",
  persistentvolumeclaims: "pvc",
  poddisruptionbudgets: "pdb",
};

async function requireAccess(
  { may, username }: PlacementReviewRequest,
  access: AccessCheck,
): Promise<void> {
  if (await may(access)) return;
  const { verb, resource, namespace, name } = access;
  const { group, resource: plural } = resource;
  const where = namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`;
  const message = `User "${username}" cannot ${verb} resource "${plural}" in API group "${group}" ${where}`;
  throw statusError.forbidden({ group, resource: plural } as GroupResource, name, message);
}

/** How much of another workspace's cluster is free is not the user's to know; that it is full, his object says. */
function forUser(explanation: Explanation): Explanation {
  const clusters = explanation.clusters.map((one) => {
    if (!isSharedTargetName(one.name)) return one;
    const { room: _, ...rest } = one;
    return rest;
  });
  return { ...explanation, clusters };
}

function changeOf(
  planned: PlannedChange,
  nowMs: number,
  strategies: readonly Strategy[],
): SnapshotChange {
  const { drain, cordon, uncordon, join, objects } = planned;
  if (drain !== undefined) return withDrainedTarget(drain);
  if (cordon !== undefined) return withCordonedTarget(cordon, true);
  if (uncordon !== undefined) return withCordonedTarget(uncordon, false);
  if (join !== undefined) return withJoinedTarget(join, nowMs);
  return (fleet) =>
    (objects ?? []).reduce((now, one) => applyToSnapshot(one, nowMs, strategies)(now), fleet);
}

/** What cannot be, is the question's fault. */
function changed(fleet: WorkspaceSnapshot, change: SnapshotChange): WorkspaceSnapshot {
  try {
    return change(fleet);
  } catch (error) {
    throw statusError.badRequest((error as Error).message);
  }
}

function kindOf(before: WorkspaceSnapshot, after: WorkspaceSnapshot, kind: string) {
  const all = [...after.workloads, ...before.workloads];
  const found = all.find(({ strategy }) => strategy.wholes.kind === kind);
  return { resource: found?.strategy.wholes as unknown as Resource<KubernetesObject> };
}

function selectorOf(text: string) {
  try {
    return parseLabelSelector(text);
  } catch (error) {
    if (error instanceof SelectorSyntaxError) throw statusError.badRequest(error.message);
    throw error;
  }
}
