/**
 * Workload kinds: what a good object becomes, what is said about a bad one, what may change, and
 * what the subresources do. A logical cluster serves these kinds when its clusters bring them.
 */
import { type CorpusRequest, type CorpusTopic, valueAt } from "../corpus-request.ts";
import { asTable, get, namespace, patch, post, put, remove } from "../requests.ts";
import { type Change, changed, without } from "./change.ts";
import { definitionOf } from "./native-definition.ts";

const home = "workloads";
const template = (labels: object = { app: "web" }, spec: object = {}) => ({
  metadata: { labels },
  spec: { containers: [{ name: "web", image: "nginx:1.27" }], ...spec },
});
const selector = { matchLabels: { app: "web" } };
const onHost = (port: object) => ({
  hostNetwork: true,
  containers: [{ name: "a", image: "x:1", ports: [{ containerPort: 80, ...port }] }],
});

export interface Kind {
  readonly kind: string;
  readonly apiVersion: string;
  readonly resource: string;
  readonly spec: object;
  /** Where the Pod's spec is. */
  readonly podSpec?: string;
  /** Without what a cluster with nodes, addresses and further admission adds to an object. */
  readonly view?: (body: unknown) => unknown;
}

export const kinds: readonly Kind[] = [
  {
    kind: "Deployment",
    apiVersion: "apps/v1",
    resource: "deployments",
    spec: { selector, template: template() },
    podSpec: "spec.template.spec",
  },
  {
    kind: "ReplicaSet",
    apiVersion: "apps/v1",
    resource: "replicasets",
    spec: { selector, template: template() },
    podSpec: "spec.template.spec",
  },
  {
    kind: "StatefulSet",
    apiVersion: "apps/v1",
    resource: "statefulsets",
    spec: { selector, template: template(), serviceName: "web" },
    podSpec: "spec.template.spec",
  },
  {
    kind: "DaemonSet",
    apiVersion: "apps/v1",
    resource: "daemonsets",
    spec: { selector, template: template() },
    podSpec: "spec.template.spec",
  },
  {
    kind: "Job",
    apiVersion: "batch/v1",
    resource: "jobs",
    spec: { template: template({ app: "web" }, { restartPolicy: "Never" }) },
    podSpec: "spec.template.spec",
    view: without(
      "spec.template.metadata",
      "spec.selector",
      "metadata.labels",
      "metadata.managedFields",
    ),
  },
  {
    kind: "CronJob",
    apiVersion: "batch/v1",
    resource: "cronjobs",
    spec: {
      schedule: "*/5 * * * *",
      jobTemplate: { spec: { template: template({}, { restartPolicy: "OnFailure" }) } },
    },
    podSpec: "spec.jobTemplate.spec.template.spec",
  },
  {
    kind: "Pod",
    apiVersion: "v1",
    resource: "pods",
    spec: { containers: [{ name: "web", image: "nginx" }] },
    podSpec: "spec",
    view: without("spec.tolerations", "spec.priority", "spec.preemptionPolicy"),
  },
  {
    kind: "Service",
    apiVersion: "v1",
    resource: "services",
    spec: { selector: { app: "web" }, ports: [{ port: 80 }] },
    view: without("spec.clusterIP", "spec.clusterIPs", "spec.ipFamilies", "spec.ipFamilyPolicy"),
  },
];

