/** The request and the result of a placement review: an object that is posted and not stored. */
import {
  anyObject,
  kindSchema,
  list,
  object,
  type SystemKind,
  string,
  type TypeOf,
} from "@kcp-ts/machinery/schema";
import type { KubernetesObject } from "@kcp-ts/sdk";
import { resourceOf, type SyncTarget } from "../api/index.ts";
import type { DependencyExplanation } from "./explain-dependency.ts";
import type { Explanation } from "./explain-placement.ts";
import type { PlacementPlan } from "./plan-change.ts";

/** The most objects of one review. */
export const plannedObjectsMax = 500;

const name = string("", { minLength: 1, maxLength: 253 });
const exactlyOne = { minProperties: 1, maxProperties: 1 };

const plan = object(
  {
    drain: name,
    loss: name,
    cordon: name,
    uncordon: name,
    join: anyObject<SyncTarget>(),
    // The objects as the server would store them.
    objects: list(anyObject<KubernetesObject>(), { maxItems: plannedObjectsMax }),
  },
  { description: "What would move, if this were so.", ...exactlyOne },
);
/** A change has exactly one of these fields. */
export type PlannedChange = TypeOf<typeof plan>;

const explain = object(
  { resource: name, group: string(), namespace: name, name },
  {
    description: "For every cluster why it is there, or why not.",
    required: ["resource", "namespace", "name"],
  },
);
/** The object, by the names that kubectl accepts for a kind. */
export type ExplainedObject = TypeOf<typeof explain>;

const spec = object(
  {
    explain,
    plan,
    // The names of the clusters, for users who may read them or workloads of the namespace.
    clusters: object(
      { selector: string("", { maxLength: 16_384 }), namespace: string("", { maxLength: 253 }) },
      { description: "Which clusters the workspace may use." },
    ),
  },
  exactlyOne,
);
/** A review has exactly one of these fields. */
export type PlacementReviewSpec = TypeOf<typeof spec>;

export interface PlacementReviewStatus {
  readonly explanation?: Explanation;
  readonly dependency?: DependencyExplanation;
  readonly plan?: ReviewedPlan;
  /** Names of the selected clusters that the workspace may use. */
  readonly clusters?: readonly string[];
}

export interface ReviewedPlan extends PlacementPlan {
  /** Workloads that would move, and that the user may not read. */
  readonly hiddenMoves: number;
  /** Tenant workspaces of these clusters beyond the reviewed ones. */
  readonly workspacesNotReviewed: number;
}

export interface PlacementReview extends KubernetesObject {
  readonly spec: PlacementReviewSpec;
  readonly status?: PlacementReviewStatus;
}

export const placementReviewKind: SystemKind = {
  group: "workload.kcp.io",
  version: "v1alpha1",
  kind: "PlacementReview",
  resource: "placementreviews",
  schema: kindSchema(
    "A question about placement: why something is where it is, or what would move. It is answered, and nothing is stored.",
    { spec, status: anyObject() },
    { required: ["spec"] },
  ),
};
export const placementReviews = resourceOf<PlacementReview>(placementReviewKind);
