/**
 * Shapes of the kinds that a plain Kubernetes cluster has and this server does not: workloads, and
 * their dependencies. Simulated clusters serve them; the API server decodes clients' protobuf with
 * them where a CustomResourceDefinition replaces such a kind.
 *
 * Apart from `shape/` because most processes never need them: they are loaded lazily.
 */
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
export { ingress, ingressClass, ipAddress, networkPolicy, serviceCIDR } from "./networking.ts";
export { eviction, podDisruptionBudget } from "./policy.ts";
export { workloadShape } from "./workload-shape.ts";
