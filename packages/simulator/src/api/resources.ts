/** The resources that controllers use. */
import { defineResource } from "@kcp-ts/sdk";
import type {
  ControllerRevision,
  CronJob,
  DaemonSet,
  EndpointSlice,
  Endpoints,
  HorizontalPodAutoscaler,
  Ingress,
  Job,
  Lease,
  PersistentVolume,
  PersistentVolumeClaim,
  PodDisruptionBudget,
  Service,
  StatefulSet,
  StorageClass,
} from "./more-objects.ts";
import type { Deployment, Node, Pod, ReplicaSet } from "./objects.ts";

const core = { group: "", version: "v1", namespaced: true } as const;
const apps = { group: "apps", version: "v1", namespaced: true } as const;
const batch = { group: "batch", version: "v1", namespaced: true } as const;

export const pods = defineResource<Pod>({ ...core, resource: "pods", kind: "Pod" });

export const nodes = defineResource<Node>({
  ...core,
  resource: "nodes",
  kind: "Node",
  namespaced: false,
});

export const services = defineResource<Service>({ ...core, resource: "services", kind: "Service" });

export const endpoints = defineResource<Endpoints>({
  ...core,
  resource: "endpoints",
  kind: "Endpoints",
});

export const persistentVolumeClaims = defineResource<PersistentVolumeClaim>({
  ...core,
  resource: "persistentvolumeclaims",
  kind: "PersistentVolumeClaim",
});

export const persistentVolumes = defineResource<PersistentVolume>({
  ...core,
  resource: "persistentvolumes",
  kind: "PersistentVolume",
  namespaced: false,
});

export const replicaSets = defineResource<ReplicaSet>({
  ...apps,
  resource: "replicasets",
  kind: "ReplicaSet",
});

export const deployments = defineResource<Deployment>({
  ...apps,
  resource: "deployments",
  kind: "Deployment",
});

export const statefulSets = defineResource<StatefulSet>({
  ...apps,
  resource: "statefulsets",
  kind: "StatefulSet",
});

export const daemonSets = defineResource<DaemonSet>({
  ...apps,
  resource: "daemonsets",
  kind: "DaemonSet",
});

export const controllerRevisions = defineResource<ControllerRevision>({
  ...apps,
  resource: "controllerrevisions",
  kind: "ControllerRevision",
});

export const jobs = defineResource<Job>({ ...batch, resource: "jobs", kind: "Job" });

export const cronJobs = defineResource<CronJob>({
  ...batch,
  resource: "cronjobs",
  kind: "CronJob",
});

export const ingresses = defineResource<Ingress>({
  group: "networking.k8s.io",
  version: "v1",
  resource: "ingresses",
  kind: "Ingress",
  namespaced: true,
});

export const endpointSlices = defineResource<EndpointSlice>({
  group: "discovery.k8s.io",
  version: "v1",
  resource: "endpointslices",
  kind: "EndpointSlice",
  namespaced: true,
});

export const horizontalPodAutoscalers = defineResource<HorizontalPodAutoscaler>({
  group: "autoscaling",
  version: "v2",
  resource: "horizontalpodautoscalers",
  kind: "HorizontalPodAutoscaler",
  namespaced: true,
});

export const podDisruptionBudgets = defineResource<PodDisruptionBudget>({
  group: "policy",
  version: "v1",
  resource: "poddisruptionbudgets",
  kind: "PodDisruptionBudget",
  namespaced: true,
});

export const leases = defineResource<Lease>({
  group: "coordination.k8s.io",
  version: "v1",
  resource: "leases",
  kind: "Lease",
  namespaced: true,
});

export const storageClasses = defineResource<StorageClass>({
  group: "storage.k8s.io",
  version: "v1",
  resource: "storageclasses",
  kind: "StorageClass",
  namespaced: false,
});