const podChanges: readonly Change[] = [
  ["no containers", "containers", []],
  ["a container without a name", "containers", [{ image: "x:1" }]],
  ["a container without an image", "containers", [{ name: "a" }]],
  ["a bad container name", "containers", [{ name: "Bad_Name", image: "x:1" }]],
  [
    "two containers of one name",
    "containers",
    [
      { name: "a", image: "x:1" },
      { name: "a", image: "y:1" },
    ],
  ],
  ["port 0", "containers", [{ name: "a", image: "x:1", ports: [{ containerPort: 0 }] }]],
  ["port 70000", "containers", [{ name: "a", image: "x:1", ports: [{ containerPort: 70000 }] }]],
  [
    "a port with a long name",
    "containers",
    [{ name: "a", image: "x:1", ports: [{ name: "a-name-that-is-too-long", containerPort: 80 }] }],
  ],
  [
    "a port of an unknown protocol",
    "containers",
    [{ name: "a", image: "x:1", ports: [{ containerPort: 80, protocol: "ICMP" }] }],
  ],
  [
    "an image with a digest",
    "containers",
    [
      { name: "a", image: `example.com/x@sha256:${"a".repeat(64)}` },
      { name: "b", image: `x:latest@sha256:${"b".repeat(64)}` },
      { name: "c", image: "example.com:5000/x" },
      { name: "d", image: "example.com:5000/x:latest" },
      { name: "e", image: "ko://example.com/x" },
      { name: "f", image: "Capitals" },
      { name: "g", image: "a//b" },
    ],
  ],
  [
    "an unknown pull policy",
    "containers",
    [{ name: "a", image: "x:1", imagePullPolicy: "Sometimes" }],
  ],
  [
    "a mount without a volume",
    "containers",
    [{ name: "a", image: "x:1", volumeMounts: [{ name: "data", mountPath: "/data" }] }],
  ],
  [
    "quantities that are not canonical",
    "containers",
    [
      {
        name: "a",
        image: "x:1",
        resources: {
          requests: { cpu: 0.5, memory: "1024Mi" },
          limits: { cpu: "1000m", memory: "2G" },
        },
      },
    ],
  ],
  [
    "a negative request",
    "containers",
    [{ name: "a", image: "x:1", resources: { requests: { cpu: "-1" } } }],
  ],
  [
    "a request above its limit",
    "containers",
    [{ name: "a", image: "x:1", resources: { requests: { cpu: "2" }, limits: { cpu: "1" } } }],
  ],
  [
    "a probe without a handler",
    "containers",
    [{ name: "a", image: "x:1", livenessProbe: { periodSeconds: 5 } }],
  ],
  [
    "a probe with two handlers",
    "containers",
    [
      {
        name: "a",
        image: "x:1",
        readinessProbe: { httpGet: { port: 80 }, tcpSocket: { port: 80 } },
      },
    ],
  ],
  [
    "good probes",
    "containers",
    [
      {
        name: "a",
        image: "x:1",
        readinessProbe: { httpGet: { port: "http" } },
        livenessProbe: { tcpSocket: { port: 80 } },
        startupProbe: { exec: { command: ["true"] } },
        lifecycle: { preStop: { httpGet: { port: 80 } } },
      },
    ],
  ],
  [
    "variables",
    "containers",
    [
      {
        name: "a",
        image: "x:1",
        env: [
          { name: "A", value: "1" },
          { name: "B", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
          { name: "C", valueFrom: { secretKeyRef: { name: "s", key: "k" } } },
        ],
        envFrom: [{ configMapRef: { name: "c" } }],
      },
    ],
  ],
  ["a variable without a name", "containers", [{ name: "a", image: "x:1", env: [{ value: "1" }] }]],
  [
    "a variable with a value and a source",
    "containers",
    [
      {
        name: "a",
        image: "x:1",
        env: [{ name: "B", value: "1", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } }],
      },
    ],
  ],
  ["an unknown restart policy", "restartPolicy", "Perhaps"],
  ["an unknown DNS policy", "dnsPolicy", "Nowhere"],
  ["a bad node selector", "nodeSelector", { "bad key!": "x" }],
  ["a deadline of 0", "activeDeadlineSeconds", 0],
  ["a bad service account", "serviceAccountName", "Not A Name"],
  ["the older name of the service account", "serviceAccount", "robot"],
  ["a bad hostname", "hostname", "a.b"],
  ["a toleration without a key", "tolerations", [{ operator: "Equal", value: "x" }]],
  ["a toleration of an unknown operator", "tolerations", [{ key: "k", operator: "Like" }]],
  [
    "a toleration of an unknown effect",
    "tolerations",
    [{ key: "k", operator: "Exists", effect: "No" }],
  ],
  [
    "volumes of many kinds",
    "volumes",
    [
      { name: "a" },
      { name: "b", secret: { secretName: "s" } },
      { name: "c", configMap: { name: "c" } },
      { name: "d", hostPath: { path: "/x" } },
      { name: "e", projected: { sources: [{ serviceAccountToken: { path: "t" } }] } },
      {
        name: "f",
        downwardAPI: { items: [{ path: "p", fieldRef: { fieldPath: "metadata.name" } }] },
      },
    ],
  ],
  ["a volume without a name", "volumes", [{ emptyDir: {} }]],
  ["two volumes of one name", "volumes", [{ name: "a" }, { name: "a" }]],
  ["a secret volume without a secret", "volumes", [{ name: "a", secret: {} }]],
  [
    "spread without a key",
    "topologySpreadConstraints",
    [{ maxSkew: 0, whenUnsatisfiable: "DoNotSchedule" }],
  ],
  [
    "affinity without terms",
    "affinity",
    { nodeAffinity: { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: [] } } },
  ],
  [
    "anti-affinity without a topology",
    "affinity",
    {
      podAntiAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [
          { labelSelector: selector, topologyKey: "" },
        ],
      },
    },
  ],
];

