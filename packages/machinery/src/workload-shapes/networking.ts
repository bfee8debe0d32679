/** The networking group: how traffic gets in, and what may talk to what. Numbers are those of the published protobuf files. */
import {
  condition,
  int32,
  intOrString,
  labelSelector,
  list,
  listMap,
  message,
  objectMeta,
  string,
  zeroless,
} from "../shape/index.ts";
import { typedLocalObjectReference } from "./core-references.ts";

const group = "io.k8s.api.networking.v1";

const serviceBackendPort = message(
  `${group}.ServiceBackendPort`,
  {
    name: [1, zeroless(string)],
    number: [2, zeroless(int32)],
  },
  "",
  { isAtomic: true },
);

const ingressServiceBackend = message(
  `${group}.IngressServiceBackend`,
  {
    name: [1, string],
    port: [2, serviceBackendPort],
  },
  "",
  { required: ["name"] },
);

const ingressBackend = message(`${group}.IngressBackend`, {
  resource: [3, typedLocalObjectReference],
  service: [4, ingressServiceBackend],
});

const ingressTLS = message(`${group}.IngressTLS`, {
  hosts: [1, list(string)],
  secretName: [2, zeroless(string)],
});

const httpIngressPath = message(
  `${group}.HTTPIngressPath`,
  {
    path: [1, zeroless(string)],
    backend: [2, ingressBackend],
    pathType: [3, string],
  },
  "",
  { required: ["backend", "pathType"] },
);

const httpIngressRuleValue = message(
  `${group}.HTTPIngressRuleValue`,
  {
    paths: [1, list(httpIngressPath)],
  },
  "",
  { required: ["paths"] },
);

const ingressRuleValue = message(`${group}.IngressRuleValue`, {
  http: [1, httpIngressRuleValue],
});

const ingressRule = message(
  `${group}.IngressRule`,
  {
    host: [1, zeroless(string)],
  },
  "",
  { inlined: [2, ingressRuleValue] },
);

const ingressSpec = message(`${group}.IngressSpec`, {
  defaultBackend: [1, ingressBackend],
  tls: [2, list(ingressTLS)],
  rules: [3, list(ingressRule)],
  ingressClassName: [4, string],
});

const ingressPortStatus = message(
  `${group}.IngressPortStatus`,
  {
    port: [1, int32],
    protocol: [2, string],
    error: [3, string],
  },
  "",
  { required: ["port", "protocol"] },
);

const ingressLoadBalancerIngress = message(`${group}.IngressLoadBalancerIngress`, {
  ip: [1, zeroless(string)],
  hostname: [2, zeroless(string)],
  ports: [4, list(ingressPortStatus)],
});

const ingressLoadBalancerStatus = message(`${group}.IngressLoadBalancerStatus`, {
  ingress: [1, list(ingressLoadBalancerIngress)],
});

const ingressStatus = message(`${group}.IngressStatus`, {
  loadBalancer: [1, ingressLoadBalancerStatus],
});

export const ingress = message(`${group}.Ingress`, {
  metadata: [1, objectMeta],
  spec: [2, ingressSpec],
  status: [3, ingressStatus],
});

const ingressClassParametersReference = message(
  `${group}.IngressClassParametersReference`,
  {
    apiGroup: [1, string],
    kind: [2, string],
    name: [3, string],
    scope: [4, string],
    namespace: [5, string],
  },
  "",
  { required: ["kind", "name"] },
);

const ingressClassSpec = message(`${group}.IngressClassSpec`, {
  controller: [1, zeroless(string)],
  parameters: [2, ingressClassParametersReference],
});

export const ingressClass = message(`${group}.IngressClass`, {
  metadata: [1, objectMeta],
  spec: [2, ingressClassSpec],
});

const networkPolicyPort = message(`${group}.NetworkPolicyPort`, {
  protocol: [1, string],
  port: [2, intOrString],
  endPort: [3, int32],
});

const ipBlock = message(
  `${group}.IPBlock`,
  {
    cidr: [1, string],
    except: [2, list(string)],
  },
  "",
  { required: ["cidr"] },
);

const networkPolicyPeer = message(`${group}.NetworkPolicyPeer`, {
  podSelector: [1, labelSelector],
  namespaceSelector: [2, labelSelector],
  ipBlock: [3, ipBlock],
});

const networkPolicyIngressRule = message(`${group}.NetworkPolicyIngressRule`, {
  ports: [1, list(networkPolicyPort)],
  from: [2, list(networkPolicyPeer)],
});

const networkPolicyEgressRule = message(`${group}.NetworkPolicyEgressRule`, {
  ports: [1, list(networkPolicyPort)],
  to: [2, list(networkPolicyPeer)],
});

const networkPolicySpec = message(`${group}.NetworkPolicySpec`, {
  podSelector: [1, labelSelector],
  ingress: [2, list(networkPolicyIngressRule)],
  egress: [3, list(networkPolicyEgressRule)],
  policyTypes: [4, list(string)],
});

export const networkPolicy = message(`${group}.NetworkPolicy`, {
  metadata: [1, objectMeta],
  spec: [2, networkPolicySpec],
});

const serviceCIDRSpec = message(`${group}.ServiceCIDRSpec`, {
  cidrs: [1, list(string)],
});

const serviceCIDRStatus = message(`${group}.ServiceCIDRStatus`, {
  conditions: [1, listMap(condition, "type")],
});

export const serviceCIDR = message(`${group}.ServiceCIDR`, {
  metadata: [1, objectMeta],
  spec: [2, serviceCIDRSpec],
  status: [3, serviceCIDRStatus],
});

const parentReference = message(`${group}.ParentReference`, {
  group: [1, zeroless(string)],
  resource: [2, zeroless(string)],
  namespace: [3, zeroless(string)],
  name: [4, zeroless(string)],
});

const ipAddressSpec = message(`${group}.IPAddressSpec`, {
  parentRef: [1, parentReference],
});

export const ipAddress = message(`${group}.IPAddress`, {
  metadata: [1, objectMeta],
  spec: [2, ipAddressSpec],
});
