/** Objects of native kinds with many faults at once, and unusual changes of a Deployment. */
import type { CorpusRequest, CorpusTopic } from "../corpus-request.ts";
import { namespace, patch, post, put } from "../requests.ts";
import { without } from "./change.ts";
import { collectionOf, definitionOf } from "./native-definition.ts";
import { namedKinds } from "./native-names.ts";

const home = "native-edges";
const brief: Pick<CorpusRequest, "view"> = {
  view: without(
    "metadata.managedFields",
    "details.causes",
    "spec.tolerations",
    "spec.priority",
    "spec.preemptionPolicy",
  ),
};
const container = (more: object = {}) => ({ name: "w", image: "nginx:1", ...more });
const template = (spec: object = {}, metadata: object = {}) => ({
  metadata: { labels: { app: "w" }, ...metadata },
  spec: { containers: [container()], ...spec },
});
const deployment = (spec: object = {}, podSpec: object = {}, podMetadata: object = {}) => ({
  spec: {
    selector: { matchLabels: { app: "w" } },
    template: template(podSpec, podMetadata),
    ...spec,
  },
});

const faulty: readonly (readonly [kind: string, body: Readonly<Record<string, unknown>>])[] = [
  [
    "Deployment",
    deployment(
      {
        replicas: -1,
        minReadySeconds: -1,
        progressDeadlineSeconds: 0,
        revisionHistoryLimit: -1,
        strategy: { type: "X" },
        selector: { matchExpressions: [{ key: "a", operator: "In" }] },
      },
      {
        containers: [
          container({
            name: "A b",
            image: "",
            ports: [
              { containerPort: 0 },
              { containerPort: 70000, name: "toolongnameforaport", protocol: "X" },
            ],
            env: [{ name: "", value: "x", valueFrom: { fieldRef: { fieldPath: "x" } } }],
            volumeMounts: [{ name: "n", mountPath: "" }],
            livenessProbe: {},
            resources: { limits: { cpu: "1", memory: "1Gi" }, requests: { cpu: "2", foo: "1" } },
          }),
        ],
        restartPolicy: "Never",
        volumes: [{ name: "a", emptyDir: {}, hostPath: { path: "/" } }, { name: "a" }],
      },
    ),
  ],
  [
    "StatefulSet",
    {
      spec: {
        replicas: -1,
        selector: {},
        template: template({ restartPolicy: "OnFailure" }),
        podManagementPolicy: "X",
        updateStrategy: { type: "OnDelete", rollingUpdate: { partition: -1 } },
        ordinals: { start: -1 },
        minReadySeconds: -5,
        volumeClaimTemplates: [{ metadata: { name: "A" }, spec: {} }],
        persistentVolumeClaimRetentionPolicy: { whenDeleted: "X" },
      },
    },
  ],
  [
    "DaemonSet",
    {
      spec: {
        selector: { matchLabels: { a: "b" } },
        template: template(),
        updateStrategy: {
          type: "RollingUpdate",
          rollingUpdate: { maxUnavailable: 0, maxSurge: 0 },
        },
      },
    },
  ],
  [
    "DaemonSet",
    {
      spec: {
        selector: { matchLabels: { app: "w" } },
        template: template({ activeDeadlineSeconds: 5 }),
        updateStrategy: {
          type: "RollingUpdate",
          rollingUpdate: { maxUnavailable: "101%", maxSurge: "5" },
        },
      },
    },
  ],
  [
    "Job",
    {
      spec: {
        parallelism: -1,
        completions: -1,
        backoffLimit: -1,
        activeDeadlineSeconds: -1,
        ttlSecondsAfterFinished: -1,
        template: template({ restartPolicy: "Always" }),
      },
    },
  ],
  ["Job", { spec: { completionMode: "Indexed", template: template({ restartPolicy: "Never" }) } }],
  ["Job", { spec: { manualSelector: true, template: template({ restartPolicy: "Never" }) } }],
  [
    "Job",
    {
      spec: {
        completions: 3,
        podFailurePolicy: {
          rules: [{ action: "X", onExitCodes: { operator: "In", values: [0, 3, 1] } }],
        },
        template: template({ restartPolicy: "OnFailure" }),
      },
    },
  ],
  [
    "Job",
    {
      spec: {
        backoffLimitPerIndex: 1,
        maxFailedIndexes: 200000,
        successPolicy: { rules: [] },
        template: template({ restartPolicy: "Never" }),
      },
    },
  ],
  [
    "CronJob",
    {
      spec: {
        schedule: "* * *",
        concurrencyPolicy: "X",
        startingDeadlineSeconds: -1,
        successfulJobsHistoryLimit: -1,
        failedJobsHistoryLimit: -2,
        timeZone: "",
        jobTemplate: {
          spec: {
            template: template({ restartPolicy: "Always" }),
            ttlSecondsAfterFinished: -3,
            selector: { matchLabels: { a: "b" } },
          },
        },
      },
    },
  ],
  [
    "Service",
    {
      spec: {
        type: "X",
        ports: [
          { port: 0, name: "A" },
          { port: 80, protocol: "Q", targetPort: "toolongnameforaport", nodePort: 99999 },
        ],
        sessionAffinity: "Z",
        externalName: "",
        selector: { "a b": "c" },
        externalIPs: ["127.0.0.1", "x"],
        loadBalancerSourceRanges: ["10.0.0.1/8"],
        internalTrafficPolicy: "q",
        externalTrafficPolicy: "w",
        loadBalancerClass: "a b",
      },
    },
  ],
  ["Service", { spec: { type: "ExternalName", externalName: "Bad Name", ports: [{ port: 1 }] } }],
  ["Service", { spec: { clusterIP: "None", type: "NodePort", ports: [{ port: 1 }] } }],
  [
    "Service",
    {
      spec: {
        ports: [
          { port: 80, name: "a" },
          { port: 80, name: "b" },
        ],
      },
    },
  ],
  ["Service", { metadata: { name: "1bad" }, spec: { ports: [{ port: 1 }] } }],
  ["Ingress", { spec: {} }],
  [
    "Ingress",
    {
      spec: {
        ingressClassName: "A b",
        defaultBackend: {},
        tls: [{ hosts: ["*.*.x"], secretName: "A b" }],
        rules: [
          {
            host: "1.2.3.4",
            http: {
              paths: [
                { path: "x", pathType: "Exact", backend: { service: { name: "", port: {} } } },
                {
                  path: "/a//b",
                  pathType: "Prefix",
                  backend: {
                    resource: { kind: "", name: "" },
                    service: { name: "a", port: { name: "x", number: 1 } },
                  },
                },
                { backend: { service: { name: "a", port: { number: 1 } } } },
              ],
            },
          },
        ],
      },
    },
  ],
  [
    "NetworkPolicy",
    {
      spec: {
        podSelector: { matchLabels: { "a b": "c" } },
        policyTypes: ["X", "Ingress", "Egress"],
        ingress: [
          {
            from: [{}],
            ports: [
              { port: 0, endPort: 5 },
              { port: "http", endPort: 5 },
              { port: 10, endPort: 5, protocol: "Z" },
            ],
          },
        ],
        egress: [{ to: [{ ipBlock: { cidr: "x" }, podSelector: {} }] }],
      },
    },
  ],
  [
    "NetworkPolicy",
    {
      spec: {
        podSelector: {},
        egress: [
          {
            to: [
              {
                ipBlock: {
                  cidr: "10.0.0.0/8",
                  except: ["10.0.0.0/8", "11.0.0.0/16", "10.01.0.0/16", "10.1.2.3/16"],
                },
              },
              { ipBlock: { cidr: "::ffff:10.0.0.0/104" } },
              { ipBlock: { cidr: "010.0.0.0/8" } },
            ],
          },
        ],
      },
    },
  ],
  [
    "PodDisruptionBudget",
    {
      spec: {
        minAvailable: "x%",
        selector: { matchLabels: { "a b": "c" } },
        unhealthyPodEvictionPolicy: "Q",
      },
    },
  ],
  ["PodDisruptionBudget", { spec: { maxUnavailable: -1 } }],
  ["PodDisruptionBudget", { spec: { minAvailable: "150%" } }],
  [
    "HorizontalPodAutoscaler",
    {
      spec: {
        scaleTargetRef: { kind: "A b", name: "" },
        minReplicas: 0,
        maxReplicas: -3,
        metrics: [
          {
            type: "Resource",
            resource: {
              name: "cpu",
              target: { type: "Utilization", averageUtilization: -1, averageValue: "1" },
            },
          },
          { type: "Object" },
        ],
        behavior: {
          scaleUp: {
            stabilizationWindowSeconds: 5000,
            policies: [{ type: "Q", value: 0, periodSeconds: 9000 }],
            selectPolicy: "W",
          },
        },
      },
    },
  ],
  [
    "PersistentVolumeClaim",
    {
      spec: {
        accessModes: [],
        volumeName: "A b",
        storageClassName: "A b",
        volumeMode: "X",
        resources: {},
        dataSource: { kind: "X", name: "" },
      },
    },
  ],
  [
    "PersistentVolume",
    {
      spec: {
        capacity: {},
        nfs: { server: "", path: "x" },
        csi: { driver: "", volumeHandle: "" },
        claimRef: {},
        mountOptions: ["a"],
      },
    },
  ],
  [
    "StorageClass",
    { provisioner: "", parameters: { "": "x" }, volumeBindingMode: "X", reclaimPolicy: "Recycle" },
  ],
  [
    "Endpoints",
    {
      subsets: [
        {
          addresses: [{ ip: "010.0.0.1" }, { ip: "::ffff:1.2.3.4" }, { ip: "224.0.0.1" }],
          ports: [{ port: 1, name: "A B" }],
        },
      ],
    },
  ],
  [
    "EndpointSlice",
    {
      addressType: "IPv4",
      endpoints: [
        { addresses: ["01.2.3.4", "1.2.3.4", "::1"], conditions: { ready: true }, zone: "a b" },
      ],
      ports: [{ name: "a", port: 70000 }],
    },
  ],
  [
    "LimitRange",
    {
      spec: {
        limits: [
          { type: "Pod", default: { cpu: "1" }, min: { cpu: "2" }, max: { cpu: "1" } },
          { type: "Pod" },
        ],
      },
    },
  ],
  ["PriorityClass", { value: 2000000000, globalDefault: true, preemptionPolicy: "X" }],
  ["ReplicationController", { spec: { replicas: -1, selector: { a: "b" }, template: template() } }],
  ["PodTemplate", { template: template({ containers: [] }) }],
  ["RuntimeClass", { handler: "A_b", overhead: { podFixed: { cpu: "-1", "x y": "1" } } }],
  ["ControllerRevision", { revision: -1, data: "x" }],
  [
    "Pod",
    {
      spec: {
        containers: [
          container({
            securityContext: {
              privileged: true,
              allowPrivilegeEscalation: false,
              runAsUser: -1,
              capabilities: { add: ["X"] },
              procMount: "Q",
              seccompProfile: { type: "Localhost" },
            },
            lifecycle: { preStop: { sleep: { seconds: -1 } } },
            resizePolicy: [{ resourceName: "cpu", restartPolicy: "X" }],
            stdinOnce: true,
          }),
        ],
        hostNetwork: true,
        hostPID: true,
        shareProcessNamespace: true,
        dnsPolicy: "None",
        schedulerName: "",
        terminationGracePeriodSeconds: -5,
        tolerations: [
          { operator: "Exists", value: "x" },
          { key: "a", effect: "NoSchedule", tolerationSeconds: 3 },
        ],
        os: { name: "plan9" },
        setHostnameAsFQDN: true,
        hostname: "A b",
        subdomain: "x.y",
        overhead: { cpu: "1" },
      },
    },
  ],
  [
    "Pod",
    {
      metadata: {
        annotations: {
          "controller.kubernetes.io/pod-deletion-cost": "+1",
          "kubernetes.io/config.mirror": "x",
          "container.apparmor.security.beta.kubernetes.io/zz": "bad",
          "seccomp.security.alpha.kubernetes.io/pod": "x",
        },
      },
      spec: { containers: [container()] },
    },
  ],
  [
    "Deployment",
    deployment(
      {},
      {},
      {
        annotations: {
          "container.apparmor.security.beta.kubernetes.io/zz": "bad",
          "container.seccomp.security.alpha.kubernetes.io/w": "localhost/../x",
          "controller.kubernetes.io/pod-deletion-cost": "01",
        },
      },
    ),
  ],
  [
    "Pod",
    {
      metadata: {
        annotations: { "container.apparmor.security.beta.kubernetes.io/w": "runtime/default" },
      },
      spec: { containers: [container()] },
    },
  ],
  [
    "Pod",
    {
      metadata: {
        annotations: { "container.apparmor.security.beta.kubernetes.io/w": "unconfined" },
      },
      spec: {
        containers: [
          container({ securityContext: { appArmorProfile: { type: "RuntimeDefault" } } }),
        ],
      },
    },
  ],
];

