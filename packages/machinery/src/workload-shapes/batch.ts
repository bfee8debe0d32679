/** The batch group: Pods that run to an end. Numbers are those of the published protobuf files. */
import {
  bool,
  int32,
  int64,
  labelSelector,
  list,
  listMap,
  message,
  objectMeta,
  replacedByPatch,
  set,
  string,
  time,
  zeroless,
} from "../shape/index.ts";
import { podTemplateSpec } from "./core-pod-spec.ts";
import { objectReference } from "./core-references.ts";

const group = "io.k8s.api.batch.v1";

const podFailurePolicyOnExitCodesRequirement = message(
  `${group}.PodFailurePolicyOnExitCodesRequirement`,
  {
    containerName: [1, string],
    operator: [2, string],
    values: [3, replacedByPatch(set(int32))],
  },
  "",
  { required: ["operator", "values"] },
);

const podFailurePolicyOnPodConditionsPattern = message(
  `${group}.PodFailurePolicyOnPodConditionsPattern`,
  {
    type: [1, string],
    status: [2, string],
  },
  "",
  { required: ["type"] },
);

const podFailurePolicyRule = message(
  `${group}.PodFailurePolicyRule`,
  {
    action: [1, string],
    onExitCodes: [2, podFailurePolicyOnExitCodesRequirement],
    onPodConditions: [3, list(podFailurePolicyOnPodConditionsPattern)],
  },
  "",
  { required: ["action"] },
);

const podFailurePolicy = message(
  `${group}.PodFailurePolicy`,
  {
    rules: [1, list(podFailurePolicyRule)],
  },
  "",
  { required: ["rules"] },
);

const successPolicyRule = message(`${group}.SuccessPolicyRule`, {
  succeededIndexes: [1, string],
  succeededCount: [2, int32],
});

const successPolicy = message(
  `${group}.SuccessPolicy`,
  {
    rules: [1, list(successPolicyRule)],
  },
  "",
  { required: ["rules"] },
);

const jobSpec = message(
  `${group}.JobSpec`,
  {
    parallelism: [1, int32],
    completions: [2, int32],
    activeDeadlineSeconds: [3, int64],
    selector: [4, labelSelector],
    manualSelector: [5, bool],
    template: [6, podTemplateSpec],
    backoffLimit: [7, int32],
    ttlSecondsAfterFinished: [8, int32],
    completionMode: [9, string],
    suspend: [10, bool],
    podFailurePolicy: [11, podFailurePolicy],
    backoffLimitPerIndex: [12, int32],
    maxFailedIndexes: [13, int32],
    podReplacementPolicy: [14, string],
    managedBy: [15, string],
    successPolicy: [16, successPolicy],
  },
  "",
  { required: ["template"] },
);

const jobCondition = message(
  `${group}.JobCondition`,
  {
    type: [1, string],
    status: [2, string],
    lastProbeTime: [3, time],
    lastTransitionTime: [4, time],
    reason: [5, zeroless(string)],
    message: [6, zeroless(string)],
  },
  "",
  { required: ["type", "status"] },
);

const uncountedTerminatedPods = message(`${group}.UncountedTerminatedPods`, {
  succeeded: [1, replacedByPatch(set(string))],
  failed: [2, replacedByPatch(set(string))],
});

const jobStatus = message(`${group}.JobStatus`, {
  conditions: [1, listMap(jobCondition, "type")],
  startTime: [2, time],
  completionTime: [3, time],
  active: [4, zeroless(int32)],
  succeeded: [5, zeroless(int32)],
  failed: [6, zeroless(int32)],
  completedIndexes: [7, zeroless(string)],
  uncountedTerminatedPods: [8, uncountedTerminatedPods],
  ready: [9, int32],
  failedIndexes: [10, string],
  terminating: [11, int32],
});

export const job = message(`${group}.Job`, {
  metadata: [1, objectMeta],
  spec: [2, jobSpec],
  status: [3, jobStatus],
});

const jobTemplateSpec = message(`${group}.JobTemplateSpec`, {
  metadata: [1, objectMeta],
  spec: [2, jobSpec],
});

const cronJobSpec = message(
  `${group}.CronJobSpec`,
  {
    schedule: [1, string],
    startingDeadlineSeconds: [2, int64],
    concurrencyPolicy: [3, zeroless(string)],
    suspend: [4, bool],
    jobTemplate: [5, jobTemplateSpec],
    successfulJobsHistoryLimit: [6, int32],
    failedJobsHistoryLimit: [7, int32],
    timeZone: [8, string],
  },
  "",
  { required: ["schedule", "jobTemplate"] },
);

const cronJobStatus = message(`${group}.CronJobStatus`, {
  active: [1, list(objectReference)],
  lastScheduleTime: [4, time],
  lastSuccessfulTime: [5, time],
});

export const cronJob = message(`${group}.CronJob`, {
  metadata: [1, objectMeta],
  spec: [2, cronJobSpec],
  status: [3, cronJobStatus],
});
