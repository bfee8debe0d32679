/** Containers: what runs, with what, and how it is watched. Numbers are those of the published protobuf files. */
import {
  bool,
  int32,
  int64,
  intOrString,
  list,
  listMap,
  map,
  message,
  quantity,
  replacedByPatch,
  set,
  string,
  zeroless,
} from "../shape/index.ts";
import {
  configMapKeySelector,
  localObjectReference,
  objectFieldSelector,
  resourceFieldSelector,
  secretKeySelector,
} from "./core-references.ts";

const group = "io.k8s.api.core.v1";

const containerPort = message(
  `${group}.ContainerPort`,
  {
    name: [1, zeroless(string)],
    hostPort: [2, zeroless(int32)],
    containerPort: [3, int32],
    protocol: [4, zeroless(string)],
    hostIP: [5, zeroless(string)],
  },
  "",
  { required: ["containerPort"] },
);

const fileKeySelector = message(
  `${group}.FileKeySelector`,
  {
    volumeName: [1, string],
    path: [2, string],
    key: [3, string],
    optional: [4, bool],
  },
  "",
  { required: ["volumeName", "path", "key"], isAtomic: true },
);

const envVarSource = message(`${group}.EnvVarSource`, {
  fieldRef: [1, objectFieldSelector],
  resourceFieldRef: [2, resourceFieldSelector],
  configMapKeyRef: [3, configMapKeySelector],
  secretKeyRef: [4, secretKeySelector],
  fileKeyRef: [5, fileKeySelector],
});

const envVar = message(
  `${group}.EnvVar`,
  {
    name: [1, string],
    value: [2, zeroless(string)],
    valueFrom: [3, envVarSource],
  },
  "",
  { required: ["name"] },
);

const resourceClaim = message(
  `${group}.ResourceClaim`,
  {
    name: [1, string],
    request: [2, zeroless(string)],
  },
  "",
  { required: ["name"] },
);

export const resourceRequirements = message(`${group}.ResourceRequirements`, {
  limits: [1, map(quantity)],
  requests: [2, map(quantity)],
  claims: [3, replacedByPatch(listMap(resourceClaim, "name"))],
});

const volumeMount = message(
  `${group}.VolumeMount`,
  {
    name: [1, string],
    readOnly: [2, zeroless(bool)],
    mountPath: [3, string],
    subPath: [4, zeroless(string)],
    mountPropagation: [5, string],
    subPathExpr: [6, zeroless(string)],
    recursiveReadOnly: [7, string],
  },
  "",
  { required: ["name", "mountPath"] },
);

const execAction = message(`${group}.ExecAction`, {
  command: [1, list(string)],
});

const httpHeader = message(
  `${group}.HTTPHeader`,
  {
    name: [1, string],
    value: [2, string],
  },
  "",
  { required: ["name", "value"] },
);

const httpGetAction = message(
  `${group}.HTTPGetAction`,
  {
    path: [1, zeroless(string)],
    port: [2, intOrString],
    host: [3, zeroless(string)],
    scheme: [4, zeroless(string)],
    httpHeaders: [5, list(httpHeader)],
  },
  "",
  { required: ["port"] },
);

const tcpSocketAction = message(
  `${group}.TCPSocketAction`,
  {
    port: [1, intOrString],
    host: [2, zeroless(string)],
  },
  "",
  { required: ["port"] },
);

const grpcAction = message(
  `${group}.GRPCAction`,
  {
    port: [1, int32],
    service: [2, string],
  },
  "",
  { required: ["port"] },
);

const probeHandler = message(`${group}.ProbeHandler`, {
  exec: [1, execAction],
  httpGet: [2, httpGetAction],
  tcpSocket: [3, tcpSocketAction],
  grpc: [4, grpcAction],
});

const probe = message(
  `${group}.Probe`,
  {
    initialDelaySeconds: [2, zeroless(int32)],
    timeoutSeconds: [3, zeroless(int32)],
    periodSeconds: [4, zeroless(int32)],
    successThreshold: [5, zeroless(int32)],
    failureThreshold: [6, zeroless(int32)],
    terminationGracePeriodSeconds: [7, int64],
  },
  "",
  { inlined: [1, probeHandler] },
);

const sleepAction = message(
  `${group}.SleepAction`,
  {
    seconds: [1, int64],
  },
  "",
  { required: ["seconds"] },
);

const lifecycleHandler = message(`${group}.LifecycleHandler`, {
  exec: [1, execAction],
  httpGet: [2, httpGetAction],
  tcpSocket: [3, tcpSocketAction],
  sleep: [4, sleepAction],
});

const lifecycle = message(`${group}.Lifecycle`, {
  postStart: [1, lifecycleHandler],
  preStop: [2, lifecycleHandler],
  stopSignal: [3, string],
});

const capabilities = message(`${group}.Capabilities`, {
  add: [1, list(string)],
  drop: [2, list(string)],
});

export const seLinuxOptions = message(`${group}.SELinuxOptions`, {
  user: [1, zeroless(string)],
  role: [2, zeroless(string)],
  type: [3, zeroless(string)],
  level: [4, zeroless(string)],
});

export const windowsSecurityContextOptions = message(`${group}.WindowsSecurityContextOptions`, {
  gmsaCredentialSpecName: [1, string],
  gmsaCredentialSpec: [2, string],
  runAsUserName: [3, string],
  hostProcess: [4, bool],
});

