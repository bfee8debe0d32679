/**
 * Answers placement reviews on the server, which has all inputs of the decisions: clusters of
 * compute workspaces, their tenants, strategies, and grace periods. It uses the functions that
 * decide.
 *
 * A user gets only data of the own workspace that the user may read. About shared clusters, the
 * user gets what the user's objects reveal: the names, and the reasons against replicas. A user who
 * may read SyncTargets also gets the moves of tenants of these clusters, as a drain reports them.
 */
import { type Clock, type Resumable, runYielding } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { parseLabelSelector, SelectorSyntaxError } from "@kcp-ts/machinery/selectors";
import { type GroupResource, statusError } from "@kcp-ts/machinery/status";
import type { Client, KubernetesObject, Resource } from "@kcp-ts/sdk";
import { clusterLabel, isSharedTargetName, syncTargets } from "../api/index.ts";
import { type GracePeriods, type Strategy, strategiesDefault } from "../coordination/index.ts";
import { applyToSnapshot } from "./apply-to-snapshot.ts";
import { readComputeWorkspaces, withComputeWorkspaces } from "./compute-workspaces.ts";
import { dependencyKinds, explainDependency } from "./explain-dependency.ts";
import { type Explanation, explainPlacement } from "./explain-placement.ts";
import {
  planChangeInSteps,
  type SnapshotChange,
  withCordonedTarget,
  withDrainedTarget,
  withJoinedTarget,
  withLostTarget,
} from "./plan-change.ts";
import { planTenants } from "./plan-tenants.ts";
import { readSnapshot, readStrategies } from "./read-snapshot.ts";
import type {
  ExplainedObject,
  PlacementReviewSpec,
  PlacementReviewStatus,
  PlannedChange,
  ReviewedPlan,
} from "./review-spec.ts";
import type { EvaluationTime, WorkspaceSnapshot } from "./workspace-snapshot.ts";

export interface PlacementReviewerOptions {
  /** The client of the server; it may read every workspace. */
  readonly client: () => Client;
  readonly clock: Clock;
  readonly gracePeriods: () => Pick<GracePeriods, "unreachableAfterMs">;
}

export interface PlacementReviewRequest {
  readonly cluster: ClusterName;
  readonly spec: PlacementReviewSpec;
  /** Whether the user is authorized in the workspace. */
  readonly authorize: (what: AccessCheck) => Promise<boolean>;
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
  verb: "list",
  namespace: "",
  name: "",
  resource: syncTargets as unknown as Kind,
};

export class PlacementReviewer {
  readonly #options: PlacementReviewerOptions;

  constructor(options: PlacementReviewerOptions) {
    this.#options = options;
  }

  async review(question: PlacementReviewRequest): Promise<PlacementReviewStatus> {
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
    const strategy = strategies.find(({ workloads }) => isMeant(workloads as never));
    const follower = dependencyKinds.find(isMeant);
    const resource = strategy === undefined ? follower : (strategy.workloads as never);
    if (resource === undefined)
      throw statusError.badRequest(
        `cannot explain ${explained.resource}/${name}: it is neither a kind of workload, as in deployment/web, nor one that follows workloads, as in configmap/app`,
      );
    await requireAccess(question, { verb: "get", resource, namespace, name });
    const snapshot = await this.#snapshotOf(cluster, strategies, signal);
    if (strategy === undefined) {
      const object = await client.resource(resource).get({ namespace, name }, { signal });
      return { dependency: explainDependency(snapshot, resource, object) };
    }
    const workload = snapshot.workloads.find(
      (one) =>
        one.strategy.name === strategy.name &&
        one.workload.metadata.name === name &&
        (one.workload.metadata.namespace ?? "") === namespace,
    );
    if (workload === undefined)
      throw statusError.badRequest(
        `no ${explained.resource}/${name} in namespace ${namespace} is placed by a policy: is it in another namespace (-n), or assigned to a cluster by a label of its own?`,
      );
    return { explanation: forUser(explainPlacement(snapshot, workload, this.#moment())) };
  }

  async #plan(question: PlacementReviewRequest, planned: PlannedChange): Promise<ReviewedPlan> {
    const { cluster, signal } = question;
    const { client } = this.#options;
    const maySeeClusters = await question.authorize(clustersAccess);
    // The result about one cluster reveals the others, so it requires access to them.
    if (planned.objects === undefined) await requireAccess(question, clustersAccess);
    const moment = this.#moment();
    const strategies = await readStrategies(client().inCluster(cluster), { signal });
    const snapshot = await this.#snapshotOf(cluster, strategies, signal);
    const change = changeOf(planned, moment.nowMs, strategies);
    const after = await runUntil(signal, changed(snapshot, change));
    const steps = planChangeInSteps(snapshot, () => after, moment);
    const { moves, ...plan } = await runUntil(signal, steps);
    const visible: (typeof moves)[number][] = [];
    for (const move of moves) {
      const { resource } = kindOf(snapshot, after, move.kind);
      const { namespace } = move;
      if (await question.authorize({ verb: "list", resource, namespace, name: "" }))
        visible.push(move);
    }
    const hidden = moves.length - visible.length;
    if (!maySeeClusters)
      return { ...plan, moves: visible, hiddenMoves: hidden, workspacesNotReviewed: 0 };
    const shared = { client: client(), signal };
    const others = await planTenants(snapshot, after, moment, shared);
    return {
      moves: [...visible, ...others.moves],
      replicas: plan.replicas + others.replicas,
      unchanged: plan.unchanged + others.staying,
      hiddenMoves: hidden,
      workspacesNotReviewed: others.unseenWorkspaces,
    };
  }

  async #clusters(
    question: PlacementReviewRequest,
    { selector: text = "", namespace = "" }: NonNullable<PlacementReviewSpec["clusters"]>,
  ): Promise<readonly string[]> {
    const { cluster, signal } = question;
    const selector = selectorOf(text);
    // A user who may read workloads may see the names of their clusters.
    const kinds = strategiesDefault.map(({ workloads }) => workloads as unknown as Kind);
    const accesses = kinds.map((resource) => ({ ...clustersAccess, resource, namespace }));
    const allowed = await Promise.all([clustersAccess, ...accesses].map(question.authorize));
    if (!allowed.includes(true)) await requireAccess(question, clustersAccess);
    const client = this.#options.client();
    const [own, computeWorkspaces] = await Promise.all([
      client.inCluster(cluster).resource(syncTargets).list({ signal }),
      readComputeWorkspaces(client, cluster, { signal }),
    ]);
    const named = { cluster, targets: own.items } as unknown as WorkspaceSnapshot;
    return withComputeWorkspaces(named, computeWorkspaces)
      .targets.filter(({ metadata }) =>
        selector.matches({ ...metadata.labels, [clusterLabel]: metadata.name }),
      )
      .map(({ metadata }) => metadata.name)
      .sort();
  }

  async #snapshotOf(
    cluster: ClusterName,
    strategies: readonly Strategy[],
    signal: AbortSignal,
  ): Promise<WorkspaceSnapshot> {
    const client = this.#options.client();
    const [own, computeWorkspaces] = await Promise.all([
      readSnapshot({
        client: client.inCluster(cluster),
        root: client.inCluster("root"),
        cluster,
        strategies,
        signal,
      }),
      readComputeWorkspaces(client, cluster, { signal }),
    ]);
    return withComputeWorkspaces(own, computeWorkspaces);
  }

