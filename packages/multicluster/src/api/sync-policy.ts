/**
 * SyncPolicy: how objects of a resource are synced between a logical cluster and the physical
 * clusters of its SyncTargets.
 *
 *     apiVersion: workload.kcp.io/v1alpha1
 *     kind: SyncPolicy
 *     metadata:
 *       name: autoscaled
 *     spec:
 *       syncTargets: [us-east1]           # all SyncTargets of the logical cluster if omitted
 *       resources:
 *       - group: apps
 *         resource: deployments
 *         conflictingFields: [{ path: spec.replicas, resolution: Upsync }]
 */
import {
  ageColumn,
  column,
  keyedBy,
  kindSchema,
  list,
  map,
  object,
  rules,
  type SystemKind,
  string,
  type TypeOf,
} from "@kcp-ts/machinery/schema";
import type { KubernetesObject } from "@kcp-ts/sdk";
import { categories, resourceOf, version } from "./kind-schemas.ts";

/** Fields of metadata and status have their own rules, which a policy cannot change. */
const fieldPath = string("A path such as spec.replicas.", {
  maxLength: 253,
  pattern: String.raw`^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*$`,
  ...rules([
    "!(self.split('.')[0] in ['apiVersion', 'kind', 'metadata', 'status'])",
    "must not be a field of apiVersion, kind, metadata or status",
  ]),
});
const name = string("", { minLength: 1, maxLength: 253 });

const ruleSchemas = {
  direction: string(
    "Down: objects are created upstream and synced to the cluster. Up: objects are created in the cluster, in namespaces of the syncer, and synced up. Both: assigned objects are synced down, objects that are created in the cluster are synced up. All objects of a cluster-scoped kind that is only synced up are synced.",
    { enum: ["Down", "Up", "Both"] },
  ),
  upsyncedNames: string(
    "The upstream names of upsynced objects. Same: as in the cluster. BySyncTarget: <name>--<SyncTarget>, so that several clusters can have objects of one name.",
    { enum: ["Same", "BySyncTarget"] },
  ),
  downstreamNames: string(
    "The downstream name of a per-cluster object <name>--<SyncTarget>. Same: unchanged. Workload: the name of its workload, where clients in the cluster use that name.",
    { enum: ["Same", "Workload"] },
  ),
  statusDirection: string("The direction in which status is synced.", {
    enum: ["Up", "Down", "None"],
  }),
  onDownstreamDeletion: string(
    "When a client deletes the copy in the cluster. Recreate: the syncer creates it again. Propagate: the syncer deletes the upstream object, too.",
    { enum: ["Recreate", "Propagate"] },
  ),
  onUpstreamDeletion: string(
    "When a client deletes an upsynced copy. Recreate: the syncer creates it again. Propagate: the syncer deletes the object in the cluster, too, as far as its kind permits.",
    { enum: ["Recreate", "Propagate"] },
  ),
  conflictingFields: list(
    object(
      {
        path: fieldPath,
        resolution: string(
          "When another manager owns the field in the cluster. KeepDownstream: its value stays there. Upsync: its value is also written to the upstream object.",
          { enum: ["KeepDownstream", "Upsync"] },
        ),
      },
      { required: ["path", "resolution"] },
    ),
    {
      description:
        "Fields that a controller in the cluster may own, such as spec.replicas. The syncer owns them as long as no other manager does.",
      maxItems: 32,
      ...keyedBy("path"),
    },
  ),
  omittedFields: list(fieldPath, {
    description: "Fields that are never sent to the cluster.",
    maxItems: 32,
    "x-kubernetes-list-type": "set",
  }),
  renamedObjects: map(name, {
    description:
      "Downstream names by upstream name, for objects whose name the cluster uses itself.",
    maxProperties: 32,
  }),
  workspaces: string(
    "The workspaces whose objects are synced: all that use the SyncTarget, or only its own.",
    { enum: ["All", "Own"] },
  ),
};

const resourcePolicy = object(
  {
    group: string("The core group if empty.", { maxLength: 253, default: "" }),
    resource: string("The plural name, as in deployments.", { minLength: 1, maxLength: 63 }),
    ...ruleSchemas,
  },
  { required: ["resource"] },
);

const syncPolicySpec = object(
  {
    syncTargets: list(name, {
      description: "The SyncTargets to which the policy applies; all if omitted.",
      minItems: 1,
      maxItems: 100,
      "x-kubernetes-list-type": "set",
    }),
    resources: list(resourcePolicy, { minItems: 1, maxItems: 50, ...keyedBy("group", "resource") }),
  },
  { required: ["resources"] },
);

/** The rules by which objects of a resource are synced. */
export type SyncRules = {
  readonly [Name in keyof typeof ruleSchemas]: TypeOf<(typeof ruleSchemas)[Name]>;
};
export type ResourceSyncPolicy = TypeOf<typeof resourcePolicy>;
export type SyncPolicySpec = TypeOf<typeof syncPolicySpec>;

export interface SyncPolicy extends KubernetesObject {
  readonly spec: SyncPolicySpec;
}

export const syncPolicyKind: SystemKind = {
  group: "workload.kcp.io",
  version,
  kind: "SyncPolicy",
  resource: "syncpolicies",
  categories,
  hasStatus: false,
  columns: [
    column("SyncTargets", ".spec.syncTargets"),
    column("Resources", ".spec.resources[*].resource"),
    ageColumn,
  ],
  schema: kindSchema(
    "How objects of some resources are synced to the physical clusters of this workspace.",
    { spec: syncPolicySpec },
    { required: ["spec"] },
  ),
};
export const syncPolicies = resourceOf<SyncPolicy>(syncPolicyKind);

export function appliesTo({ spec }: SyncPolicy, target: string): boolean {
  return spec.syncTargets === undefined || spec.syncTargets.includes(target);
}