const ownChanges: Readonly<Record<string, readonly Change[]>> = {
  Deployment: [
    ["no selector", "spec.selector", undefined],
    ["an empty selector", "spec.selector", {}],
    ["another selector", "spec.selector", { matchLabels: { app: "other" } }],
    ["negative replicas", "spec.replicas", -1],
    ["no template", "spec.template", undefined],
    ["on the host's network", "spec.template", template({ app: "web" }, onHost({}))],
    [
      "on another port of the host",
      "spec.template",
      template({ app: "web" }, onHost({ hostPort: 81 })),
    ],
    ["an unknown strategy", "spec.strategy", { type: "Blue" }],
    ["Recreate with parameters", "spec.strategy", { type: "Recreate", rollingUpdate: {} }],
    ["Recreate", "spec.strategy", { type: "Recreate" }],
    [
      "no progress possible",
      "spec.strategy",
      { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } },
    ],
    ["a bad percentage", "spec.strategy", { rollingUpdate: { maxSurge: "half" } }],
    ["more than all", "spec.strategy", { rollingUpdate: { maxUnavailable: "101%" } }],
    ["a deadline that is too short", "spec.progressDeadlineSeconds", 0],
    ["a negative history", "spec.revisionHistoryLimit", -1],
    ["replicas as text", "spec.replicas", "3"],
    ["no spec", "spec", undefined],
  ],
  ReplicaSet: [
    ["no selector", "spec.selector", undefined],
    ["another selector", "spec.selector", { matchLabels: { app: "other" } }],
    ["negative replicas", "spec.replicas", -1],
    ["negative seconds", "spec.minReadySeconds", -1],
  ],
  StatefulSet: [
    ["no selector", "spec.selector", undefined],
    ["another selector", "spec.selector", { matchLabels: { app: "other" } }],
    ["negative replicas", "spec.replicas", -1],
    ["an unknown policy", "spec.podManagementPolicy", "Wild"],
    ["an unknown strategy", "spec.updateStrategy", { type: "Blue" }],
    ["OnDelete", "spec.updateStrategy", { type: "OnDelete" }],
    ["a partition", "spec.updateStrategy", { rollingUpdate: { partition: 2 } }],
    ["a bad service name", "spec.serviceName", "Not A Name"],
    ["an unknown retention", "spec.persistentVolumeClaimRetentionPolicy", { whenDeleted: "Burn" }],
    ["ordinals", "spec.ordinals", { start: 3 }],
    [
      "claims",
      "spec.volumeClaimTemplates",
      [
        {
          metadata: { name: "data" },
          spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1024Mi" } } },
        },
      ],
    ],
    [
      "claims without modes",
      "spec.volumeClaimTemplates",
      [{ metadata: { name: "data" }, spec: {} }],
    ],
  ],
  DaemonSet: [
    ["no selector", "spec.selector", undefined],
    ["another selector", "spec.selector", { matchLabels: { app: "other" } }],
    ["an unknown strategy", "spec.updateStrategy", { type: "Blue" }],
    ["OnDelete", "spec.updateStrategy", { type: "OnDelete" }],
    [
      "surge and unavailable",
      "spec.updateStrategy",
      { rollingUpdate: { maxSurge: 1, maxUnavailable: 1 } },
    ],
    ["neither", "spec.updateStrategy", { rollingUpdate: { maxSurge: 0, maxUnavailable: 0 } }],
    ["negative seconds", "spec.minReadySeconds", -1],
  ],
  Job: [
    ["negative parallelism", "spec.parallelism", -1],
    ["completions alone", "spec.completions", 3],
    ["parallelism alone", "spec.parallelism", 3],
    ["an unknown mode", "spec.completionMode", "Sorted"],
    ["indexed without completions", "spec.completionMode", "Indexed"],
    ["limits of indexes", "spec.backoffLimitPerIndex", 1],
    ["a negative time to live", "spec.ttlSecondsAfterFinished", -1],
    ["suspended", "spec.suspend", true],
  ],
  CronJob: [
    ["no schedule", "spec.schedule", undefined],
    ["four fields", "spec.schedule", "* * * *"],
    ["minute 61", "spec.schedule", "61 * * * *"],
    ["a word", "spec.schedule", "x * * * *"],
    ["a range that goes back", "spec.schedule", "30-10 * * * *"],
    ["an unknown descriptor", "spec.schedule", "@sometimes"],
    ["a descriptor", "spec.schedule", "@hourly"],
    ["a zone in the schedule", "spec.schedule", "TZ=UTC 0 0 * * *"],
    ["an unknown zone", "spec.timeZone", "Moon/Base"],
    ["a zone", "spec.timeZone", "Etc/UTC"],
    ["an unknown policy", "spec.concurrencyPolicy", "Maybe"],
    ["a negative deadline", "spec.startingDeadlineSeconds", -1],
    ["a name that is too long", "metadata.name", "a".repeat(53)],
  ],
  Pod: [
    ["on another port of the host", "spec", onHost({ hostPort: 81 })],
    [
      "limits without requests",
      "spec.containers",
      [{ name: "a", image: "x:1", resources: { limits: { cpu: "1" } } }],
    ],
    ["a negative grace period", "spec.terminationGracePeriodSeconds", -1],
    [
      "on the host's network",
      "spec",
      {
        hostNetwork: true,
        containers: [{ name: "a", image: "x:1", ports: [{ containerPort: 80 }] }],
      },
    ],
    ["no spec", "spec", undefined],
  ],
  Service: [
    ["no ports", "spec.ports", []],
    ["port 0", "spec.ports", [{ port: 0 }]],
    ["two ports without names", "spec.ports", [{ port: 80 }, { port: 81 }]],
    [
      "two ports of one name",
      "spec.ports",
      [
        { name: "a", port: 80 },
        { name: "a", port: 81 },
      ],
    ],
    ["an unknown type", "spec.type", "Portal"],
    ["headless", "spec.clusterIP", "None"],
    ["an external name", "spec", { type: "ExternalName", externalName: "example.com" }],
    ["an external name that is missing", "spec", { type: "ExternalName" }],
    ["affinity of clients", "spec.sessionAffinity", "ClientIP"],
    ["an unknown affinity", "spec.sessionAffinity", "Love"],
    ["a target by name", "spec.ports", [{ port: 80, targetPort: "http" }]],
    ["a bad selector", "spec.selector", { "bad key!": "x" }],
    ["a name that begins with a digit", "metadata.name", "1-web"],
  ],
};