  /** No recovery period: a review shows the stable result, after clusters have recovered. */
  #moment(): EvaluationTime {
    const { gracePeriods, clock } = this.#options;
    return { gracePeriods: { ...gracePeriods(), recoveryMs: 0 }, nowMs: clock.now() };
  }
}

/** Whether the name is one that kubectl accepts for the kind. */
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
  { authorize, username }: PlacementReviewRequest,
  access: AccessCheck,
): Promise<void> {
  if (await authorize(access)) return;
  const { verb, resource, namespace, name } = access;
  const { group, resource: plural } = resource;
  const where = namespace === "" ? "at the cluster scope" : `in the namespace "${namespace}"`;
  const message = `User "${username}" cannot ${verb} resource "${plural}" in API group "${group}" ${where}`;
  throw statusError.forbidden({ group, resource: plural } as GroupResource, name, message);
}

/**
 * The free capacity of a shared cluster is hidden from the user; the user's object reveals that it
 * is full.
 */
function forUser(explanation: Explanation): Explanation {
  const clusters = explanation.clusters.map((one) => {
    if (!isSharedTargetName(one.name)) return one;
    const { capacity: _, ...rest } = one;
    return rest;
  });
  return { ...explanation, clusters };
}

/** Many objects make a change of many steps. */
type ReviewedChange = readonly SnapshotChange[];

function changeOf(
  planned: PlannedChange,
  nowMs: number,
  strategies: readonly Strategy[],
): ReviewedChange {
  const { drain, loss, cordon, uncordon, join, objects = [] } = planned;
  if (drain !== undefined) return [withDrainedTarget(drain)];
  if (loss !== undefined) return [withLostTarget(loss)];
  if (cordon !== undefined) return [withCordonedTarget(cordon, true)];
  if (uncordon !== undefined) return [withCordonedTarget(uncordon, false)];
  const given = join === undefined ? objects : [join];
  for (const { metadata } of given as readonly Partial<KubernetesObject>[])
    if (typeof metadata?.name !== "string" || metadata.name === "")
      throw statusError.badRequest("a planned object has no metadata.name");
  if (join !== undefined) return [withJoinedTarget(join, nowMs)];
  return objects.map((one) => applyToSnapshot(one, nowMs, strategies));
}

/** An impossible change is an error of the request. */
function* changed(
  workspaceSnapshot: WorkspaceSnapshot,
  change: ReviewedChange,
): Resumable<WorkspaceSnapshot> {
  let now = workspaceSnapshot;
  for (const each of change) {
    try {
      now = each(now);
    } catch (error) {
      throw statusError.badRequest((error as Error).message);
    }
    yield;
  }
  return now;
}

/**
 * Ends with the request: thousands of decisions may take longer. An invalid selector is an error of
 * the request, too: those of stored objects were validated.
 */
async function runUntil<Result>(signal: AbortSignal, work: Resumable<Result>): Promise<Result> {
  try {
    return await runYielding(until(signal, work));
  } catch (error) {
    if (error instanceof SelectorSyntaxError) throw statusError.badRequest(error.message);
    throw error;
  }
}

function* until<Result>(signal: AbortSignal, work: Resumable<Result>): Resumable<Result> {
  for (;;) {
    signal.throwIfAborted();
    const { done, value } = work.next();
    if (done === true) return value;
    yield;
  }
}

function kindOf(before: WorkspaceSnapshot, after: WorkspaceSnapshot, kind: string) {
  const all = [...after.workloads, ...before.workloads];
  const found = all.find(({ strategy }) => strategy.workloads.kind === kind);
  return { resource: found?.strategy.workloads as unknown as Resource<KubernetesObject> };
}

function selectorOf(text: string) {
  try {
    return parseLabelSelector(text);
  } catch (error) {
    if (error instanceof SelectorSyntaxError) throw statusError.badRequest(error.message);
    throw error;
  }
}
