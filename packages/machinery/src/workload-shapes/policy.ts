/** The policy group: how much disruption a workload takes. Numbers are those of the published protobuf files. */
import {
  condition,
  deleteOptions,
  int32,
  int64,
  intOrString,
  labelSelector,
  listMap,
  map,
  message,
  objectMeta,
  string,
  time,
  zeroless,
} from "../shape/index.ts";

const group = "io.k8s.api.policy.v1";

const podDisruptionBudgetSpec = message(`${group}.PodDisruptionBudgetSpec`, {
  minAvailable: [1, intOrString],
  selector: [2, labelSelector],
  maxUnavailable: [3, intOrString],
  unhealthyPodEvictionPolicy: [4, string],
});

const podDisruptionBudgetStatus = message(`${group}.PodDisruptionBudgetStatus`, {
  observedGeneration: [1, zeroless(int64)],
  disruptedPods: [2, map(time)],
  disruptionsAllowed: [3, int32],
  currentHealthy: [4, int32],
  desiredHealthy: [5, int32],
  expectedPods: [6, int32],
  conditions: [7, listMap(condition, "type")],
});

export const podDisruptionBudget = message(`${group}.PodDisruptionBudget`, {
  metadata: [1, objectMeta],
  spec: [2, podDisruptionBudgetSpec],
  status: [3, podDisruptionBudgetStatus],
});

export const eviction = message(`${group}.Eviction`, {
  metadata: [1, objectMeta],
  deleteOptions: [2, deleteOptions],
});
