/** The shape of a workload kind, by its name. */
import type { MessageShape } from "../shape/index.ts";
import { controllerRevision, daemonSet, deployment, replicaSet, statefulSet } from "./apps.ts";
import { horizontalPodAutoscaler as horizontalPodAutoscalerV1 } from "./autoscaling-v1.ts";
import { horizontalPodAutoscaler as horizontalPodAutoscalerV2 } from "./autoscaling-v2.ts";
import { cronJob, job } from "./batch.ts";
import { persistentVolumeClaim } from "./core-claims.ts";
import { node } from "./core-nodes.ts";
import { persistentVolume } from "./core-persistent-volumes.ts";
import { podTemplate } from "./core-pod-spec.ts";
import { pod } from "./core-pods.ts";
import { endpoints, service } from "./core-services.ts";
import { endpointSlice } from "./discovery.ts";
import { ingress, ingressClass, ipAddress, networkPolicy, serviceCIDR } from "./networking.ts";
import { podDisruptionBudget } from "./policy.ts";

/** By group, version and kind as clients send them. */
const shapes: ReadonlyMap<string, MessageShape> = new Map([
  ["apps/v1/ControllerRevision", controllerRevision],
  ["apps/v1/DaemonSet", daemonSet],
  ["apps/v1/Deployment", deployment],
  ["apps/v1/ReplicaSet", replicaSet],
  ["apps/v1/StatefulSet", statefulSet],
  ["autoscaling/v1/HorizontalPodAutoscaler", horizontalPodAutoscalerV1],
  ["autoscaling/v2/HorizontalPodAutoscaler", horizontalPodAutoscalerV2],
  ["batch/v1/CronJob", cronJob],
  ["batch/v1/Job", job],
  ["v1/Endpoints", endpoints],
  ["v1/Node", node],
  ["v1/PersistentVolume", persistentVolume],
  ["v1/PersistentVolumeClaim", persistentVolumeClaim],
  ["v1/Pod", pod],
  ["v1/PodTemplate", podTemplate],
  ["v1/Service", service],
  ["discovery.k8s.io/v1/EndpointSlice", endpointSlice],
  ["networking.k8s.io/v1/IPAddress", ipAddress],
  ["networking.k8s.io/v1/Ingress", ingress],
  ["networking.k8s.io/v1/IngressClass", ingressClass],
  ["networking.k8s.io/v1/NetworkPolicy", networkPolicy],
  ["networking.k8s.io/v1/ServiceCIDR", serviceCIDR],
  ["policy/v1/PodDisruptionBudget", podDisruptionBudget],
]);

/** Undefined for kinds without a protobuf form. `apiVersion` is `v1` or `<group>/<version>`. */
export function workloadShape(apiVersion: string, kind: string): MessageShape | undefined {
  return shapes.get(`${apiVersion}/${kind}`);
}
