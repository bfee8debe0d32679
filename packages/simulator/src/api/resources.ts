/** The resources that controllers use. */
import { builtInResource } from "@kcp-ts/sdk";
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

export const pods = builtInResource<Pod>("pods");

export const nodes = builtInResource<Node>("nodes");

export const services = builtInResource<Service>("services");

export const endpoints = builtInResource<Endpoints>("endpoints");

export const persistentVolumeClaims =
  builtInResource<PersistentVolumeClaim>("persistentvolumeclaims");

export const persistentVolumes = builtInResource<PersistentVolume>("persistentvolumes");

export const replicaSets = builtInResource<ReplicaSet>("replicasets.apps");

export const deployments = builtInResource<Deployment>("deployments.apps");

export const statefulSets = builtInResource<StatefulSet>("statefulsets.apps");

export const daemonSets = builtInResource<DaemonSet>("daemonsets.apps");

export const controllerRevisions = builtInResource<ControllerRevision>("controllerrevisions.apps");

export const jobs = builtInResource<Job>("jobs.batch");

export const cronJobs = builtInResource<CronJob>("cronjobs.batch");

export const ingresses = builtInResource<Ingress>("ingresses.networking.k8s.io");

export const endpointSlices = builtInResource<EndpointSlice>("endpointslices.discovery.k8s.io");

export const horizontalPodAutoscalers = builtInResource<HorizontalPodAutoscaler>(
  "horizontalpodautoscalers.autoscaling",
);

export const podDisruptionBudgets = builtInResource<PodDisruptionBudget>(
  "poddisruptionbudgets.policy",
);

export const leases = builtInResource<Lease>("leases.coordination.k8s.io");

export const storageClasses = builtInResource<StorageClass>("storageclasses.storage.k8s.io");
