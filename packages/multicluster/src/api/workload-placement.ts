/**
 * WorkloadPlacement: the record of a workload's placement, beside the workload. It says how many
 * replicas each cluster is to have and has, why, what is reserved for them, and which moves and
 * rollouts are in progress.
 *
 *     apiVersion: scheduling.kcp.io/v1alpha1
 *     kind: WorkloadPlacement
 *     metadata: {namespace: shop, name: deployment-web}
 *     spec: {workloadRef: {apiVersion: apps/v1, kind: Deployment, name: web}}
 *     status:
 *       replicas: {desired: 15, scheduled: 15, ready: 15}
 *       clusters:
 *       - {name: us-east1, state: Ready, desired: 8, applied: 8, ready: 8, phase: Stable, …}
 *
 * The coordinators write it before they write per-cluster objects, and finish from it what a crash
 * interrupted. It has no status subresource: the record is one write, and no other client writes
 * it.
 */
import {
  ageColumn,
  anyValue,
  atomic,
  bool,
  column,
  int32,
  keyedBy,
  kindSchema,
  list,
  map,
  object,
  type SystemKind,
  string,
  type TypeOf,
  time,
} from "@kcp-ts/machinery/schema";
import type { KubernetesObject } from "@kcp-ts/sdk";
import { hashDigits } from "./hash-digits.ts";
import { categories, conditions, resourceOf, version } from "./kind-schemas.ts";

const count = (description: string) => int32(description, { minimum: 0 });
const name = string("", { minLength: 1, maxLength: 253 });
const hash = string("", { maxLength: 64 });

/** The longest message of a cluster, in characters. */
export const placementMessageMax = 1024;
/** The number of former templates that a record keeps. */
export const placementTemplatesMax = 4;
/** The number of decisions in the history. */
export const placementHistoryMax = 10;
const clustersMax = 1000;

const message = string("", { maxLength: placementMessageMax });
const amounts = map(string("", { maxLength: 64 }), { maxProperties: 64 });

const inFlight = object(
  { replicas: count("Replicas that have left another cluster."), reserved: amounts },
  {
    description: "Replicas that have left another cluster and are not in this cluster yet.",
    required: ["replicas"],
  },
);

const move = object(
  {
    from: count("The replicas before the move."),
    since: time("The time of the last scale-up."),
    rolledBack: bool("The replicas did not become available in time."),
    request: hash,
    failedIn: list(name, { maxItems: clustersMax, ...atomic }),
  },
  {
    description: "A move with a deadline that is in progress, or was rolled back.",
    required: ["from", "since", "request"],
  },
);

const rollout = object(
  {
    request: hash,
    rolling: bool("The cluster is replacing Pods."),
    since: time("The time of the newest template, or of the last progress."),
    progress: count("The progress at that time."),
    from: string("The former template, by its hash in status.templates.", { maxLength: 64 }),
    rolledBack: bool("The template did not become available in time."),
  },
  {
    description: "A rollout of a Pod template that is in progress, or was rolled back.",
    required: ["request", "since"],
  },
);

export const placementPhases = [
  "Pending",
  "Starting",
  "Stable",
  "Replacing",
  "Removing",
  "Blocked",
  "RolledBack",
  "Unreachable",
  "Refused",
] as const;

const clusterPlacement = object(
  {
    name,
    state: string("The state of the cluster, such as Ready or Draining.", { maxLength: 63 }),
    desired: count("The replicas that the cluster is to have."),
    applied: count("The replicas of the per-cluster object."),
    ready: count("The available replicas that the cluster reports."),
    phase: string("", { enum: placementPhases }),
    reserved: map(string("", { maxLength: 64 }), {
      description: "The resources that are reserved for the workload in the cluster.",
      maxProperties: 64,
    }),
    reason: string("One word for programs.", { maxLength: 253 }),
    message,
    retained: count("Replicas that are to leave the cluster and have no feasible cluster."),
    incoming: count("Ordinals that have left another cluster and are to start in this cluster."),
    ordinals: object(
      { start: count("The first ordinal."), end: count("The ordinal after the last.") },
      {
        description: "Of a StatefulSet: the ordinals whose volumes the cluster is to have.",
        required: ["start", "end"],
      },
    ),
    refusal: object(
      { reason: string("", { maxLength: 253 }), message, since: time() },
      {
        description: "Why the server refuses the per-cluster object, and since when.",
        required: ["reason", "message", "since"],
      },
    ),
    requested: count("The workload's replicas when the replicas of the cluster were set."),
    requestedBefore: count(
      "The same before the last step, until the per-cluster object has its replicas.",
    ),
    unreachableSince: time("The time since which the cluster is Unreachable."),
    migrationSource: string("The cluster whose volumes this cluster is to get.", {
      maxLength: 253,
    }),
    inFlight,
    move,
    rollout,
  },
  { required: ["name"] },
);
export type ClusterPlacement = TypeOf<typeof clusterPlacement>;

