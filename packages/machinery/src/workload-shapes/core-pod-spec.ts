/**
 * The Pod spec, which every workload kind has in its template. Numbers are those of the published
 * protobuf files.
 */
import {
  atomicMap,
  bool,
  int32,
  int64,
  labelSelector,
  list,
  listMap,
  map,
  message,
  objectMeta,
  quantity,
  string,
  zeroless,
} from "../shape/index.ts";
import {
  appArmorProfile,
  container,
  ephemeralContainer,
  resourceRequirements,
  seccompProfile,
  seLinuxOptions,
  windowsSecurityContextOptions,
} from "./core-containers.ts";
import {
  localObjectReference,
  nodeSelector,
  nodeSelectorTerm,
  toleration,
} from "./core-references.ts";
import { volume } from "./core-volumes.ts";

const group = "io.k8s.api.core.v1";

const sysctl = message(
  `${group}.Sysctl`,
  {
    name: [1, string],
    value: [2, string],
  },
  "",
  { required: ["name", "value"] },
);

const podSecurityContext = message(`${group}.PodSecurityContext`, {
  seLinuxOptions: [1, seLinuxOptions],
  runAsUser: [2, int64],
  runAsNonRoot: [3, bool],
  supplementalGroups: [4, list(int64)],
  fsGroup: [5, int64],
  runAsGroup: [6, int64],
  sysctls: [7, list(sysctl)],
  windowsOptions: [8, windowsSecurityContextOptions],
  fsGroupChangePolicy: [9, string],
  seccompProfile: [10, seccompProfile],
  appArmorProfile: [11, appArmorProfile],
  supplementalGroupsPolicy: [12, string],
  seLinuxChangePolicy: [13, string],
});

const preferredSchedulingTerm = message(
  `${group}.PreferredSchedulingTerm`,
  {
    weight: [1, int32],
    preference: [2, nodeSelectorTerm],
  },
  "",
  { required: ["weight", "preference"] },
);

const nodeAffinity = message(`${group}.NodeAffinity`, {
  requiredDuringSchedulingIgnoredDuringExecution: [1, nodeSelector],
  preferredDuringSchedulingIgnoredDuringExecution: [2, list(preferredSchedulingTerm)],
});

const podAffinityTerm = message(
  `${group}.PodAffinityTerm`,
  {
    labelSelector: [1, labelSelector],
    namespaces: [2, list(string)],
    topologyKey: [3, string],
    namespaceSelector: [4, labelSelector],
    matchLabelKeys: [5, list(string)],
    mismatchLabelKeys: [6, list(string)],
  },
  "",
  { required: ["topologyKey"] },
);

const weightedPodAffinityTerm = message(
  `${group}.WeightedPodAffinityTerm`,
  {
    weight: [1, int32],
    podAffinityTerm: [2, podAffinityTerm],
  },
  "",
  { required: ["weight", "podAffinityTerm"] },
);

const podAffinity = message(`${group}.PodAffinity`, {
  requiredDuringSchedulingIgnoredDuringExecution: [1, list(podAffinityTerm)],
  preferredDuringSchedulingIgnoredDuringExecution: [2, list(weightedPodAffinityTerm)],
});

const podAntiAffinity = message(`${group}.PodAntiAffinity`, {
  requiredDuringSchedulingIgnoredDuringExecution: [1, list(podAffinityTerm)],
  preferredDuringSchedulingIgnoredDuringExecution: [2, list(weightedPodAffinityTerm)],
});

const affinity = message(`${group}.Affinity`, {
  nodeAffinity: [1, nodeAffinity],
  podAffinity: [2, podAffinity],
  podAntiAffinity: [3, podAntiAffinity],
});

const hostAlias = message(
  `${group}.HostAlias`,
  {
    ip: [1, string],
    hostnames: [2, list(string)],
  },
  "",
  { required: ["ip"] },
);

const podDNSConfigOption = message(`${group}.PodDNSConfigOption`, {
  name: [1, zeroless(string)],
  value: [2, string],
});

