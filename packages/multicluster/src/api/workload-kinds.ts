/** The kinds for workloads: ClusterDaemonSet, and WorkloadStrategy for custom kinds. */

import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  ageColumn,
  anyObject,
  column,
  conditionColumn,
  int32,
  kindSchema,
  map,
  object,
  rules,
  type SystemKind,
  string,
  type TypeOf,
} from "@kcp-ts/machinery/schema";
import type { KubernetesObject } from "@kcp-ts/sdk";
import { categories, conditions, resourceOf, version } from "./kind-schemas.ts";

const group = "workload.kcp.io";

export interface ClusterDaemonSet extends KubernetesObject {
  readonly spec: JsonObject;
  readonly status?: object;
}

const count = (description = "") => int32(description, { minimum: 0 });

export const clusterDaemonSetKind: SystemKind = {
  group,
  version,
  kind: "ClusterDaemonSet",
  resource: "clusterdaemonsets",
  shortNames: ["cds"],
  categories,
  isNamespaced: true,
  hasStatus: true,
  columns: [
    column("Clusters", ".status.desiredClusters", { type: "integer" }),
    column("Ready", ".status.readyClusters", { type: "integer" }),
    column("Replicas", ".status.replicas", { type: "integer", priority: 1 }),
    ageColumn,
  ],
  schema: kindSchema(
    "A Deployment in every cluster that takes part, with at least one replica in each.",
    {
      spec: object(
        {
          template: object(
            {
              spec: anyObject(
                "The spec of the Deployments. Its replicas are those of each cluster; one if left out, and at least one.",
              ),
            },
            { required: ["spec"] },
          ),
        },
        { required: ["template"] },
      ),
      status: object({
        observedGeneration: { type: "integer", format: "int64" },
        desiredClusters: count("The number of clusters that have a copy."),
        readyClusters: count("The number of clusters in which all replicas are available."),
        replicas: count(),
        readyReplicas: count(),
        conditions,
      }),
    },
    { required: ["spec"] },
  ),
};
export const clusterDaemonSets = resourceOf<ClusterDaemonSet>(clusterDaemonSetKind);

const expression = { minLength: 1, maxLength: 4096 };

const workloadStrategySpec = object(
  {
    group: string("Empty: the core group.", { maxLength: 253 }),
    version: string("", { minLength: 1, maxLength: 63 }),
    resource: string("The plural, as in a URL.", { minLength: 1, maxLength: 63 }),
    kind: string("", { minLength: 1, maxLength: 63 }),
    strategy: string(
      "Divide: each cluster has some of the replicas. Duplicate: every cluster has all of it. Single: one cluster has all of it.",
      { enum: ["Divide", "Duplicate", "Single"] },
    ),
    replicasPath: string("Where the number of replicas is, as in spec.size. Needed to divide.", {
      pattern: "^spec(\\.[A-Za-z0-9_-]+)+$",
      maxLength: 253,
    }),
    available: string(
      "CEL over self, an object in one cluster: how many of its replicas are available. Default: status.availableReplicas.",
      expression,
    ),
    observed: string(
      "CEL over self: whether its status is about its newest spec. Default: status.observedGeneration is metadata.generation.",
      expression,
    ),
    podTemplatePath: string(
      "Where the template of its Pods is, as in spec.template: what that refers to and Services that select its labels follow the object, and its claims are cared for.",
      { pattern: "^spec(\\.[A-Za-z0-9_-]+)*$", maxLength: 253 },
    ),
    references: string(
      'CEL over self, the whole: a list of what else it refers to, as in ["secrets/" + self.spec.secretName]. ConfigMaps, Secrets, ServiceAccounts and PersistentVolumeClaims.',
      expression,
    ),
    status: map(string("", expression), {
      maxProperties: 32,
      description:
        "By field of .status: a CEL expression over copies, a list of {cluster, spec, status}, and self, the workload.",
    }),
  },
  {
    required: ["version", "resource", "kind", "strategy"],
    ...rules([
      "self.strategy != 'Divide' || has(self.replicasPath)",
      "to divide, replicasPath has to say where the number of replicas is",
    ]),
  },
);
export type WorkloadStrategySpec = TypeOf<typeof workloadStrategySpec>;

const workloadStrategyStatus = object({ conditions });

export interface WorkloadStrategy extends KubernetesObject {
  readonly spec: WorkloadStrategySpec;
  readonly status?: TypeOf<typeof workloadStrategyStatus>;
}

export const workloadStrategyKind: SystemKind = {
  group,
  version,
  kind: "WorkloadStrategy",
  resource: "workloadstrategies",
  categories,
  hasStatus: true,
  columns: [
    column("Group", ".spec.group"),
    column("Resource", ".spec.resource"),
    column("Strategy", ".spec.strategy"),
    conditionColumn("Accepted"),
    ageColumn,
  ],
  schema: kindSchema(
    "How objects of a custom kind are spread over clusters.",
    { spec: workloadStrategySpec, status: workloadStrategyStatus },
    { required: ["spec"] },
  ),
};
export const workloadStrategies = resourceOf<WorkloadStrategy>(workloadStrategyKind);
