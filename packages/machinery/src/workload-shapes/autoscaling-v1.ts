/** autoscaling/v1: the autoscaler in its first form, which knows only CPU. Numbers are those of the published protobuf files. */
import { int32, int64, message, objectMeta, string, time, zeroless } from "../shape/index.ts";

const group = "io.k8s.api.autoscaling.v1";

const crossVersionObjectReference = message(
  `${group}.CrossVersionObjectReference`,
  {
    kind: [1, string],
    name: [2, string],
    apiVersion: [3, zeroless(string)],
  },
  "",
  { required: ["kind", "name"], isAtomic: true },
);

const horizontalPodAutoscalerSpec = message(
  `${group}.HorizontalPodAutoscalerSpec`,
  {
    scaleTargetRef: [1, crossVersionObjectReference],
    minReplicas: [2, int32],
    maxReplicas: [3, int32],
    targetCPUUtilizationPercentage: [4, int32],
  },
  "",
  { required: ["scaleTargetRef", "maxReplicas"] },
);

const horizontalPodAutoscalerStatus = message(
  `${group}.HorizontalPodAutoscalerStatus`,
  {
    observedGeneration: [1, int64],
    lastScaleTime: [2, time],
    currentReplicas: [3, int32],
    desiredReplicas: [4, int32],
    currentCPUUtilizationPercentage: [5, int32],
  },
  "",
  { required: ["currentReplicas", "desiredReplicas"] },
);

export const horizontalPodAutoscaler = message(`${group}.HorizontalPodAutoscaler`, {
  metadata: [1, objectMeta],
  spec: [2, horizontalPodAutoscalerSpec],
  status: [3, horizontalPodAutoscalerStatus],
});
