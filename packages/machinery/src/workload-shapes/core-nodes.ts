/** Nodes: machines that Pods run on. Numbers are those of the published protobuf files. */
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
  set,
  string,
  time,
  zeroless,
} from "../shape/index.ts";

const group = "io.k8s.api.core.v1";

const taint = message(
  `${group}.Taint`,
  {
    key: [1, string],
    value: [2, zeroless(string)],
    effect: [3, string],
    timeAdded: [4, time],
  },
  "",
  { required: ["key", "effect"] },
);

const configMapNodeConfigSource = message(
  `${group}.ConfigMapNodeConfigSource`,
  {
    namespace: [1, string],
    name: [2, string],
    uid: [3, zeroless(string)],
    resourceVersion: [4, zeroless(string)],
    kubeletConfigKey: [5, string],
  },
  "",
  { required: ["namespace", "name", "kubeletConfigKey"] },
);

const nodeConfigSource = message(`${group}.NodeConfigSource`, {
  configMap: [2, configMapNodeConfigSource],
});

const nodeSpec = message(`${group}.NodeSpec`, {
  podCIDR: [1, zeroless(string)],
  externalID: [2, zeroless(string)],
  providerID: [3, zeroless(string)],
  unschedulable: [4, zeroless(bool)],
  taints: [5, list(taint)],
  configSource: [6, nodeConfigSource],
  podCIDRs: [7, set(string)],
});

const nodeCondition = message(
  `${group}.NodeCondition`,
  {
    type: [1, string],
    status: [2, string],
    lastHeartbeatTime: [3, time],
    lastTransitionTime: [4, time],
    reason: [5, zeroless(string)],
    message: [6, zeroless(string)],
  },
  "",
  { required: ["type", "status"] },
);

const nodeAddress = message(
  `${group}.NodeAddress`,
  {
    type: [1, string],
    address: [2, string],
  },
  "",
  { required: ["type", "address"] },
);

const daemonEndpoint = message(
  `${group}.DaemonEndpoint`,
  {
    Port: [1, int32],
  },
  "",
  { required: ["Port"] },
);

const nodeDaemonEndpoints = message(`${group}.NodeDaemonEndpoints`, {
  kubeletEndpoint: [1, daemonEndpoint],
});

const nodeSwapStatus = message(`${group}.NodeSwapStatus`, {
  capacity: [1, int64],
});

const nodeSystemInfo = message(
  `${group}.NodeSystemInfo`,
  {
    machineID: [1, string],
    systemUUID: [2, string],
    bootID: [3, string],
    kernelVersion: [4, string],
    osImage: [5, string],
    containerRuntimeVersion: [6, string],
    kubeletVersion: [7, string],
    kubeProxyVersion: [8, string],
    operatingSystem: [9, string],
    architecture: [10, string],
    swap: [11, nodeSwapStatus],
  },
  "",
  {
    required: [
      "machineID",
      "systemUUID",
      "bootID",
      "kernelVersion",
      "osImage",
      "containerRuntimeVersion",
      "kubeletVersion",
      "kubeProxyVersion",
      "operatingSystem",
      "architecture",
    ],
  },
);

const containerImage = message(`${group}.ContainerImage`, {
  names: [1, list(string)],
  sizeBytes: [2, zeroless(int64)],
});

const attachedVolume = message(
  `${group}.AttachedVolume`,
  {
    name: [1, string],
    devicePath: [2, string],
  },
  "",
  { required: ["name", "devicePath"] },
);

const nodeConfigStatus = message(`${group}.NodeConfigStatus`, {
  assigned: [1, nodeConfigSource],
  active: [2, nodeConfigSource],
  lastKnownGood: [3, nodeConfigSource],
  error: [4, zeroless(string)],
});

const nodeRuntimeHandlerFeatures = message(`${group}.NodeRuntimeHandlerFeatures`, {
  recursiveReadOnlyMounts: [1, bool],
  userNamespaces: [2, bool],
});

const nodeRuntimeHandler = message(`${group}.NodeRuntimeHandler`, {
  name: [1, string],
  features: [2, nodeRuntimeHandlerFeatures],
});

const nodeFeatures = message(`${group}.NodeFeatures`, {
  supplementalGroupsPolicy: [1, bool],
});

const nodeStatus = message(`${group}.NodeStatus`, {
  capacity: [1, map(quantity)],
  allocatable: [2, map(quantity)],
  phase: [3, zeroless(string)],
  conditions: [4, listMap(nodeCondition, "type")],
  addresses: [5, listMap(nodeAddress, "type")],
  daemonEndpoints: [6, nodeDaemonEndpoints],
  nodeInfo: [7, nodeSystemInfo],
  images: [8, list(containerImage)],
  volumesInUse: [9, list(string)],
  volumesAttached: [10, list(attachedVolume)],
  config: [11, nodeConfigStatus],
  runtimeHandlers: [12, list(nodeRuntimeHandler)],
  features: [13, nodeFeatures],
  declaredFeatures: [14, list(string)],
});

export const node = message(`${group}.Node`, {
  metadata: [1, objectMeta],
  spec: [2, nodeSpec],
  status: [3, nodeStatus],
});
