/** The kinds for workloads: ClusterDaemonSet, and WorkloadStrategy for custom kinds. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { type Condition, defineResource, type KubernetesObject } from "@kcp-ts/sdk";
import type { KindDefinition } from "./kinds.ts";
import {
  ageColumn,
  column,
  conditionColumn,
  conditions,
  objectType,
  resourceSchema,
  stringType,
} from "./schema-builders.ts";

export interface ClusterDaemonSet extends KubernetesObject {
  readonly spec: JsonObject;
  readonly status?: object;
}

export const clusterDaemonSets = defineResource<ClusterDaemonSet>({
  group: "workload.kcp.io",
  version: "v1alpha1",
  resource: "clusterdaemonsets",
  kind: "ClusterDaemonSet",
  namespaced: true,
});

const anyObject: JsonObject = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
const count: JsonObject = { type: "integer", format: "int32", minimum: 0 };

export const clusterDaemonSetKind: KindDefinition = {
  group: "workload.kcp.io",
  version: "v1alpha1",
  kind: "ClusterDaemonSet",
  resource: "clusterdaemonsets",
  shortNames: ["cds"],
  categories: ["kcp"],
  isNamespaced: true,
  hasStatus: true,
  columns: [
    column("Clusters", ".status.desiredClusters", { type: "integer" }),
    column("Ready", ".status.readyClusters", { type: "integer" }),
    column("Replicas", ".status.replicas", { type: "integer", priority: 1 }),
    ageColumn,
  ],
  schema: resourceSchema(
    "A Deployment in every cluster that takes part, with at least one replica in each.",
    objectType(
      {
        template: objectType(
          {
            spec: {
              ...anyObject,
              description:
                "The spec of the Deployments. Its replicas are those of each cluster; one if left out, and at least one.",
            },
          },
          { required: ["spec"] },
        ),
      },
      { required: ["template"] },
    ),
    objectType({
      observedGeneration: { type: "integer", format: "int64" },
      desiredClusters: { ...count, description: "The number of clusters that have a copy." },
      readyClusters: {
        ...count,
        description: "The number of clusters in which all replicas are available.",
      },
      replicas: count,
      readyReplicas: count,
      conditions,
    }),
    { required: ["spec"] },
  ),
};

export interface WorkloadStrategy extends KubernetesObject {
  readonly spec: WorkloadStrategySpec;
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export interface WorkloadStrategySpec {
  /** The core group if empty or omitted. */
  readonly group?: string;
  readonly version: string;
  readonly resource: string;
  readonly kind: string;
  readonly strategy: "Divide" | "Duplicate" | "Single";
  /** A path such as `spec.size`. Required to divide replicas over clusters. */
  readonly replicasPath?: string;
  /** An expression over `self`, a per-cluster object: its number of available replicas. */
  readonly available?: string;
  /** An expression over `self`: whether its status reports its newest spec. */
  readonly observed?: string;
  /**
   * The path of the Pod template, such as `spec.template`. Objects that the template refers to and
   * Services that select its labels follow the workload, and its claims are managed.
   */
  readonly podTemplatePath?: string;
  /**
   * An expression over `self`, the workload: a list of further dependencies, such as `["secrets/" +
   * self.spec.secretName]`.
   */
  readonly references?: string;
  /**
   * By field of `.status`: an expression over `copies`, the statuses of the per-cluster objects by
   * cluster, and `self`, the workload.
   */
  readonly status?: Readonly<Record<string, string>>;
}

export const workloadStrategies = defineResource<WorkloadStrategy>({
  group: "workload.kcp.io",
  version: "v1alpha1",
  resource: "workloadstrategies",
  kind: "WorkloadStrategy",
  namespaced: false,
});

const expression = { minLength: 1, maxLength: 4096 };

export const workloadStrategyKind: KindDefinition = {
  group: "workload.kcp.io",
  version: "v1alpha1",
  kind: "WorkloadStrategy",
  resource: "workloadstrategies",
  categories: ["kcp"],
  hasStatus: true,
  columns: [
    column("Group", ".spec.group"),
    column("Resource", ".spec.resource"),
    column("Strategy", ".spec.strategy"),
    conditionColumn("Accepted"),
    ageColumn,
  ],
  schema: resourceSchema(
    "How objects of a custom kind are spread over clusters.",
    objectType(
      {
        group: stringType("Empty: the core group.", { maxLength: 253 }),
        version: stringType("", { minLength: 1, maxLength: 63 }),
        resource: stringType("The plural, as in a URL.", { minLength: 1, maxLength: 63 }),
        kind: stringType("", { minLength: 1, maxLength: 63 }),
        strategy: stringType(
          "Divide: each cluster has some of the replicas. Duplicate: every cluster has all of it. Single: one cluster has all of it.",
          { enum: ["Divide", "Duplicate", "Single"] },
        ),
        replicasPath: stringType(
          "Where the number of replicas is, as in spec.size. Needed to divide.",
          {
            pattern: "^spec(\\.[A-Za-z0-9_-]+)+$",
            maxLength: 253,
          },
        ),
        available: stringType(
          "CEL over self, an object in one cluster: how many of its replicas are available. Default: status.availableReplicas.",
          expression,
        ),
        observed: stringType(
          "CEL over self: whether its status is about its newest spec. Default: status.observedGeneration is metadata.generation.",
          expression,
        ),
        podTemplatePath: stringType(
          "Where the template of its Pods is, as in spec.template: what that refers to and Services that select its labels follow the object, and its claims are cared for.",
          { pattern: "^spec(\\.[A-Za-z0-9_-]+)*$", maxLength: 253 },
        ),
        references: stringType(
          'CEL over self, the whole: a list of what else it refers to, as in ["secrets/" + self.spec.secretName]. ConfigMaps, Secrets, ServiceAccounts and PersistentVolumeClaims.',
          expression,
        ),
        status: {
          type: "object",
          maxProperties: 32,
          additionalProperties: stringType("", expression),
          description:
            "By field of .status: a CEL expression over copies, a list of {cluster, spec, status}, and self, the workload.",
        },
      },
      {
        required: ["version", "resource", "kind", "strategy"],
        "x-kubernetes-validations": [
          {
            rule: "self.strategy != 'Divide' || has(self.replicasPath)",
            message: "to divide, replicasPath has to say where the number of replicas is",
          },
        ],
      },
    ),
    objectType({ conditions }),
    { required: ["spec"] },
  ),
};
