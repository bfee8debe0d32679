/** Shapes of the workload kinds, as the newer of the two generations has them. */
export {
  controllerRevision,
  daemonSet,
  deployment,
  replicaSet,
  statefulSet,
} from "./apps.ts";
export { horizontalPodAutoscaler as horizontalPodAutoscalerV1 } from "./autoscaling-v1.ts";
export { horizontalPodAutoscaler as horizontalPodAutoscalerV2 } from "./autoscaling-v2.ts";
export { cronJob, job } from "./batch.ts";
export { persistentVolumeClaim } from "./core-claims.ts";
export { node } from "./core-nodes.ts";
export { persistentVolume } from "./core-persistent-volumes.ts";
export { podTemplate } from "./core-pod-spec.ts";
export { binding, pod } from "./core-pods.ts";
export { endpoints, service } from "./core-services.ts";
export { endpointSlice } from "./discovery.ts";
export { type Generation, generations, inGeneration } from "./generations.ts";
export { ingress, ingressClass, ipAddress, networkPolicy, serviceCIDR } from "./networking.ts";
export { eviction, podDisruptionBudget } from "./policy.ts";