function pathOf({ apiVersion, resource }: Kind): string {
  const prefix = apiVersion.includes("/") ? `/apis/${apiVersion}` : `/api/${apiVersion}`;
  return `${prefix}/namespaces/${home}/${resource}`;
}

/** A create with one change, which is not stored. */
function dryRun(one: Kind, object: object, [title, at, value]: Change): CorpusRequest {
  const { kind, view = (body: unknown) => body } = one;
  const body = changed(object, at, value);
  return post(`${kind}: ${title}`, `${pathOf(one)}?dryRun=All`, body, {
    view: (answer: unknown) => without("metadata.managedFields", "details.causes")(view(answer)),
  });
}

function requestsOf(one: Kind): CorpusRequest[] {
  const { kind, apiVersion, spec, podSpec, view } = one;
  const path = pathOf(one);
  const object = (name: string): object => ({ apiVersion, kind, metadata: { name }, spec });
  const rest = view === undefined ? {} : { view };
  const all: Change[] = [
    ...(ownChanges[kind] ?? []),
    ...(podSpec === undefined
      ? []
      : podChanges.map(([title, member, value]): Change => [title, `${podSpec}.${member}`, value])),
  ];
  const named = (title: string) => `${kind}: ${title}`;
  return [
    post(named("created"), path, object("web"), rest),
    get(named("read"), `${path}/web`, rest),
    get(named("as a table"), path, {
      ...asTable,
      view: (body) => ({
        columns: (valueAt(body, "columnDefinitions") as { name: string }[] | undefined)?.map(
          ({ name }) => name,
        ),
      }),
    }),
    put(named("updated without a version"), `${path}/web`, object("web"), rest),
    put(
      named("updated with another label"),
      `${path}/web`,
      changed(object("web"), "metadata.labels", { a: "b" }),
      rest,
    ),
    patch(
      "strategic",
      named("patched strategically"),
      `${path}/web`,
      { metadata: { labels: { c: "d" } } },
      rest,
    ),
    patch(
      "merge",
      named("patched by merging"),
      `${path}/web`,
      { metadata: { annotations: { e: "f" } } },
      rest,
    ),
    patch(
      "json",
      named("patched by JSON"),
      `${path}/web`,
      '[{"op":"add","path":"/metadata/labels/g","value":"h"}]',
      rest,
    ),
    put(
      named("a status through the main resource"),
      `${path}/web`,
      { ...object("web"), status: { observedGeneration: 99 } },
      rest,
    ),
    get(named("its status"), `${path}/web/status`, rest),
    post(
      named("with an unknown field, strictly"),
      `${path}?fieldValidation=Strict`,
      changed(object("strict"), "spec.nonsense", 1),
    ),
    ...all.map((change) => dryRun(one, object("other"), change)),
    remove(named("deleted"), `${path}/web`, undefined, { view: () => undefined }),
  ];
}

