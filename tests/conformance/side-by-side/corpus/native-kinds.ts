/**
 * Native kinds: what each takes and refuses, and that it has all verbs, types of patches and forms
 * of bodies and answers. A logical cluster serves these kinds when its clusters bring them.
 */
import type { CorpusTopic } from "../corpus-request.ts";
import { namespace } from "../requests.ts";
import { type NativeKindCase, requestsOfKind } from "./kind-requests.ts";
import { definitionOf } from "./native-definition.ts";
import { claims, storage } from "./native-storage-kinds.ts";

const template = {
  metadata: { labels: { app: "web" } },
  spec: { containers: [{ name: "web", image: "nginx:1.27" }] },
};
const selector = { matchLabels: { app: "web" } };
const badSelector = { matchExpressions: [{ key: "a", operator: "Like" }] };
const target = { apiVersion: "apps/v1", kind: "Deployment", name: "web" };
const cpu = (target: object) => [{ type: "Resource", resource: { name: "cpu", target } }];
const backend = { service: { name: "web", port: { number: 80 } } };
const rule = (path: object) => [{ http: { paths: [path] } }];

export const core: readonly NativeKindCase[] = [
  {
    kind: "ReplicationController",
    apiVersion: "v1",
    resource: "replicationcontrollers",
    body: { spec: { selector: { app: "web" }, template } },
    status: { replicas: 2, readyReplicas: 1 },
    changes: [
      ["no selector", "spec.selector", undefined],
      ["another selector", "spec.selector", { app: "other" }],
      ["negative replicas", "spec.replicas", -1],
      ["negative seconds", "spec.minReadySeconds", -1],
      ["no template", "spec.template", undefined],
      ["no containers", "spec.template.spec.containers", []],
      ["another policy of restarts", "spec.template.spec.restartPolicy", "Never"],
      ["no spec", "spec", undefined],
    ],
    updates: [
      ["scaled", "spec.replicas", 3],
      ["below zero", "spec.replicas", -1],
    ],
  },
  {
    kind: "PodTemplate",
    apiVersion: "v1",
    resource: "podtemplates",
    body: { template },
    changes: [
      ["no template", "template", undefined],
      ["no containers", "template.spec.containers", []],
      ["a bad label of Pods", "template.metadata.labels", { "a b": "c" }],
    ],
    updates: [["another image", "template.spec.containers", [{ name: "web", image: "b:2" }]]],
  },
  {
    kind: "LimitRange",
    apiVersion: "v1",
    resource: "limitranges",
    body: { spec: { limits: [{ type: "Container", default: { cpu: 0.5, memory: "1024Mi" } }] } },
    changes: [
      ["no limits", "spec.limits", undefined],
      ["no type", "spec.limits", [{ default: { cpu: "1" } }]],
      ["an unknown type", "spec.limits", [{ type: "Example" }]],
      ["a type twice", "spec.limits", [{ type: "Pod" }, { type: "Pod" }]],
      ["defaults of a Pod", "spec.limits", [{ type: "Pod", default: { cpu: "1" } }]],
      ["requests of a Pod", "spec.limits", [{ type: "Pod", defaultRequest: { cpu: "1" } }]],
      [
        "a minimum above",
        "spec.limits",
        [{ type: "Container", min: { cpu: "2" }, max: { cpu: "1" } }],
      ],
      [
        "a default above",
        "spec.limits",
        [{ type: "Container", default: { cpu: "2" }, max: { cpu: "1" } }],
      ],
      [
        "a request above",
        "spec.limits",
        [{ type: "Container", default: { cpu: "1" }, defaultRequest: { cpu: "2" } }],
      ],
      [
        "a request below",
        "spec.limits",
        [{ type: "Container", min: { cpu: "2" }, defaultRequest: { cpu: "1" } }],
      ],
      ["a ratio", "spec.limits", [{ type: "Container", maxLimitRequestRatio: { cpu: "2" } }]],
      [
        "a ratio below one",
        "spec.limits",
        [{ type: "Container", maxLimitRequestRatio: { cpu: "0.5" } }],
      ],
      [
        "a ratio above max by min",
        "spec.limits",
        [{ type: "Pod", min: { cpu: "1" }, max: { cpu: "2" }, maxLimitRequestRatio: { cpu: "3" } }],
      ],
      ["claims", "spec.limits", [{ type: "PersistentVolumeClaim", min: { storage: "1Gi" } }]],
      ["claims without storage", "spec.limits", [{ type: "PersistentVolumeClaim" }]],
      [
        "minimum and maximum",
        "spec.limits",
        [{ type: "Container", min: { cpu: "100m" }, max: { cpu: "1" } }],
      ],
      ["an unknown resource", "spec.limits", [{ type: "Container", max: { nonsense: "1" } }]],
    ],
    updates: [["less", "spec.limits", [{ type: "Pod", max: { cpu: "1" } }]]],
  },
  {
    kind: "Endpoints",
    apiVersion: "v1",
    resource: "endpoints",
    body: { subsets: [{ addresses: [{ ip: "10.0.0.1" }], ports: [{ port: 80 }] }] },
    changes: [
      ["no subsets", "subsets", undefined],
      ["no addresses", "subsets", [{ ports: [{ port: 80 }] }]],
      ["no IP address", "subsets", [{ addresses: [{ ip: "no" }], ports: [{ port: 80 }] }]],
      ["a missing address", "subsets", [{ addresses: [{}], ports: [{ port: 80 }] }]],
      ["a loopback address", "subsets", [{ addresses: [{ ip: "127.0.0.1" }] }]],
      ["a link-local address", "subsets", [{ addresses: [{ ip: "169.254.169.254" }] }]],
      ["a bad hostname", "subsets", [{ addresses: [{ ip: "10.0.0.1", hostname: "A b" }] }]],
      ["port 0", "subsets", [{ addresses: [{ ip: "10.0.0.1" }], ports: [{ port: 0 }] }]],
      [
        "an unknown protocol",
        "subsets",
        [{ addresses: [{ ip: "10.0.0.1" }], ports: [{ port: 1, protocol: "ICMP" }] }],
      ],
      [
        "ports without names",
        "subsets",
        [{ addresses: [{ ip: "10.0.0.1" }], ports: [{ port: 1 }, { port: 2 }] }],
      ],
      [
        "an order of its own",
        "subsets",
        [{ addresses: [{ ip: "10.0.0.2" }, { ip: "10.0.0.1" }], ports: [{ port: 80 }] }],
      ],
      ["not ready", "subsets", [{ notReadyAddresses: [{ ip: "10.0.0.9" }] }]],
    ],
    updates: [["none", "subsets", []]],
  },
  {
    kind: "PersistentVolumeClaim",
    apiVersion: "v1",
    resource: "persistentvolumeclaims",
    body: {
      spec: {
        accessModes: ["ReadWriteOnce"],
        resources: { requests: { storage: "1024Mi" } },
        storageClassName: "fast",
      },
    },
    status: { phase: "Bound", capacity: { storage: "1024Mi" }, accessModes: ["ReadWriteOnce"] },
    changes: [
      ["no modes", "spec.accessModes", []],
      ["an unknown mode", "spec.accessModes", ["Sometimes"]],
      ["once and by one Pod", "spec.accessModes", ["ReadWriteOnce", "ReadWriteOncePod"]],
      ["no storage", "spec.resources", undefined],
      ["negative storage", "spec.resources.requests.storage", "-1"],
      ["zero storage", "spec.resources.requests.storage", "0"],
      ["storage that is none", "spec.resources.requests.storage", "many"],
      ["a bad class", "spec.storageClassName", "Not A Name"],
      ["no class", "spec.storageClassName", ""],
      ["an unknown volume mode", "spec.volumeMode", "Tape"],
      ["a block device", "spec.volumeMode", "Block"],
      ["a bad selector", "spec.selector", badSelector],
      ["a data source", "spec.dataSource", { kind: "PersistentVolumeClaim", name: "other" }],
      ["a data source without a name", "spec.dataSource", { kind: "PersistentVolumeClaim" }],
      ["a data source of another kind", "spec.dataSource", { kind: "Job", name: "a" }],
      ["no spec", "spec", undefined],
    ],
    updates: [
      ["another class", "spec.storageClassName", "slow"],
      ["other modes", "spec.accessModes", ["ReadWriteMany"]],
      ["less", "spec.resources.requests.storage", "1Mi"],
      ["a volume", "spec.volumeName", "disk"],
    ],
  },
  {
    kind: "PersistentVolume",
    apiVersion: "v1",
    resource: "persistentvolumes",
    isNamespaced: false,
    body: {
      spec: {
        capacity: { storage: "1024Mi" },
        accessModes: ["ReadWriteOnce"],
        hostPath: { path: "/data" },
      },
    },
    status: { phase: "Available" },
    unseen: ["status.lastPhaseTransitionTime"],
    changes: [
      ["no capacity", "spec.capacity", undefined],
      ["negative capacity", "spec.capacity.storage", "-1"],
      ["zero capacity", "spec.capacity.storage", "0"],
      ["capacity of another resource", "spec.capacity", { cpu: "1" }],
      ["no modes", "spec.accessModes", undefined],
      ["an unknown mode", "spec.accessModes", ["Sometimes"]],
      ["no source", "spec.hostPath", undefined],
      ["two sources", "spec.nfs", { server: "a", path: "/b" }],
      ["a path without a path", "spec.hostPath", { path: "" }],
      ["a path that goes back", "spec.hostPath", { path: "/a/.." }],
      ["an unknown type of path", "spec.hostPath", { path: "/a", type: "Tape" }],
      ["an unknown policy", "spec.persistentVolumeReclaimPolicy", "Burn"],
      [
        "the root, recycled",
        "spec",
        {
          capacity: { storage: "1" },
          accessModes: ["ReadWriteOnce"],
          hostPath: { path: "/" },
          persistentVolumeReclaimPolicy: "Recycle",
        },
      ],
      ["a bad class", "spec.storageClassName", "Not A Name"],
      ["an unknown volume mode", "spec.volumeMode", "Tape"],
      [
        "NFS",
        "spec",
        {
          capacity: { storage: "1Gi" },
          accessModes: ["ReadWriteMany"],
          nfs: { server: "a", path: "/b" },
        },
      ],
      [
        "NFS without a server",
        "spec",
        { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteMany"], nfs: { path: "b" } },
      ],
      [
        "a driver",
        "spec",
        {
          capacity: { storage: "1Gi" },
          accessModes: ["ReadWriteMany"],
          csi: { driver: "d.example.com", volumeHandle: "h" },
        },
      ],
      [
        "a driver without a handle",
        "spec",
        {
          capacity: { storage: "1Gi" },
          accessModes: ["ReadWriteMany"],
          csi: { driver: "d.example.com" },
        },
      ],
      [
        "local without nodes",
        "spec",
        { capacity: { storage: "1Gi" }, accessModes: ["ReadWriteOnce"], local: { path: "/d" } },
      ],
      ["affinity without terms", "spec.nodeAffinity", { required: { nodeSelectorTerms: [] } }],
    ],
    updates: [
      ["another source", "spec.hostPath", { path: "/other" }],
      ["another policy", "spec.persistentVolumeReclaimPolicy", "Delete"],
      ["another volume mode", "spec.volumeMode", "Block"],
    ],
  },
];

const hpa: Omit<NativeKindCase, "apiVersion" | "changes"> = {
  kind: "HorizontalPodAutoscaler",
  resource: "horizontalpodautoscalers",
  body: { spec: { scaleTargetRef: target, maxReplicas: 3 } },
  status: { currentReplicas: 1, desiredReplicas: 2 },
  updates: [
    ["another target", "spec.scaleTargetRef.name", "other"],
    ["a target without a group", "spec.scaleTargetRef.apiVersion", "v1"],
    ["too few", "spec.maxReplicas", 0],
  ],
};
const limits: NativeKindCase["changes"] = [
  ["no target", "spec.scaleTargetRef", undefined],
  ["a target without a version", "spec.scaleTargetRef", { kind: "Deployment", name: "web" }],
  ["a bad target", "spec.scaleTargetRef", { ...target, name: "a/b", kind: "c%d" }],
  ["a bad version", "spec.scaleTargetRef.apiVersion", "a/b/c"],
  ["an old target", "spec.scaleTargetRef", { kind: "ReplicationController", name: "web" }],
  ["no maximum", "spec.maxReplicas", undefined],
  ["a negative maximum", "spec.maxReplicas", -1],
  ["a minimum of 0", "spec.minReplicas", 0],
  ["a minimum above", "spec.minReplicas", 5],
  ["no spec", "spec", undefined],
];
const percent = { type: "Percent", value: 10, periodSeconds: 60 };

export const autoscaling: readonly NativeKindCase[] = [
  {
    ...hpa,
    apiVersion: "autoscaling/v2",
    changes: [
      ...limits,
      ["no type", "spec.metrics", [{}]],
      ["an unknown type", "spec.metrics", [{ type: "Weather" }]],
      ["a type without its field", "spec.metrics", [{ type: "Pods" }]],
      [
        "two fields",
        "spec.metrics",
        [{ ...cpu({ type: "Utilization", averageUtilization: 1 })[0], pods: { metric: {} } }],
      ],
      ["a target without a type", "spec.metrics", cpu({ averageUtilization: 50 })],
      ["an unknown target", "spec.metrics", cpu({ type: "Half", averageUtilization: 50 })],
      ["no value", "spec.metrics", cpu({ type: "Utilization" })],
      [
        "two values",
        "spec.metrics",
        cpu({ type: "Utilization", averageUtilization: 50, averageValue: "1" }),
      ],
      ["zero percent", "spec.metrics", cpu({ type: "Utilization", averageUtilization: 0 })],
      ["a negative value", "spec.metrics", cpu({ type: "AverageValue", averageValue: "-1" })],
      [
        "a resource without a name",
        "spec.metrics",
        [{ type: "Resource", resource: { target: { type: "AverageValue", averageValue: "1" } } }],
      ],
      [
        "of a container",
        "spec.metrics",
        [
          {
            type: "ContainerResource",
            containerResource: {
              name: "cpu",
              container: "web",
              target: { type: "Utilization", averageUtilization: 50 },
            },
          },
        ],
      ],
      [
        "of no container",
        "spec.metrics",
        [{ type: "ContainerResource", containerResource: { target: { type: "Utilization" } } }],
      ],
      [
        "of Pods",
        "spec.metrics",
        [
          {
            type: "Pods",
            pods: { metric: { name: "m" }, target: { type: "AverageValue", averageValue: 0.5 } },
          },
        ],
      ],
      [
        "of Pods, without a name",
        "spec.metrics",
        [{ type: "Pods", pods: { metric: {}, target: { type: "Value", value: "1" } } }],
      ],
      [
        "of an object",
        "spec.metrics",
        [
          {
            type: "Object",
            object: {
              metric: { name: "m" },
              describedObject: { apiVersion: "v1", kind: "Service", name: "web" },
              target: { type: "Value", value: "1000m" },
            },
          },
        ],
      ],
      [
        "of no object",
        "spec.metrics",
        [{ type: "Object", object: { metric: { name: "a/b" }, target: { type: "Value" } } }],
      ],
      [
        "from outside, both",
        "spec.metrics",
        [
          {
            type: "External",
            external: {
              metric: { name: "m" },
              target: { type: "Value", value: "1", averageValue: "1" },
            },
          },
        ],
      ],
      [
        "from outside, to zero",
        "spec",
        {
          ...hpa.body,
          scaleTargetRef: target,
          minReplicas: 0,
          maxReplicas: 1,
          metrics: [
            {
              type: "External",
              external: { metric: { name: "m" }, target: { type: "Value", value: "1" } },
            },
          ],
        },
      ],
      ["behavior", "spec.behavior", {}],
      ["behavior down", "spec.behavior", { scaleDown: { policies: [percent] } }],
      ["behavior up", "spec.behavior", { scaleUp: { selectPolicy: "Min" } }],
      ["no policies", "spec.behavior", { scaleUp: { policies: [] } }],
      ["a bad policy", "spec.behavior", { scaleDown: { policies: [{ type: "All", value: 0 }] } }],
      [
        "a long period",
        "spec.behavior",
        { scaleDown: { policies: [{ ...percent, periodSeconds: 1801 }] } },
      ],
      ["a long window", "spec.behavior", { scaleDown: { stabilizationWindowSeconds: 3601 } }],
      ["a negative window", "spec.behavior", { scaleUp: { stabilizationWindowSeconds: -1 } }],
      ["an unknown selection", "spec.behavior", { scaleUp: { selectPolicy: "Any" } }],
    ],
  },
  {
    ...hpa,
    apiVersion: "autoscaling/v1",
    changes: [
      ...limits,
      ["a percentage", "spec.targetCPUUtilizationPercentage", 50],
      ["zero percent", "spec.targetCPUUtilizationPercentage", 0],
      [
        "metrics in an annotation",
        "metadata.annotations",
        {
          "autoscaling.alpha.kubernetes.io/metrics":
            '[{"type":"Pods","pods":{"metricName":"m","targetAverageValue":"1"}}]',
        },
      ],
      [
        "behavior in an annotation",
        "metadata.annotations",
        {
          "autoscaling.alpha.kubernetes.io/behavior":
            '{"ScaleUp":{"StabilizationWindowSeconds":5,"SelectPolicy":"Max","Policies":[{"Type":"Pods","Value":1,"PeriodSeconds":15}]}}',
        },
      ],
      [
        "nonsense in an annotation",
        "metadata.annotations",
        { "autoscaling.alpha.kubernetes.io/metrics": "nonsense" },
      ],
    ],
  },
];

export const networking: readonly NativeKindCase[] = [
  {
    kind: "Ingress",
    apiVersion: "networking.k8s.io/v1",
    resource: "ingresses",
    body: { spec: { defaultBackend: backend } },
    status: { loadBalancer: { ingress: [{ ip: "10.1.2.3" }] } },
    changes: [
      ["nothing", "spec", {}],
      ["no spec", "spec", undefined],
      ["a rule", "spec.rules", rule({ path: "/", pathType: "Prefix", backend })],
      ["a rule for a host", "spec.rules", [{ host: "a.example.com" }]],
      ["a host in capitals", "spec.rules", [{ host: "A.example.com" }]],
      ["an address as host", "spec.rules", [{ host: "10.0.0.1" }]],
      ["a wildcard", "spec.rules", [{ host: "*.example.com" }]],
      ["a bad wildcard", "spec.rules", [{ host: "a.*.com" }]],
      ["no paths", "spec.rules", [{ http: { paths: [] } }]],
      ["no type of path", "spec.rules", rule({ path: "/", backend })],
      ["an unknown type of path", "spec.rules", rule({ path: "/", pathType: "Some", backend })],
      ["a relative path", "spec.rules", rule({ path: "a", pathType: "Exact", backend })],
      ["a path with dots", "spec.rules", rule({ path: "/a/../b", pathType: "Exact", backend })],
      ["two slashes", "spec.rules", rule({ path: "/a//b", pathType: "Prefix", backend })],
      ["no path", "spec.rules", rule({ pathType: "Exact", backend })],
      [
        "no path, up to others",
        "spec.rules",
        rule({ pathType: "ImplementationSpecific", backend }),
      ],
      ["no backend", "spec.rules", rule({ path: "/", pathType: "Exact" })],
      ["a backend without a port", "spec.defaultBackend", { service: { name: "web" } }],
      [
        "a backend with two ports",
        "spec.defaultBackend",
        { service: { name: "web", port: { number: 80, name: "http" } } },
      ],
      ["a bad port", "spec.defaultBackend", { service: { name: "web", port: { number: 70_000 } } }],
      ["a bad service", "spec.defaultBackend", { service: { name: "A b", port: { number: 80 } } }],
      ["a service without a name", "spec.defaultBackend", { service: { port: { number: 80 } } }],
      [
        "a resource",
        "spec.defaultBackend",
        { resource: { apiGroup: "example.com", kind: "Bucket", name: "b" } },
      ],
      ["a resource without a name", "spec.defaultBackend", { resource: { kind: "Bucket" } }],
      [
        "a resource and a service",
        "spec.defaultBackend",
        { ...backend, resource: { kind: "Bucket", name: "b" } },
      ],
      ["a certificate", "spec.tls", [{ hosts: ["a.example.com"], secretName: "cert" }]],
      ["a certificate for a bad host", "spec.tls", [{ hosts: ["A b"], secretName: "cert" }]],
      ["a bad name of a certificate", "spec.tls", [{ secretName: "A b" }]],
      ["a class", "spec.ingressClassName", "nginx"],
      ["a bad class", "spec.ingressClassName", "A b"],
      ["the old annotation", "metadata.annotations", { "kubernetes.io/ingress.class": "nginx" }],
    ],
    updates: [
      ["another backend", "spec.defaultBackend.service.name", "other"],
      ["nothing", "spec", {}],
    ],
  },
  {
    kind: "IngressClass",
    apiVersion: "networking.k8s.io/v1",
    resource: "ingressclasses",
    isNamespaced: false,
    body: { spec: { controller: "example.com/nginx" } },
    changes: [
      ["no controller", "spec.controller", ""],
      ["a controller without a domain", "spec.controller", "nginx"],
      ["a long controller", "spec.controller", `example.com/${"a".repeat(250)}`],
      ["parameters", "spec.parameters", { apiGroup: "example.com", kind: "Config", name: "a" }],
      ["parameters without a name", "spec.parameters", { kind: "Config" }],
      ["an unknown scope", "spec.parameters", { kind: "Config", name: "a", scope: "World" }],
      ["in no namespace", "spec.parameters", { kind: "Config", name: "a", scope: "Namespace" }],
      [
        "in a namespace",
        "spec.parameters",
        { kind: "Config", name: "a", scope: "Namespace", namespace: "b" },
      ],
      [
        "of the cluster, in a namespace",
        "spec.parameters",
        { kind: "Config", name: "a", scope: "Cluster", namespace: "b" },
      ],
      ["no spec", "spec", undefined],
    ],
    updates: [["another controller", "spec.controller", "example.com/other"]],
  },
  {
    kind: "NetworkPolicy",
    apiVersion: "networking.k8s.io/v1",
    resource: "networkpolicies",
    body: { spec: { podSelector: selector } },
    changes: [
      ["no spec", "spec", undefined],
      ["a bad selector", "spec.podSelector", badSelector],
      ["a port", "spec.ingress", [{ ports: [{ port: 80 }] }]],
      ["a named port", "spec.ingress", [{ ports: [{ port: "http" }] }]],
      ["port 0", "spec.ingress", [{ ports: [{ port: 0 }] }]],
      ["a bad name of a port", "spec.ingress", [{ ports: [{ port: "A b" }] }]],
      ["an unknown protocol", "spec.ingress", [{ ports: [{ port: 1, protocol: "ICMP" }] }]],
      ["a range", "spec.egress", [{ ports: [{ port: 80, endPort: 90 }] }]],
      ["a range that goes back", "spec.egress", [{ ports: [{ port: 80, endPort: 70 }] }]],
      ["an end without a port", "spec.egress", [{ ports: [{ endPort: 70 }] }]],
      ["the end of a name", "spec.egress", [{ ports: [{ port: "http", endPort: 70 }] }]],
      ["an empty peer", "spec.ingress", [{ from: [{}] }]],
      ["a peer", "spec.ingress", [{ from: [{ podSelector: selector }] }]],
      ["a bad peer", "spec.ingress", [{ from: [{ namespaceSelector: badSelector }] }]],
      ["a block", "spec.egress", [{ to: [{ ipBlock: { cidr: "10.0.0.0/8" } }] }]],
      ["a block without addresses", "spec.egress", [{ to: [{ ipBlock: {} }] }]],
      ["a bad block", "spec.egress", [{ to: [{ ipBlock: { cidr: "10.0.0.0" } }] }]],
      [
        "a block but for a part",
        "spec.egress",
        [{ to: [{ ipBlock: { cidr: "10.0.0.0/8", except: ["10.1.0.0/16"] } }] }],
      ],
      [
        "a block but for others",
        "spec.egress",
        [{ to: [{ ipBlock: { cidr: "10.0.0.0/8", except: ["11.1.0.0/16"] } }] }],
      ],
      [
        "a block and a selector",
        "spec.egress",
        [{ to: [{ ipBlock: { cidr: "10.0.0.0/8" }, podSelector: selector }] }],
      ],
      ["types", "spec.policyTypes", ["Egress"]],
      ["an unknown type", "spec.policyTypes", ["Sideways"]],
      ["too many types", "spec.policyTypes", ["Ingress", "Egress", "Ingress"]],
    ],
    updates: [["another selector", "spec.podSelector", {}]],
  },
  {
    kind: "ServiceCIDR",
    apiVersion: "networking.k8s.io/v1",
    resource: "servicecidrs",
    isNamespaced: false,
    body: { spec: { cidrs: ["10.9.0.0/24"] } },
    status: { conditions: [] },
    unseen: ["metadata.finalizers"],
    changes: [
      ["no blocks", "spec.cidrs", []],
      ["a bad block", "spec.cidrs", ["10.0.0.0"]],
      ["three blocks", "spec.cidrs", ["10.0.0.0/24", "10.1.0.0/24", "fd00::/64"]],
      ["two of one family", "spec.cidrs", ["10.0.0.0/24", "10.1.0.0/24"]],
      ["both families", "spec.cidrs", ["10.0.0.0/24", "fd00::/64"]],
    ],
    updates: [["other blocks", "spec.cidrs", ["10.8.0.0/24"]]],
  },
];

export const policies: readonly NativeKindCase[] = [
  {
    kind: "PodDisruptionBudget",
    apiVersion: "policy/v1",
    resource: "poddisruptionbudgets",
    body: { spec: { minAvailable: 1, selector } },
    status: { disruptionsAllowed: 1, currentHealthy: 2, desiredHealthy: 1, expectedPods: 2 },
    changes: [
      ["no spec", "spec", undefined],
      ["both", "spec.maxUnavailable", 1],
      ["a percentage", "spec.minAvailable", "50%"],
      ["more than all", "spec.minAvailable", "150%"],
      ["a bad percentage", "spec.minAvailable", "half"],
      ["a negative number", "spec.minAvailable", -1],
      ["a bad selector", "spec.selector", badSelector],
      ["no selector", "spec.selector", undefined],
      ["a policy", "spec.unhealthyPodEvictionPolicy", "AlwaysAllow"],
      ["an unknown policy", "spec.unhealthyPodEvictionPolicy", "Perhaps"],
    ],
    updates: [["another number", "spec.minAvailable", 2]],
  },
  {
    kind: "EndpointSlice",
    apiVersion: "discovery.k8s.io/v1",
    resource: "endpointslices",
    body: {
      addressType: "IPv4",
      endpoints: [{ addresses: ["10.0.0.1"], conditions: { ready: true } }],
      ports: [{ name: "http", port: 80 }],
    },
    changes: [
      ["no type", "addressType", undefined],
      ["an unknown type", "addressType", "Street"],
      ["names", "endpoints", [{ addresses: ["a.example.com"] }]],
      ["no addresses", "endpoints", [{ addresses: [] }]],
      ["a loopback address", "endpoints", [{ addresses: ["127.0.0.1"] }]],
      ["an address of the other family", "endpoints", [{ addresses: ["fd00::1"] }]],
      ["a bad hostname", "endpoints", [{ addresses: ["10.0.0.1"], hostname: "A b" }]],
      [
        "a bad topology",
        "endpoints",
        [{ addresses: ["10.0.0.1"], deprecatedTopology: { "a b": "c" } }],
      ],
      ["a node", "endpoints", [{ addresses: ["10.0.0.1"], nodeName: "n", zone: "z" }]],
      ["a bad node", "endpoints", [{ addresses: ["10.0.0.1"], nodeName: "A b" }]],
      [
        "ports of one name",
        "ports",
        [
          { name: "a", port: 1 },
          { name: "a", port: 2 },
        ],
      ],
      ["a bad name of a port", "ports", [{ name: "A b", port: 1 }]],
      ["an unknown protocol", "ports", [{ name: "a", port: 1, protocol: "ICMP" }]],
      ["a bad application", "ports", [{ name: "a", port: 1, appProtocol: "A b" }]],
      ["no ports", "ports", undefined],
      ["no endpoints", "endpoints", undefined],
    ],
    updates: [
      ["another type", "addressType", "IPv6"],
      ["no endpoints", "endpoints", []],
    ],
  },
  {
    kind: "PriorityClass",
    apiVersion: "scheduling.k8s.io/v1",
    resource: "priorityclasses",
    isNamespaced: false,
    body: { value: 1000 },
    changes: [
      ["a reserved name", "metadata.name", "system-other"],
      ["a value too high", "value", 1_000_000_001],
      ["an unknown policy", "preemptionPolicy", "Perhaps"],
      ["no preemption", "preemptionPolicy", "Never"],
      ["a negative value", "value", -5],
      ["a description", "description", "for tests"],
    ],
    updates: [
      ["another value", "value", 5],
      ["another policy", "preemptionPolicy", "Never"],
      ["a description", "description", "for tests"],
    ],
  },
  {
    kind: "RuntimeClass",
    apiVersion: "node.k8s.io/v1",
    resource: "runtimeclasses",
    isNamespaced: false,
    body: { handler: "runc" },
    changes: [
      ["no handler", "handler", undefined],
      ["a bad handler", "handler", "A b"],
      ["overhead", "overhead", { podFixed: { cpu: "1000m" } }],
      ["negative overhead", "overhead", { podFixed: { cpu: "-1" } }],
      ["nodes", "scheduling", { nodeSelector: { a: "b" } }],
      ["bad nodes", "scheduling", { nodeSelector: { "a b": "b" } }],
      ["a bad toleration", "scheduling", { tolerations: [{ operator: "Equal", value: "x" }] }],
      [
        "a toleration twice",
        "scheduling",
        {
          tolerations: [
            { key: "a", operator: "Exists" },
            { key: "a", operator: "Exists" },
          ],
        },
      ],
    ],
    updates: [["another handler", "handler", "other"]],
  },
  {
    kind: "ControllerRevision",
    apiVersion: "apps/v1",
    resource: "controllerrevisions",
    body: { revision: 1, data: { spec: {} } },
    changes: [
      ["no data", "data", undefined],
      ["a negative revision", "revision", -1],
    ],
    updates: [
      ["another revision", "revision", 2],
      ["other data", "data", { spec: { a: 1 } }],
    ],
  },
];

function topic(name: string, kinds: readonly NativeKindCase[]): CorpusTopic {
  const home = `native-${name}`;
  return {
    name: home,
    definitions: kinds
      .filter(({ apiVersion }) => apiVersion !== "autoscaling/v1")
      .map(definitionOf),
    requests: [namespace(home), ...kinds.flatMap((kind) => requestsOfKind(kind, home))],
  };
}

export const nativeKinds: readonly CorpusTopic[] = [
  topic("core", core),
  topic("autoscaling", autoscaling),
  topic("networking", networking),
  topic("policies", policies),
  topic("storage", storage),
  topic("claims", claims),
];
