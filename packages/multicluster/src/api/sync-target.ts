/** SyncTarget: a physical cluster, registered in a logical cluster. */
import {
  ageColumn,
  bool,
  column,
  conditionColumn,
  int32,
  intOrString,
  kindSchema,
  list,
  map,
  object,
  rules,
  type Schema,
  type SystemKind,
  string,
  type TypeOf,
} from "@kcp-ts/machinery/schema";
import type { KubernetesObject } from "@kcp-ts/sdk";
import { drainSpec, drainStatus } from "./drain.ts";
import { categories, conditions, resourceOf, version } from "./kind-schemas.ts";
import { resourceLimits, taints } from "./scheduling.ts";

const syncTargetSpec = object(
  {
    kubeconfig: string(
      "How to connect to the cluster: a kubeconfig, of which the current context counts. Shown only to those who may read Secrets here.",
      { maxLength: 262_144 },
    ),
    kubeconfigSecretRef: object(
      {
        namespace: string("", { minLength: 1, maxLength: 63 }),
        name: string("", { minLength: 1, maxLength: 253 }),
        key: string("The key in the Secret's data.", {
          default: "kubeconfig",
          minLength: 1,
          maxLength: 253,
        }),
      },
      {
        description: "The Secret that holds the kubeconfig, instead of kubeconfig.",
        required: ["namespace", "name"],
      },
    ),
    mode: string(
      "Push: the control plane connects to the cluster. Pull: an agent in the cluster connects to the control plane. None: an operator starts the syncer.",
      { enum: ["Push", "Pull", "None"], default: "Push" },
    ),
    unschedulable: bool(
      "Cordoned: the scheduler assigns nothing new to the cluster; running workloads stay.",
      { default: false },
    ),
    resources: list(string("", { minLength: 1, maxLength: 317 }), {
      description:
        'What is synced, as in "deployments.apps"; "*" is everything that can be. The default is the list of the control plane.',
      maxItems: 500,
      "x-kubernetes-list-type": "set",
    }),
    taints,
    resourceLimits: resourceLimits(
      "The most that all workspaces together may use of the cluster. A resource named here replaces the capacity that the cluster reports.",
    ),
    drain: drainSpec,
  },
  {
    default: {},
    ...rules([
      "!(has(self.kubeconfig) && size(self.kubeconfig) > 0 && has(self.kubeconfigSecretRef))",
      "kubeconfig and kubeconfigSecretRef exclude each other",
    ]),
  },
);
export type SyncTargetSpec = TypeOf<typeof syncTargetSpec>;
export type SyncMode = NonNullable<SyncTargetSpec["mode"]>;

/** Controllers write quantities as strings. */
const quantities = (description: string) => map(intOrString() as Schema<string>, { description });

const syncTargetStatus = object({
  conditions,
  state: string(
    "A summary for tables, as of nodes: Ready, NotReady, Unknown or Terminating, with SchedulingDisabled, Draining and the moved workloads, or Drained.",
  ),
  version: string("The cluster's version of Kubernetes."),
  clusterID: string(
    "The uid of the cluster's namespace kube-system. SyncTargets with the same one are one cluster.",
  ),
  alsoRegisteredAs: list(string(), {
    description: "Other SyncTargets that have namespaces in the cluster.",
  }),
  registrations: int32(
    "The number of SyncTargets of this cluster in the workspace, if there are several. The capacity is divided among them.",
  ),
  capacity: quantities("The capacity of all nodes together."),
  allocatable: quantities("The part of the capacity that workloads may use."),
  reserved: quantities("The resource requests of the workloads that are assigned to the cluster."),
  syncedResources: list(string(), { description: "The synced resources, as resource.group." }),
  formerResources: list(string(), {
    description:
      "Resources that were synced before, and of which objects may still be in the cluster. They leave it in a drain, and when the SyncTarget is deleted.",
  }),
  leaseDurationSeconds: int32(
    "The duration of the agent's Lease that the control plane has accepted: this long after the last accepted renewal, the agent stops workloads whose failover strategy is StopBeforeStart.",
  ),
  tunnel: object({
    id: string("The newest tunnel of the agent."),
    server: string(
      "The server process that holds the tunnel. When that process ends, the agent connects again or renews its Lease within seconds, or it counts as lost.",
    ),
    disconnectedAt: string(
      "The renewTime of the agent's Lease when the tunnel broke. The agent counts as lost until it renews the Lease.",
    ),
  }),
  drain: drainStatus,
});
export type SyncTargetStatus = TypeOf<typeof syncTargetStatus>;

export interface SyncTarget extends KubernetesObject {
  readonly spec?: SyncTargetSpec;
  readonly status?: SyncTargetStatus;
}

export const syncTargetKind: SystemKind = {
  group: "workload.kcp.io",
  version,
  kind: "SyncTarget",
  resource: "synctargets",
  shortNames: ["cluster", "clusters", "st"],
  categories,
  hasStatus: true,
  columns: [
    column("Location", ".metadata.name", { priority: 1 }),
    conditionColumn("Ready"),
    column("Status", ".status.state"),
    column("Reason", '.status.conditions[?(@.type=="Ready")].reason'),
    column("Version", ".status.version"),
    column("Mode", ".spec.mode", { priority: 1 }),
    column("Synced API resources", ".status.syncedResources", { priority: 1 }),
    ageColumn,
  ],
  schema: kindSchema("A physical cluster: what is assigned to it by name is synced to it.", {
    spec: syncTargetSpec,
    status: syncTargetStatus,
  }),
};
export const syncTargets = resourceOf<SyncTarget>(syncTargetKind);

/** The condition types; Ready summarizes the others. */
export const targetConditions = {
  ready: "Ready",
  syncerReady: "SyncerReady",
  apiImporterReady: "APIImporterReady",
  heartbeatHealthy: "HeartbeatHealthy",
} as const;

/**
 * The minimal lease of an agent. With a shorter lease, a single slow request would let it expire; a
 * longer lease delays the detection of a lost agent.
 */
export const leaseMsMin = 3000;
export const leaseMsMax = 600_000;

/** The interval at which an agent without a tunnel renews its Lease, unless the Lease is short. */
export const tunnellessRenewMs = 2000;

export const defaultSecretKey = "kubeconfig";