const scaled = (resource: string): CorpusRequest[] => {
  const path = `/apis/apps/v1/namespaces/${home}/${resource}`;
  const kind = kinds.find((one) => one.resource === resource) as Kind;
  const { apiVersion, spec } = kind;
  const named = (title: string) => `${kind.kind}: ${title}`;
  return [
    post(named("one to scale"), path, {
      apiVersion,
      kind: kind.kind,
      metadata: { name: "scaled" },
      spec,
    }),
    get(named("its scale"), `${path}/scaled/scale`),
    patch("merge", named("scaled up"), `${path}/scaled/scale`, { spec: { replicas: 3 } }),
    patch("merge", named("scaled below zero"), `${path}/scaled/scale`, { spec: { replicas: -1 } }),
    patch("merge", named("scaled to zero"), `${path}/scaled/scale`, { spec: { replicas: 0 } }),
    get(named("after it was scaled"), `${path}/scaled`, {
      view: (body) => valueAt(body, "spec.replicas"),
    }),
  ];
};

export const workloads: CorpusTopic = {
  name: "workloads",
  definitions: kinds.map(definitionOf),
  requests: [
    namespace(home),
    ...kinds.flatMap(requestsOf),
    ...["deployments", "replicasets", "statefulsets"].flatMap(scaled),
  ],
};
