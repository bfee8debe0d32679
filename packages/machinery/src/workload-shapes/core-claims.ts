/** PersistentVolumeClaims. Numbers are those of the published protobuf files. */
import {
  labelSelector,
  list,
  listMap,
  map,
  message,
  objectMeta,
  quantity,
  string,
  time,
  zeroless,
} from "../shape/index.ts";
import { typedLocalObjectReference, typedObjectReference } from "./core-references.ts";

const group = "io.k8s.api.core.v1";

const volumeResourceRequirements = message(`${group}.VolumeResourceRequirements`, {
  limits: [1, map(quantity)],
  requests: [2, map(quantity)],
});

export const persistentVolumeClaimSpec = message(`${group}.PersistentVolumeClaimSpec`, {
  accessModes: [1, list(string)],
  resources: [2, volumeResourceRequirements],
  volumeName: [3, zeroless(string)],
  selector: [4, labelSelector],
  storageClassName: [5, string],
  volumeMode: [6, string],
  dataSource: [7, typedLocalObjectReference],
  dataSourceRef: [8, typedObjectReference],
  volumeAttributesClassName: [9, string],
});

const persistentVolumeClaimCondition = message(
  `${group}.PersistentVolumeClaimCondition`,
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

const modifyVolumeStatus = message(
  `${group}.ModifyVolumeStatus`,
  {
    targetVolumeAttributesClassName: [1, zeroless(string)],
    status: [2, string],
  },
  "",
  { required: ["status"] },
);

const persistentVolumeClaimStatus = message(`${group}.PersistentVolumeClaimStatus`, {
  phase: [1, zeroless(string)],
  accessModes: [2, list(string)],
  capacity: [3, map(quantity)],
  conditions: [4, listMap(persistentVolumeClaimCondition, "type")],
  allocatedResources: [5, map(quantity)],
  allocatedResourceStatuses: [7, map(string)],
  currentVolumeAttributesClassName: [8, string],
  modifyVolumeStatus: [9, modifyVolumeStatus],
});

export const persistentVolumeClaim = message(`${group}.PersistentVolumeClaim`, {
  // StatefulSets contain claims with apiVersion and kind; these numbers are in no protobuf file.
  apiVersion: [101, zeroless(string)],
  kind: [102, zeroless(string)],
  metadata: [1, objectMeta],
  spec: [2, persistentVolumeClaimSpec],
  status: [3, persistentVolumeClaimStatus],
});
