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
import type { JsonObject } from "@kcp-ts/machinery/json";
import { defineResource, type KubernetesObject } from "@kcp-ts/sdk";
import type { KindDefinition } from "./kinds.ts";
import {
  ageColumn,
  arrayType,
  column,
  objectType,
  specSchema,
  stringType,
} from "./schema-builders.ts";

export interface SyncPolicy extends KubernetesObject {
  readonly spec: SyncPolicySpec;
}

export interface SyncPolicySpec {
  /** The names of SyncTargets; all of the logical cluster if omitted. */
  readonly syncTargets?: readonly string[];
  readonly resources: readonly ResourceSyncPolicy[];
}

export interface ResourceSyncPolicy extends Partial<SyncRules> {
  /** The core group if empty or omitted. */
  readonly group?: string;
  readonly resource: string;
}

export interface SyncRules {
  /**
   * `Down`: objects are created upstream and synced to the cluster. `Up`: objects are created in
   * the cluster, in namespaces of the syncer, and synced up. `Both`: assigned objects are synced
   * down, objects that are created in the cluster are synced up. A cluster-scoped kind that is only
   * synced up is synced with all objects of the cluster.
   */
  readonly direction: "Down" | "Up" | "Both";
  /**
   * The upstream names of upsynced objects: as in the cluster, or `<name>--<SyncTarget>`, so that
   * several clusters can have the same name.
   */
  readonly upsyncedNames: "Same" | "BySyncTarget";
  /**
   * The downstream name of a per-cluster object `<name>--<SyncTarget>`: the same, or the name of
   * its workload, where clients in the cluster use that name.
   */
  readonly downstreamNames: "Same" | "Workload";
  /** The direction in which `.status` is synced. */
  readonly statusDirection: "Up" | "Down" | "None";
  /**
   * The reaction when a client deletes the copy in the cluster: the syncer creates it again, or
   * deletes the upstream object, too.
   */
  readonly onDownstreamDeletion: "Recreate" | "Propagate";
  /**
   * The reaction when a client deletes an upsynced copy: the syncer creates it again, or deletes
   * the original in the cluster, too, as far as its kind permits.
   */
  readonly onUpstreamDeletion: "Recreate" | "Propagate";
  /**
   * Fields that a controller in the cluster may own, such as `spec.replicas`. The syncer owns them
   * as long as no other manager does.
   */
  readonly conflictingFields: readonly ConflictingField[];
  /** Fields that are never sent to the cluster. */
  readonly omittedFields: readonly string[];
  /** Downstream names by upstream name, for objects whose name the cluster uses itself. */
  readonly renamedObjects: Readonly<Record<string, string>>;
  /**
   * The workspaces whose objects are synced: all that use the SyncTarget, or only its own. A
   * PersistentVolume refers to storage that may belong to anyone, so only the owner of the cluster
   * may create one there.
   */
  readonly workspaces: "All" | "Own";
}

export interface ConflictingField {
  /** A path such as `spec.replicas`. */
  readonly path: string;
  /**
   * When another manager owns the field downstream: its value stays there, or is upsynced to the
   * upstream object as well.
   */
  readonly resolution: "KeepDownstream" | "Upsync";
}

export const syncPolicies = defineResource<SyncPolicy>({
  group: "workload.kcp.io",
  version: "v1alpha1",
  resource: "syncpolicies",
  kind: "SyncPolicy",
  namespaced: false,
});

/** Fields of metadata and status have their own rules, which a policy cannot change. */
const fieldPath = stringType("A path such as spec.replicas.", {
  maxLength: 253,
  pattern: String.raw`^[A-Za-z_][A-Za-z0-9_-]*(\.[A-Za-z_][A-Za-z0-9_-]*)*$`,
  "x-kubernetes-validations": [
    {
      rule: "!(self.split('.')[0] in ['apiVersion', 'kind', 'metadata', 'status'])",
      message: "must not be a field of apiVersion, kind, metadata or status",
    },
  ],
});
const objectName: JsonObject = { minLength: 1, maxLength: 253 };

const resourcePolicy = objectType(
  {
    group: stringType("The core group if empty.", { maxLength: 253, default: "" }),
    resource: stringType("The plural name, as in deployments.", { minLength: 1, maxLength: 63 }),
    direction: stringType(
      "Down: objects are created upstream and synced to the cluster. Up: objects are created in the cluster and synced up. Both: assigned objects are synced down, objects of the cluster are synced up.",
      { enum: ["Down", "Up", "Both"] },
    ),
    upsyncedNames: stringType(
      "The upstream names of upsynced objects. Same: as in the cluster. BySyncTarget: <name>--<SyncTarget>, so that several clusters can have objects of one name.",
      { enum: ["Same", "BySyncTarget"] },
    ),
    downstreamNames: stringType(
      "The downstream name of a per-cluster object <name>--<SyncTarget>. Same: unchanged. Workload: the name of the workload.",
      { enum: ["Same", "Workload"] },
    ),
    statusDirection: stringType("The direction in which status is synced.", {
      enum: ["Up", "Down", "None"],
    }),
    onDownstreamDeletion: stringType(
      "When a copy is deleted in the cluster. Recreate: it is created again. Propagate: the upstream object is deleted, too.",
      { enum: ["Recreate", "Propagate"] },
    ),
    onUpstreamDeletion: stringType(
      "When an upsynced copy is deleted. Recreate: it is created again. Propagate: the object in the cluster is deleted, too.",
      { enum: ["Recreate", "Propagate"] },
    ),
    conflictingFields: arrayType(
      objectType(
        {
          path: fieldPath,
          resolution: stringType(
            "When another manager owns the field in the cluster. KeepDownstream: its value stays there. Upsync: its value is also written to the upstream object.",
            { enum: ["KeepDownstream", "Upsync"] },
          ),
        },
        { required: ["path", "resolution"] },
      ),
      {
        description: "Fields that a controller in the cluster may own.",
        maxItems: 32,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["path"],
      },
    ),
    omittedFields: arrayType(fieldPath, {
      description: "Fields that are never sent to the cluster.",
      maxItems: 32,
      "x-kubernetes-list-type": "set",
    }),
    renamedObjects: {
      type: "object",
      description:
        "Downstream names by upstream name, for objects whose name the cluster uses itself.",
      maxProperties: 32,
      additionalProperties: stringType("", objectName),
    },
    workspaces: stringType(
      "The workspaces whose objects are synced: all that use the SyncTarget, or only its own.",
      { enum: ["All", "Own"] },
    ),
  },
  { required: ["resource"] },
);

export const syncPolicyKind: KindDefinition = {
  group: "workload.kcp.io",
  version: "v1alpha1",
  kind: "SyncPolicy",
  resource: "syncpolicies",
  categories: ["kcp"],
  hasStatus: false,
  columns: [
    column("SyncTargets", ".spec.syncTargets"),
    column("Resources", ".spec.resources[*].resource"),
    ageColumn,
  ],
  schema: specSchema(
    "How objects of some resources are synced to the physical clusters of this workspace.",
    objectType(
      {
        syncTargets: arrayType(stringType("", objectName), {
          description: "The SyncTargets to which the policy applies; all if omitted.",
          minItems: 1,
          maxItems: 100,
          "x-kubernetes-list-type": "set",
        }),
        resources: arrayType(resourcePolicy, {
          minItems: 1,
          maxItems: 50,
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["group", "resource"],
        }),
      },
      { required: ["resources"] },
    ),
  ),
};

export function appliesTo({ spec }: SyncPolicy, target: string): boolean {
  return spec.syncTargets === undefined || spec.syncTargets.includes(target);
}
