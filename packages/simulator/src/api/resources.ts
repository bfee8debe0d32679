/** The resources that controllers use. */
import { defineResource } from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
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

export const pods = defineResource<Pod>(kinds.pods);

export const nodes = defineResource<Node>(kinds.nodes);

export const services = defineResource<Service>(kinds.services);

export const endpoints = defineResource<Endpoints>(kinds.endpoints);

export const persistentVolumeClaims = defineResource<PersistentVolumeClaim>(
  kinds.persistentVolumeClaims,
);

export const persistentVolumes = defineResource<PersistentVolume>(kinds.persistentVolumes);

export const replicaSets = defineResource<ReplicaSet>(kinds.replicaSets);

export const deployments = defineResource<Deployment>(kinds.deployments);

export const statefulSets = defineResource<StatefulSet>(kinds.statefulSets);

export const daemonSets = defineResource<DaemonSet>(kinds.daemonSets);

export const controllerRevisions = defineResource<ControllerRevision>(kinds.controllerRevisions);

export const jobs = defineResource<Job>(kinds.jobs);

export const cronJobs = defineResource<CronJob>(kinds.cronJobs);

export const ingresses = defineResource<Ingress>(kinds.ingresses);

export const endpointSlices = defineResource<EndpointSlice>(kinds.endpointSlices);

export const horizontalPodAutoscalers = defineResource<HorizontalPodAutoscaler>(
  kinds.horizontalPodAutoscalers,
);

export const podDisruptionBudgets = defineResource<PodDisruptionBudget>(kinds.podDisruptionBudgets);

export const leases = defineResource<Lease>(kinds.leases);

export const storageClasses = defineResource<StorageClass>(kinds.storageClasses);
