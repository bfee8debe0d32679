/** Pods and their status. Numbers are those of the published protobuf files. */
import {
  bool,
  int32,
  int64,
  list,
  listMap,
  map,
  message,
  objectMeta,
  quantity,
  replacedByPatch,
  set,
  string,
  time,
  zeroless,
} from "../shape/index.ts";
import { resourceRequirements } from "./core-containers.ts";
import { podSpec } from "./core-pod-spec.ts";
import { objectReference } from "./core-references.ts";

const group = "io.k8s.api.core.v1";

const podCondition = message(
  `${group}.PodCondition`,
  {
    type: [1, string],
    status: [2, string],
    lastProbeTime: [3, time],
    lastTransitionTime: [4, time],
    reason: [5, zeroless(string)],
    message: [6, zeroless(string)],
    observedGeneration: [7, zeroless(int64)],
  },
  "",
  { required: ["type", "status"] },
);

const containerStateWaiting = message(`${group}.ContainerStateWaiting`, {
  reason: [1, zeroless(string)],
  message: [2, zeroless(string)],
});

const containerStateRunning = message(`${group}.ContainerStateRunning`, {
  startedAt: [1, time],
});

const containerStateTerminated = message(
  `${group}.ContainerStateTerminated`,
  {
    exitCode: [1, int32],
    signal: [2, zeroless(int32)],
    reason: [3, zeroless(string)],
    message: [4, zeroless(string)],
    startedAt: [5, time],
    finishedAt: [6, time],
    containerID: [7, zeroless(string)],
  },
  "",
  { required: ["exitCode"] },
);

const containerState = message(`${group}.ContainerState`, {
  waiting: [1, containerStateWaiting],
  running: [2, containerStateRunning],
  terminated: [3, containerStateTerminated],
});

const imageVolumeStatus = message(`${group}.ImageVolumeStatus`, {
  imageRef: [1, zeroless(string)],
});

const volumeStatus = message(`${group}.VolumeStatus`, {
  image: [1, imageVolumeStatus],
});

const volumeMountStatus = message(
  `${group}.VolumeMountStatus`,
  {
    name: [1, string],
    mountPath: [2, string],
    readOnly: [3, zeroless(bool)],
    recursiveReadOnly: [4, string],
    volumeStatus: [5, volumeStatus],
  },
  "",
  { required: ["name", "mountPath"] },
);

const linuxContainerUser = message(
  `${group}.LinuxContainerUser`,
  {
    uid: [1, int64],
    gid: [2, int64],
    supplementalGroups: [3, list(int64)],
  },
  "",
  { required: ["uid", "gid"] },
);

const containerUser = message(`${group}.ContainerUser`, {
  linux: [1, linuxContainerUser],
});

const resourceHealth = message(
  `${group}.ResourceHealth`,
  {
    resourceID: [1, string],
    health: [2, zeroless(string)],
    message: [6, string],
  },
  "",
  { required: ["resourceID"] },
);

const resourceStatus = message(
  `${group}.ResourceStatus`,
  {
    name: [1, string],
    resources: [2, replacedByPatch(listMap(resourceHealth, "resourceID"))],
  },
  "",
  { required: ["name"] },
);

const containerStatus = message(
  `${group}.ContainerStatus`,
  {
    name: [1, string],
    state: [2, containerState],
    lastState: [3, containerState],
    ready: [4, bool],
    restartCount: [5, int32],
    image: [6, string],
    imageID: [7, string],
    containerID: [8, zeroless(string)],
    started: [9, bool],
    allocatedResources: [10, map(quantity)],
    resources: [11, resourceRequirements],
    volumeMounts: [12, listMap(volumeMountStatus, "mountPath")],
    user: [13, containerUser],
    allocatedResourcesStatus: [14, listMap(resourceStatus, "name")],
    stopSignal: [15, string],
  },
  "",
  { required: ["name", "ready", "restartCount", "image", "imageID"] },
);

const podIP = message(
  `${group}.PodIP`,
  {
    ip: [1, string],
  },
  "",
  { required: ["ip"] },
);

const podResourceClaimStatus = message(
  `${group}.PodResourceClaimStatus`,
  {
    name: [1, string],
    resourceClaimName: [2, string],
  },
  "",
  { required: ["name"] },
);

const hostIP = message(
  `${group}.HostIP`,
  {
    ip: [1, string],
  },
  "",
  { required: ["ip"] },
);

const containerExtendedResourceRequest = message(
  `${group}.ContainerExtendedResourceRequest`,
  {
    containerName: [1, string],
    resourceName: [2, string],
    requestName: [3, string],
  },
  "",
  { required: ["containerName", "resourceName", "requestName"] },
);

const podExtendedResourceClaimStatus = message(
  `${group}.PodExtendedResourceClaimStatus`,
  {
    requestMappings: [1, list(containerExtendedResourceRequest)],
    resourceClaimName: [2, string],
  },
  "",
  { required: ["requestMappings", "resourceClaimName"] },
);

const nodeAllocatableResourceClaimStatus = message(
  `${group}.NodeAllocatableResourceClaimStatus`,
  {
    resourceClaimName: [1, string],
    containers: [2, replacedByPatch(set(string))],
    resources: [3, map(quantity)],
  },
  "",
  { required: ["resourceClaimName", "resources"] },
);

const podStatus = message(`${group}.PodStatus`, {
  phase: [1, zeroless(string)],
  conditions: [2, listMap(podCondition, "type")],
  message: [3, zeroless(string)],
  reason: [4, zeroless(string)],
  hostIP: [5, zeroless(string)],
  podIP: [6, zeroless(string)],
  startTime: [7, time],
  containerStatuses: [8, list(containerStatus)],
  qosClass: [9, zeroless(string)],
  initContainerStatuses: [10, list(containerStatus)],
  nominatedNodeName: [11, zeroless(string)],
  podIPs: [12, listMap(podIP, "ip")],
  ephemeralContainerStatuses: [13, list(containerStatus)],
  resize: [14, zeroless(string)],
  resourceClaimStatuses: [15, listMap(podResourceClaimStatus, "name")],
  hostIPs: [16, listMap(hostIP, "ip")],
  observedGeneration: [17, zeroless(int64)],
  extendedResourceClaimStatus: [18, podExtendedResourceClaimStatus],
  allocatedResources: [19, map(quantity)],
  resources: [20, resourceRequirements],
  nodeAllocatableResourceClaimStatuses: [21, list(nodeAllocatableResourceClaimStatus)],
});

export const pod = message(`${group}.Pod`, {
  metadata: [1, objectMeta],
  spec: [2, podSpec],
  status: [3, podStatus],
});

export const binding = message(
  `${group}.Binding`,
  {
    metadata: [1, objectMeta],
    target: [2, objectReference],
  },
  "",
  { required: ["target"] },
);
