/** The apps group: controllers that keep Pods running. Numbers are those of the published protobuf files. */
import {
  bool,
  int32,
  int64,
  intOrString,
  labelSelector,
  list,
  listMap,
  message,
  objectMeta,
  raw,
  string,
  time,
  zeroless,
} from "../shape/index.ts";
import { persistentVolumeClaim } from "./core-claims.ts";
import { podTemplateSpec } from "./core-pod-spec.ts";

const group = "io.k8s.api.apps.v1";

const rollingUpdateDeployment = message(`${group}.RollingUpdateDeployment`, {
  maxUnavailable: [1, intOrString],
  maxSurge: [2, intOrString],
});

const deploymentStrategy = message(`${group}.DeploymentStrategy`, {
  type: [1, zeroless(string)],
  rollingUpdate: [2, rollingUpdateDeployment],
});

const deploymentSpec = message(
  `${group}.DeploymentSpec`,
  {
    replicas: [1, int32],
    selector: [2, labelSelector],
    template: [3, podTemplateSpec],
    strategy: [4, deploymentStrategy],
    minReadySeconds: [5, zeroless(int32)],
    revisionHistoryLimit: [6, int32],
    paused: [7, zeroless(bool)],
    progressDeadlineSeconds: [9, int32],
  },
  "",
  { required: ["selector", "template"] },
);

const deploymentCondition = message(
  `${group}.DeploymentCondition`,
  {
    type: [1, string],
    status: [2, string],
    reason: [4, zeroless(string)],
    message: [5, zeroless(string)],
    lastUpdateTime: [6, time],
    lastTransitionTime: [7, time],
  },
  "",
  { required: ["type", "status"] },
);

const deploymentStatus = message(`${group}.DeploymentStatus`, {
  observedGeneration: [1, zeroless(int64)],
  replicas: [2, zeroless(int32)],
  updatedReplicas: [3, zeroless(int32)],
  availableReplicas: [4, zeroless(int32)],
  unavailableReplicas: [5, zeroless(int32)],
  conditions: [6, listMap(deploymentCondition, "type")],
  readyReplicas: [7, zeroless(int32)],
  collisionCount: [8, int32],
  terminatingReplicas: [9, int32],
});

export const deployment = message(`${group}.Deployment`, {
  metadata: [1, objectMeta],
  spec: [2, deploymentSpec],
  status: [3, deploymentStatus],
});

const replicaSetSpec = message(
  `${group}.ReplicaSetSpec`,
  {
    replicas: [1, int32],
    selector: [2, labelSelector],
    template: [3, podTemplateSpec],
    minReadySeconds: [4, zeroless(int32)],
  },
  "",
  { required: ["selector"] },
);

