/** The request and the result of a placement review: an object that is posted and not stored. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { defineResource, type KubernetesObject } from "@kcp-ts/sdk";
import type { SyncTarget } from "../api/index.ts";
import type { DependencyExplanation } from "./explain-dependency.ts";
import type { Explanation } from "./explain-placement.ts";
import type { PlacementPlan } from "./plan-change.ts";

/** A review has exactly one of these fields. */
export interface PlacementReviewSpec {
  readonly explain?: ExplainedObject;
  readonly plan?: PlannedChange;
  /**
   * Requests the names of the clusters, for users who may read them or workloads of the namespace.
   */
  readonly clusters?: { readonly selector?: string; readonly namespace?: string };
}

/** The object, by the names that kubectl accepts for a kind. */
export interface ExplainedObject {
  readonly resource: string;
  readonly group?: string;
  readonly namespace: string;
  readonly name: string;
}

/** A change has exactly one of these fields. */
export interface PlannedChange {
  readonly drain?: string;
  readonly cordon?: string;
  readonly uncordon?: string;
  readonly join?: SyncTarget;
  /** The objects as the server would store them. */
  readonly objects?: readonly KubernetesObject[];
}

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

export const placementReviews = defineResource<PlacementReview>({
  group: "workload.kcp.io",
  version: "v1alpha1",
  resource: "placementreviews",
  kind: "PlacementReview",
  namespaced: false,
});

const anything: JsonObject = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const name: JsonObject = { type: "string", minLength: 1, maxLength: 253 };
const object = (properties: JsonObject, more: JsonObject = {}): JsonObject => ({
  type: "object",
  properties,
  minProperties: 1,
  maxProperties: 1,
  ...more,
});

/** The most objects of one review. */
export const plannedObjectsMax = 500;

export const placementReviewKind = {
  group: placementReviews.group,
  version: placementReviews.version,
  kind: placementReviews.kind,
  resource: placementReviews.resource,
  categories: [],
  columns: [],
  hasStatus: false,
  schema: {
    type: "object",
    description:
      "A question about placement: why something is where it is, or what would move. It is answered, and nothing is stored.",
    required: ["spec"],
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object" },
      spec: object({
        explain: {
          type: "object",
          description: "For every cluster why it is there, or why not.",
          required: ["resource", "namespace", "name"],
          properties: { resource: name, group: { type: "string" }, namespace: name, name },
        },
        plan: object(
          {
            drain: name,
            cordon: name,
            uncordon: name,
            join: anything,
            objects: { type: "array", maxItems: plannedObjectsMax, items: anything },
          },
          { description: "What would move, if this were so." },
        ),
        clusters: {
          type: "object",
          description: "Which clusters the workspace may use.",
          properties: {
            selector: { type: "string", maxLength: 16_384 },
            namespace: { type: "string", maxLength: 253 },
          },
        },
      }),
      status: anything,
    },
  } satisfies JsonObject,
};
