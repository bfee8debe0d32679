/** Services and the addresses behind them. Numbers are those of the published protobuf files. */
import {
  atomicMap,
  bool,
  condition,
  int32,
  intOrString,
  list,
  listMap,
  message,
  objectMeta,
  string,
  zeroless,
} from "../shape/index.ts";
import { objectReference } from "./core-references.ts";

const group = "io.k8s.api.core.v1";

const servicePort = message(
  `${group}.ServicePort`,
  {
    name: [1, zeroless(string)],
    protocol: [2, zeroless(string)],
    port: [3, int32],
    targetPort: [4, intOrString],
    nodePort: [5, zeroless(int32)],
    appProtocol: [6, string],
  },
  "",
  { required: ["port"] },
);

const clientIPConfig = message(`${group}.ClientIPConfig`, {
  timeoutSeconds: [1, int32],
});

const sessionAffinityConfig = message(`${group}.SessionAffinityConfig`, {
  clientIP: [1, clientIPConfig],
});

const serviceSpec = message(`${group}.ServiceSpec`, {
  ports: [1, listMap(servicePort, "port", "protocol")],
  selector: [2, atomicMap(string)],
  clusterIP: [3, zeroless(string)],
  type: [4, zeroless(string)],
  externalIPs: [5, list(string)],
  sessionAffinity: [7, zeroless(string)],
  loadBalancerIP: [8, zeroless(string)],
  loadBalancerSourceRanges: [9, list(string)],
  externalName: [10, zeroless(string)],
  externalTrafficPolicy: [11, zeroless(string)],
  healthCheckNodePort: [12, zeroless(int32)],
  publishNotReadyAddresses: [13, zeroless(bool)],
  sessionAffinityConfig: [14, sessionAffinityConfig],
  ipFamilyPolicy: [17, string],
  clusterIPs: [18, list(string)],
  ipFamilies: [19, list(string)],
  allocateLoadBalancerNodePorts: [20, bool],
  loadBalancerClass: [21, string],
  internalTrafficPolicy: [22, string],
  trafficDistribution: [23, string],
});

const portStatus = message(
  `${group}.PortStatus`,
  {
    port: [1, int32],
    protocol: [2, string],
    error: [3, string],
  },
  "",
  { required: ["port", "protocol"] },
);

const loadBalancerIngress = message(`${group}.LoadBalancerIngress`, {
  ip: [1, zeroless(string)],
  hostname: [2, zeroless(string)],
  ipMode: [3, string],
  ports: [4, list(portStatus)],
});

const loadBalancerStatus = message(`${group}.LoadBalancerStatus`, {
  ingress: [1, list(loadBalancerIngress)],
});

const serviceStatus = message(`${group}.ServiceStatus`, {
  loadBalancer: [1, loadBalancerStatus],
  conditions: [2, listMap(condition, "type")],
});

export const service = message(`${group}.Service`, {
  metadata: [1, objectMeta],
  spec: [2, serviceSpec],
  status: [3, serviceStatus],
});

const endpointAddress = message(
  `${group}.EndpointAddress`,
  {
    ip: [1, string],
    targetRef: [2, objectReference],
    hostname: [3, zeroless(string)],
    nodeName: [4, string],
  },
  "",
  { required: ["ip"], isAtomic: true },
);

const endpointPort = message(
  `${group}.EndpointPort`,
  {
    name: [1, zeroless(string)],
    port: [2, int32],
    protocol: [3, zeroless(string)],
    appProtocol: [4, string],
  },
  "",
  { required: ["port"], isAtomic: true },
);

const endpointSubset = message(`${group}.EndpointSubset`, {
  addresses: [1, list(endpointAddress)],
  notReadyAddresses: [2, list(endpointAddress)],
  ports: [3, list(endpointPort)],
});

export const endpoints = message(`${group}.Endpoints`, {
  metadata: [1, objectMeta],
  subsets: [2, list(endpointSubset)],
});