const replicaSetCondition = message(
  `${group}.ReplicaSetCondition`,
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

const replicaSetStatus = message(
  `${group}.ReplicaSetStatus`,
  {
    replicas: [1, int32],
    fullyLabeledReplicas: [2, zeroless(int32)],
    observedGeneration: [3, zeroless(int64)],
    readyReplicas: [4, zeroless(int32)],
    availableReplicas: [5, zeroless(int32)],
    conditions: [6, listMap(replicaSetCondition, "type")],
    terminatingReplicas: [7, int32],
  },
  "",
  { required: ["replicas"] },
);

export const replicaSet = message(`${group}.ReplicaSet`, {
  metadata: [1, objectMeta],
  spec: [2, replicaSetSpec],
  status: [3, replicaSetStatus],
});

const rollingUpdateStatefulSetStrategy = message(`${group}.RollingUpdateStatefulSetStrategy`, {
  partition: [1, int32],
  maxUnavailable: [2, intOrString],
});

const statefulSetUpdateStrategy = message(`${group}.StatefulSetUpdateStrategy`, {
  type: [1, zeroless(string)],
  rollingUpdate: [2, rollingUpdateStatefulSetStrategy],
});

const statefulSetPersistentVolumeClaimRetentionPolicy = message(
  `${group}.StatefulSetPersistentVolumeClaimRetentionPolicy`,
  {
    whenDeleted: [1, zeroless(string)],
    whenScaled: [2, zeroless(string)],
  },
);

const statefulSetOrdinals = message(`${group}.StatefulSetOrdinals`, {
  start: [1, int32],
});

const statefulSetSpec = message(
  `${group}.StatefulSetSpec`,
  {
    replicas: [1, int32],
    selector: [2, labelSelector],
    template: [3, podTemplateSpec],
    volumeClaimTemplates: [4, list(persistentVolumeClaim)],
    serviceName: [5, string],
    podManagementPolicy: [6, zeroless(string)],
    updateStrategy: [7, statefulSetUpdateStrategy],
    revisionHistoryLimit: [8, int32],
    minReadySeconds: [9, zeroless(int32)],
    persistentVolumeClaimRetentionPolicy: [10, statefulSetPersistentVolumeClaimRetentionPolicy],
    ordinals: [11, statefulSetOrdinals],
  },
  "",
  { required: ["selector", "template"] },
);

const statefulSetCondition = message(
  `${group}.StatefulSetCondition`,
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

const statefulSetStatus = message(
  `${group}.StatefulSetStatus`,
  {
    observedGeneration: [1, zeroless(int64)],
    replicas: [2, int32],
    readyReplicas: [3, zeroless(int32)],
    currentReplicas: [4, zeroless(int32)],
    updatedReplicas: [5, zeroless(int32)],
    currentRevision: [6, zeroless(string)],
    updateRevision: [7, zeroless(string)],
    collisionCount: [9, int32],
    conditions: [10, listMap(statefulSetCondition, "type")],
    availableReplicas: [11, int32],
  },
  "",
  { required: ["replicas"] },
);

export const statefulSet = message(`${group}.StatefulSet`, {
  metadata: [1, objectMeta],
  spec: [2, statefulSetSpec],
  status: [3, statefulSetStatus],
});

const rollingUpdateDaemonSet = message(`${group}.RollingUpdateDaemonSet`, {
  maxUnavailable: [1, intOrString],
  maxSurge: [2, intOrString],
});

const daemonSetUpdateStrategy = message(`${group}.DaemonSetUpdateStrategy`, {
  type: [1, zeroless(string)],
  rollingUpdate: [2, rollingUpdateDaemonSet],
});

const daemonSetSpec = message(
  `${group}.DaemonSetSpec`,
  {
    selector: [1, labelSelector],
    template: [2, podTemplateSpec],
    updateStrategy: [3, daemonSetUpdateStrategy],
    minReadySeconds: [4, zeroless(int32)],
    revisionHistoryLimit: [6, int32],
  },
  "",
  { required: ["selector", "template"] },
);

const daemonSetCondition = message(
  `${group}.DaemonSetCondition`,
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

const daemonSetStatus = message(
  `${group}.DaemonSetStatus`,
  {
    currentNumberScheduled: [1, int32],
    numberMisscheduled: [2, int32],
    desiredNumberScheduled: [3, int32],
    numberReady: [4, int32],
    observedGeneration: [5, zeroless(int64)],
    updatedNumberScheduled: [6, zeroless(int32)],
    numberAvailable: [7, zeroless(int32)],
    numberUnavailable: [8, zeroless(int32)],
    collisionCount: [9, int32],
    conditions: [10, listMap(daemonSetCondition, "type")],
  },
  "",
  {
    required: [
      "currentNumberScheduled",
      "numberMisscheduled",
      "desiredNumberScheduled",
      "numberReady",
    ],
  },
);

export const daemonSet = message(`${group}.DaemonSet`, {
  metadata: [1, objectMeta],
  spec: [2, daemonSetSpec],
  status: [3, daemonSetStatus],
});

export const controllerRevision = message(
  `${group}.ControllerRevision`,
  {
    metadata: [1, objectMeta],
    data: [2, raw],
    revision: [3, int64],
  },
  "",
  { required: ["revision"] },
);