const podDNSConfig = message(`${group}.PodDNSConfig`, {
  nameservers: [1, list(string)],
  searches: [2, list(string)],
  options: [3, list(podDNSConfigOption)],
});

const podReadinessGate = message(
  `${group}.PodReadinessGate`,
  {
    conditionType: [1, string],
  },
  "",
  { required: ["conditionType"] },
);

const topologySpreadConstraint = message(
  `${group}.TopologySpreadConstraint`,
  {
    maxSkew: [1, int32],
    topologyKey: [2, string],
    whenUnsatisfiable: [3, string],
    labelSelector: [4, labelSelector],
    minDomains: [5, int32],
    nodeAffinityPolicy: [6, string],
    nodeTaintsPolicy: [7, string],
    matchLabelKeys: [8, list(string)],
  },
  "",
  { required: ["maxSkew", "topologyKey", "whenUnsatisfiable"] },
);

const podOS = message(
  `${group}.PodOS`,
  {
    name: [1, string],
  },
  "",
  { required: ["name"] },
);

const podSchedulingGate = message(
  `${group}.PodSchedulingGate`,
  {
    name: [1, string],
  },
  "",
  { required: ["name"] },
);

const podResourceClaim = message(
  `${group}.PodResourceClaim`,
  {
    name: [1, string],
    resourceClaimName: [3, string],
    resourceClaimTemplateName: [4, string],
  },
  "",
  { required: ["name"] },
);

const podSchedulingGroup = message(`${group}.PodSchedulingGroup`, {
  podGroupName: [1, string],
});

export const podSpec = message(
  `${group}.PodSpec`,
  {
    volumes: [1, listMap(volume, "name")],
    containers: [2, listMap(container, "name")],
    restartPolicy: [3, zeroless(string)],
    terminationGracePeriodSeconds: [4, int64],
    activeDeadlineSeconds: [5, int64],
    dnsPolicy: [6, zeroless(string)],
    nodeSelector: [7, atomicMap(string)],
    serviceAccountName: [8, zeroless(string)],
    serviceAccount: [9, zeroless(string)],
    nodeName: [10, zeroless(string)],
    hostNetwork: [11, zeroless(bool)],
    hostPID: [12, zeroless(bool)],
    hostIPC: [13, zeroless(bool)],
    securityContext: [14, podSecurityContext],
    imagePullSecrets: [15, listMap(localObjectReference, "name")],
    hostname: [16, zeroless(string)],
    subdomain: [17, zeroless(string)],
    affinity: [18, affinity],
    schedulerName: [19, zeroless(string)],
    initContainers: [20, listMap(container, "name")],
    automountServiceAccountToken: [21, bool],
    tolerations: [22, list(toleration)],
    hostAliases: [23, listMap(hostAlias, "ip")],
    priorityClassName: [24, zeroless(string)],
    priority: [25, int32],
    dnsConfig: [26, podDNSConfig],
    shareProcessNamespace: [27, bool],
    readinessGates: [28, list(podReadinessGate)],
    runtimeClassName: [29, string],
    enableServiceLinks: [30, bool],
    preemptionPolicy: [31, string],
    overhead: [32, map(quantity)],
    topologySpreadConstraints: [
      33,
      listMap(topologySpreadConstraint, "topologyKey", "whenUnsatisfiable"),
    ],
    ephemeralContainers: [34, listMap(ephemeralContainer, "name")],
    setHostnameAsFQDN: [35, bool],
    os: [36, podOS],
    hostUsers: [37, bool],
    schedulingGates: [38, listMap(podSchedulingGate, "name")],
    resourceClaims: [39, listMap(podResourceClaim, "name")],
    resources: [40, resourceRequirements],
    hostnameOverride: [41, string],
    schedulingGroup: [43, podSchedulingGroup],
  },
  "",
  { required: ["containers"] },
);

export const podTemplateSpec = message(`${group}.PodTemplateSpec`, {
  metadata: [1, objectMeta],
  spec: [2, podSpec],
});

export const podTemplate = message(`${group}.PodTemplate`, {
  metadata: [1, objectMeta],
  template: [2, podTemplateSpec],
});