const shares = map(count(""), { maxProperties: clustersMax });
const decisionRecord = object(
  {
    time: time(),
    replicas: count("The replicas that the workload requested."),
    assigned: shares,
    retained: shares,
    inFlight: shares,
    reasons: list(string("", { maxLength: 200 }), { maxItems: 8, ...atomic }),
  },
  { required: ["time", "replicas", "assigned", "reasons"] },
);
/** A decision of the history: the desired replicas by cluster, and the reasons. */
export type PlacementDecisionRecord = TypeOf<typeof decisionRecord>;

const workloadPlacementStatus = object({
  observedGeneration: count("The generation of the workload that was decided last."),
  replicas: object({
    desired: count("The replicas that the workload requests."),
    scheduled: count("The replicas that have a cluster."),
    ready: count("The available replicas."),
  }),
  assignment: string("The desired replicas by cluster, for a table column.", {
    maxLength: placementMessageMax,
  }),
  clusters: list(clusterPlacement, { maxItems: clustersMax, ...keyedBy("name") }),
  templates: list(object({ hash, template: anyValue }, { required: ["hash", "template"] }), {
    description: "Former Pod templates, to which a rollout may be rolled back.",
    maxItems: placementTemplatesMax,
    ...keyedBy("hash"),
  }),
  completions: map(count(""), {
    description: "Of a Job: the completions of per-cluster objects that were removed, by name.",
    maxProperties: clustersMax,
  }),
  history: list(decisionRecord, {
    description: "The last decisions, the newest first.",
    maxItems: placementHistoryMax,
    ...atomic,
  }),
  conditions,
});
export type WorkloadPlacementStatus = TypeOf<typeof workloadPlacementStatus>;

const workloadPlacementSpec = object(
  {
    workloadRef: object(
      { apiVersion: string("", { maxLength: 317 }), kind: string("", { maxLength: 63 }), name },
      { required: ["apiVersion", "kind", "name"], description: "The workload." },
    ),
  },
  { required: ["workloadRef"] },
);

export interface WorkloadPlacement extends KubernetesObject {
  readonly spec: TypeOf<typeof workloadPlacementSpec>;
  readonly status?: WorkloadPlacementStatus;
}

export const workloadPlacementKind: SystemKind = {
  group: "scheduling.kcp.io",
  version,
  kind: "WorkloadPlacement",
  resource: "workloadplacements",
  isNamespaced: true,
  countsStatus: false,
  shortNames: ["wp"],
  categories,
  columns: [
    column("Desired", ".status.replicas.desired", { type: "integer" }),
    column("Scheduled", ".status.replicas.scheduled", { type: "integer" }),
    column("Ready", ".status.replicas.ready", { type: "integer" }),
    column("Clusters", ".status.assignment"),
    column("Reason", '.status.conditions[?(@.type=="Scheduled")].reason'),
    ageColumn,
  ],
  schema: kindSchema(
    "Where the replicas of a workload are, and why. The multi-cluster controllers write it.",
    { spec: workloadPlacementSpec, status: workloadPlacementStatus },
    { required: ["spec"] },
  ),
};
export const workloadPlacements = resourceOf<WorkloadPlacement>(workloadPlacementKind);

/**
 * Scheduled: every replica has a cluster. Applied: the server has accepted the per-cluster objects.
 * Moving: replicas are on their way to another cluster. Available: as many as desired are ready.
 */
export const workloadPlacementConditions = {
  scheduled: "Scheduled",
  applied: "Applied",
  moving: "Moving",
  available: "Available",
} as const;

/** The groups of Kubernetes' own workload kinds, whose kinds no other group has. */
const builtInGroups: ReadonlySet<string> = new Set(["", "apps", "batch", "autoscaling"]);

/**
 * `deployment-web`. The name of a kind of another group contains the group: a custom kind may have
 * the name of a built-in one.
 */
export function workloadPlacementName(
  { group, kind }: { readonly group: string; readonly kind: string },
  workload: string,
): string {
  const prefix = kind.toLowerCase() + (builtInGroups.has(group) ? "" : `.${group}`);
  const text = `${prefix}-${workload}`;
  if (text.length <= 253) return text;
  return `${text.slice(0, 242).replace(/[^a-z0-9]+$/, "")}-${hashDigits(text, 10)}`;
}
