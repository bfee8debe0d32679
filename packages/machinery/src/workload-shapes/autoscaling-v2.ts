/** autoscaling/v2: the autoscaler that knows metrics of all sorts. Numbers are those of the published protobuf files. */
import {
  int32,
  int64,
  labelSelector,
  list,
  listMap,
  message,
  objectMeta,
  quantity,
  string,
  time,
  zeroless,
} from "../shape/index.ts";

const group = "io.k8s.api.autoscaling.v2";

const crossVersionObjectReference = message(
  `${group}.CrossVersionObjectReference`,
  {
    kind: [1, string],
    name: [2, string],
    apiVersion: [3, zeroless(string)],
  },
  "",
  { required: ["kind", "name"] },
);

const metricTarget = message(
  `${group}.MetricTarget`,
  {
    type: [1, string],
    value: [2, quantity],
    averageValue: [3, quantity],
    averageUtilization: [4, int32],
  },
  "",
  { required: ["type"] },
);

const metricIdentifier = message(
  `${group}.MetricIdentifier`,
  {
    name: [1, string],
    selector: [2, labelSelector],
  },
  "",
  { required: ["name"] },
);

const objectMetricSource = message(
  `${group}.ObjectMetricSource`,
  {
    describedObject: [1, crossVersionObjectReference],
    target: [2, metricTarget],
    metric: [3, metricIdentifier],
  },
  "",
  { required: ["describedObject", "target", "metric"] },
);

const podsMetricSource = message(
  `${group}.PodsMetricSource`,
  {
    metric: [1, metricIdentifier],
    target: [2, metricTarget],
  },
  "",
  { required: ["metric", "target"] },
);

const resourceMetricSource = message(
  `${group}.ResourceMetricSource`,
  {
    name: [1, string],
    target: [2, metricTarget],
  },
  "",
  { required: ["name", "target"] },
);

const externalMetricSource = message(
  `${group}.ExternalMetricSource`,
  {
    metric: [1, metricIdentifier],
    target: [2, metricTarget],
  },
  "",
  { required: ["metric", "target"] },
);

const containerResourceMetricSource = message(
  `${group}.ContainerResourceMetricSource`,
  {
    name: [1, string],
    target: [2, metricTarget],
    container: [3, string],
  },
  "",
  { required: ["name", "target", "container"] },
);

const metricSpec = message(
  `${group}.MetricSpec`,
  {
    type: [1, string],
    object: [2, objectMetricSource],
    pods: [3, podsMetricSource],
    resource: [4, resourceMetricSource],
    external: [5, externalMetricSource],
    containerResource: [7, containerResourceMetricSource],
  },
  "",
  { required: ["type"] },
);

const hPAScalingPolicy = message(
  `${group}.HPAScalingPolicy`,
  {
    type: [1, string],
    value: [2, int32],
    periodSeconds: [3, int32],
  },
  "",
  { required: ["type", "value", "periodSeconds"] },
);

const hPAScalingRules = message(`${group}.HPAScalingRules`, {
  selectPolicy: [1, string],
  policies: [2, list(hPAScalingPolicy)],
  stabilizationWindowSeconds: [3, int32],
  tolerance: [4, quantity],
});

const horizontalPodAutoscalerBehavior = message(`${group}.HorizontalPodAutoscalerBehavior`, {
  scaleUp: [1, hPAScalingRules],
  scaleDown: [2, hPAScalingRules],
});

const horizontalPodAutoscalerSpec = message(
  `${group}.HorizontalPodAutoscalerSpec`,
  {
    scaleTargetRef: [1, crossVersionObjectReference],
    minReplicas: [2, int32],
    maxReplicas: [3, int32],
    metrics: [4, list(metricSpec)],
    behavior: [5, horizontalPodAutoscalerBehavior],
  },
  "",
  { required: ["scaleTargetRef", "maxReplicas"] },
);

const metricValueStatus = message(`${group}.MetricValueStatus`, {
  value: [1, quantity],
  averageValue: [2, quantity],
  averageUtilization: [3, int32],
});

const objectMetricStatus = message(
  `${group}.ObjectMetricStatus`,
  {
    metric: [1, metricIdentifier],
    current: [2, metricValueStatus],
    describedObject: [3, crossVersionObjectReference],
  },
  "",
  { required: ["metric", "current", "describedObject"] },
);

const podsMetricStatus = message(
  `${group}.PodsMetricStatus`,
  {
    metric: [1, metricIdentifier],
    current: [2, metricValueStatus],
  },
  "",
  { required: ["metric", "current"] },
);

const resourceMetricStatus = message(
  `${group}.ResourceMetricStatus`,
  {
    name: [1, string],
    current: [2, metricValueStatus],
  },
  "",
  { required: ["name", "current"] },
);

const externalMetricStatus = message(
  `${group}.ExternalMetricStatus`,
  {
    metric: [1, metricIdentifier],
    current: [2, metricValueStatus],
  },
  "",
  { required: ["metric", "current"] },
);

const containerResourceMetricStatus = message(
  `${group}.ContainerResourceMetricStatus`,
  {
    name: [1, string],
    current: [2, metricValueStatus],
    container: [3, string],
  },
  "",
  { required: ["name", "current", "container"] },
);

const metricStatus = message(
  `${group}.MetricStatus`,
  {
    type: [1, string],
    object: [2, objectMetricStatus],
    pods: [3, podsMetricStatus],
    resource: [4, resourceMetricStatus],
    external: [5, externalMetricStatus],
    containerResource: [7, containerResourceMetricStatus],
  },
  "",
  { required: ["type"] },
);

const horizontalPodAutoscalerCondition = message(
  `${group}.HorizontalPodAutoscalerCondition`,
  {
    type: [1, string],
    status: [2, string],
    lastTransitionTime: [3, time],
    reason: [4, zeroless(string)],
    message: [5, zeroless(string)],
  },
  "",
  { required: ["type", "status"] },
);

const horizontalPodAutoscalerStatus = message(
  `${group}.HorizontalPodAutoscalerStatus`,
  {
    observedGeneration: [1, int64],
    lastScaleTime: [2, time],
    currentReplicas: [3, zeroless(int32)],
    desiredReplicas: [4, int32],
    currentMetrics: [5, list(metricStatus)],
    conditions: [6, listMap(horizontalPodAutoscalerCondition, "type")],
  },
  "",
  { required: ["desiredReplicas"] },
);

export const horizontalPodAutoscaler = message(`${group}.HorizontalPodAutoscaler`, {
  metadata: [1, objectMeta],
  spec: [2, horizontalPodAutoscalerSpec],
  status: [3, horizontalPodAutoscalerStatus],
});