export const seccompProfile = message(
  `${group}.SeccompProfile`,
  {
    type: [1, string],
    localhostProfile: [2, string],
  },
  "",
  { required: ["type"] },
);

export const appArmorProfile = message(
  `${group}.AppArmorProfile`,
  {
    type: [1, string],
    localhostProfile: [2, string],
  },
  "",
  { required: ["type"] },
);

const securityContext = message(`${group}.SecurityContext`, {
  capabilities: [1, capabilities],
  privileged: [2, bool],
  seLinuxOptions: [3, seLinuxOptions],
  runAsUser: [4, int64],
  runAsNonRoot: [5, bool],
  readOnlyRootFilesystem: [6, bool],
  allowPrivilegeEscalation: [7, bool],
  runAsGroup: [8, int64],
  procMount: [9, string],
  windowsOptions: [10, windowsSecurityContextOptions],
  seccompProfile: [11, seccompProfile],
  appArmorProfile: [12, appArmorProfile],
});

const configMapEnvSource = message(
  `${group}.ConfigMapEnvSource`,
  {
    optional: [2, bool],
  },
  "",
  { inlined: [1, localObjectReference] },
);

const secretEnvSource = message(
  `${group}.SecretEnvSource`,
  {
    optional: [2, bool],
  },
  "",
  { inlined: [1, localObjectReference] },
);

const envFromSource = message(`${group}.EnvFromSource`, {
  prefix: [1, zeroless(string)],
  configMapRef: [2, configMapEnvSource],
  secretRef: [3, secretEnvSource],
});

const volumeDevice = message(
  `${group}.VolumeDevice`,
  {
    name: [1, string],
    devicePath: [2, string],
  },
  "",
  { required: ["name", "devicePath"] },
);

const containerResizePolicy = message(
  `${group}.ContainerResizePolicy`,
  {
    resourceName: [1, string],
    restartPolicy: [2, string],
  },
  "",
  { required: ["resourceName", "restartPolicy"] },
);

const containerRestartRuleOnExitCodes = message(`${group}.ContainerRestartRuleOnExitCodes`, {
  operator: [1, zeroless(string)],
  values: [2, replacedByPatch(set(int32))],
});

const containerRestartRule = message(`${group}.ContainerRestartRule`, {
  action: [1, zeroless(string)],
  exitCodes: [2, containerRestartRuleOnExitCodes],
});

export const container = message(
  `${group}.Container`,
  {
    name: [1, string],
    image: [2, zeroless(string)],
    command: [3, list(string)],
    args: [4, list(string)],
    workingDir: [5, zeroless(string)],
    ports: [6, listMap(containerPort, "containerPort", "protocol")],
    env: [7, listMap(envVar, "name")],
    resources: [8, resourceRequirements],
    volumeMounts: [9, listMap(volumeMount, "mountPath")],
    livenessProbe: [10, probe],
    readinessProbe: [11, probe],
    lifecycle: [12, lifecycle],
    terminationMessagePath: [13, zeroless(string)],
    imagePullPolicy: [14, zeroless(string)],
    securityContext: [15, securityContext],
    stdin: [16, zeroless(bool)],
    stdinOnce: [17, zeroless(bool)],
    tty: [18, zeroless(bool)],
    envFrom: [19, list(envFromSource)],
    terminationMessagePolicy: [20, zeroless(string)],
    volumeDevices: [21, listMap(volumeDevice, "devicePath")],
    startupProbe: [22, probe],
    resizePolicy: [23, list(containerResizePolicy)],
    restartPolicy: [24, string],
    restartPolicyRules: [25, list(containerRestartRule)],
  },
  "",
  { required: ["name"] },
);

const ephemeralContainerCommon = message(
  `${group}.EphemeralContainerCommon`,
  {
    name: [1, string],
    image: [2, zeroless(string)],
    command: [3, list(string)],
    args: [4, list(string)],
    workingDir: [5, zeroless(string)],
    ports: [6, listMap(containerPort, "containerPort", "protocol")],
    env: [7, listMap(envVar, "name")],
    resources: [8, resourceRequirements],
    volumeMounts: [9, listMap(volumeMount, "mountPath")],
    livenessProbe: [10, probe],
    readinessProbe: [11, probe],
    lifecycle: [12, lifecycle],
    terminationMessagePath: [13, zeroless(string)],
    imagePullPolicy: [14, zeroless(string)],
    securityContext: [15, securityContext],
    stdin: [16, zeroless(bool)],
    stdinOnce: [17, zeroless(bool)],
    tty: [18, zeroless(bool)],
    envFrom: [19, list(envFromSource)],
    terminationMessagePolicy: [20, zeroless(string)],
    volumeDevices: [21, listMap(volumeDevice, "devicePath")],
    startupProbe: [22, probe],
    resizePolicy: [23, list(containerResizePolicy)],
    restartPolicy: [24, string],
    restartPolicyRules: [25, list(containerRestartRule)],
  },
  "",
  { required: ["name"] },
);

export const ephemeralContainer = message(
  `${group}.EphemeralContainer`,
  {
    targetContainerName: [2, zeroless(string)],
  },
  "",
  { inlined: [1, ephemeralContainerCommon] },
);