const deployments = `/apis/apps/v1/namespaces/${home}/deployments`;
const web = `${deployments}/web`;
const changes: readonly CorpusRequest[] = [
  post(
    "a Deployment",
    deployments,
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      ...deployment({ replicas: 2, strategy: { type: "Recreate" } }),
    },
    brief,
  ),
  patch(
    "strategic",
    "rolling without type",
    web,
    { spec: { strategy: { rollingUpdate: { maxSurge: 1 } } } },
    brief,
  ),
  patch(
    "strategic",
    "retain keys",
    web,
    {
      spec: {
        strategy: {
          $retainKeys: ["type", "rollingUpdate"],
          type: "RollingUpdate",
          rollingUpdate: { maxSurge: 1 },
        },
      },
    },
    brief,
  ),
  patch(
    "strategic",
    "delete container",
    web,
    { spec: { template: { spec: { containers: [{ name: "w", $patch: "delete" }] } } } },
    brief,
  ),
  patch(
    "strategic",
    "add env",
    web,
    {
      spec: {
        template: {
          spec: {
            containers: [
              { name: "w", env: [{ name: "A", value: "1" }], ports: [{ containerPort: 80 }] },
            ],
          },
        },
      },
    },
    brief,
  ),
  patch(
    "strategic",
    "same port other protocol",
    web,
    {
      spec: {
        template: {
          spec: { containers: [{ name: "w", ports: [{ containerPort: 80, protocol: "UDP" }] }] },
        },
      },
    },
    brief,
  ),
  patch(
    "strategic",
    "delete env",
    web,
    {
      spec: {
        template: { spec: { containers: [{ name: "w", env: [{ name: "A", $patch: "delete" }] }] } },
      },
    },
    brief,
  ),
  patch("strategic", "null template", web, { spec: { template: null } }, brief),
  patch(
    "merge",
    "selector change",
    web,
    { spec: { selector: { matchLabels: { app: "x" } } } },
    brief,
  ),
  patch(
    "json",
    "remove required",
    web,
    [{ op: "remove", path: "/spec/template/spec/containers" }],
    brief,
  ),
  patch(
    "json",
    "test & replace",
    web,
    [
      { op: "test", path: "/spec/replicas", value: 2 },
      { op: "replace", path: "/spec/replicas", value: "3" },
    ],
    brief,
  ),
  patch(
    "json",
    "move",
    web,
    [{ op: "move", from: "/metadata/labels", path: "/metadata/annotations" }],
    brief,
  ),
  patch(
    "json",
    "copy",
    web,
    [{ op: "copy", from: "/spec/template/metadata/labels", path: "/metadata/labels" }],
    brief,
  ),
  patch(
    "apply",
    "apply conflict",
    `${web}?fieldManager=x`,
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      spec: { replicas: 5, template: { spec: { containers: [{ name: "w", image: "other" }] } } },
    },
    brief,
  ),
  patch(
    "apply",
    "apply force",
    `${web}?fieldManager=x&force=true`,
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      spec: { replicas: 5, template: { spec: { containers: [{ name: "w", image: "other" }] } } },
    },
    {},
  ),
  patch(
    "apply",
    "apply scale conflict",
    `${web}/scale?fieldManager=y`,
    {
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: { name: "web" },
      spec: { replicas: 7 },
    },
    {},
  ),
  patch(
    "apply",
    "apply scale force",
    `${web}/scale?fieldManager=y&force=true`,
    {
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: { name: "web" },
      spec: { replicas: 7 },
    },
    {},
  ),
  patch("merge", "scale -1", `${web}/scale`, { spec: { replicas: -1 } }, brief),
  patch("merge", "scale big", `${web}/scale`, { spec: { replicas: 2147483648 } }, brief),
  put(
    "scale put",
    `${web}/scale`,
    {
      apiVersion: "autoscaling/v1",
      kind: "Scale",
      metadata: { name: "web", namespace: home },
      spec: { replicas: 4 },
    },
    brief,
  ),
  put(
    "scale put other kind",
    `${web}/scale`,
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web", namespace: home },
      spec: { replicas: 4 },
    },
    { view: () => undefined },
  ),
  patch(
    "strategic",
    "status conditions merge",
    `${web}/status`,
    { status: { conditions: [{ type: "A", status: "True" }] } },
    brief,
  ),
  patch(
    "strategic",
    "status conditions merge2",
    `${web}/status`,
    {
      status: {
        conditions: [{ type: "B", status: "False", lastUpdateTime: "2026-01-01T00:00:00Z" }],
        observedGeneration: 3,
        replicas: 3,
        readyReplicas: 5,
      },
    },
    brief,
  ),
  patch(
    "merge",
    "status neg",
    `${web}/status`,
    { status: { replicas: -1, updatedReplicas: 4 } },
    brief,
  ),
  put(
    "status spec ignored",
    `${web}/status`,
    {
      apiVersion: "apps/v1",
      kind: "Deployment",
      metadata: { name: "web" },
      ...deployment({ replicas: 99 }),
      status: { replicas: 1, observedGeneration: 1 },
    },
    brief,
  ),
];

export const nativeEdges: CorpusTopic = {
  name: home,
  definitions: [...namedKinds.values()].map(definitionOf),
  requests: [
    namespace(home),
    ...faulty.map(([kind, body], index) => faultyCreate(kind, body, index)),
    ...changes,
  ],
};

function faultyCreate(
  kind: string,
  body: Readonly<Record<string, unknown>>,
  index: number,
): CorpusRequest {
  const names = namedKinds.get(kind);
  if (names === undefined) throw new Error(`${kind} is no native kind`);
  const object = {
    apiVersion: names.apiVersion,
    kind,
    ...body,
    metadata: { name: "a", ...(body["metadata"] as object | undefined) },
  };
  return post(
    `${kind} with faults, ${index + 1}`,
    `${collectionOf(names, home)}?dryRun=All`,
    object,
    brief,
  );
}
