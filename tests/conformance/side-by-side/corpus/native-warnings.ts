/**
 * Warnings about valid objects of native kinds, and rules of their annotations, addresses and
 * amounts.
 */
import type { CorpusRequest, CorpusTopic } from "../corpus-request.ts";
import { namespace, post } from "../requests.ts";
import { without } from "./change.ts";
import { collectionOf, definitionOf } from "./native-definition.ts";
import { namedKinds } from "./native-names.ts";

const home = "native-warnings";
const requests: CorpusRequest[] = [];
type Rest = Pick<CorpusRequest, "view">;
/** Without what a cluster with nodes, addresses and further admission adds to an object. */
const added = ["metadata.managedFields", "details.causes"];
const ofAll: Rest = {
  view: without(...added, "spec.tolerations", "spec.priority", "spec.preemptionPolicy"),
};
const ofServices: Rest = {
  view: without(
    ...added,
    ...[
      "clusterIP",
      "clusterIPs",
      "ports",
      "healthCheckNodePort",
      "ipFamilies",
      "ipFamilyPolicy",
    ].map((member) => `spec.${member}`),
  ),
};
const ofJobs: Rest = {
  view: without(...added, "spec.template.metadata", "metadata.labels", "spec.selector"),
};
const ofVolumes: Rest = { view: without(...added, "status") };

/** A create that is not stored. */
function created(title: string, kind: string, body: object, rest: Rest = ofAll): void {
  const names = namedKinds.get(kind);
  if (names === undefined) throw new Error(`${kind} is no native kind`);
  const { apiVersion } = names;
  const object = { apiVersion, kind, metadata: { name: "a" }, ...body };
  requests.push(post(`${title}: ${kind}`, `${collectionOf(names, home)}?dryRun=All`, object, rest));
}

const container = (more: object = {}) => ({ name: "w", image: "nginx:1", ...more });
const pod = (spec: object, metadata: object = { name: "a" }) => ({
  metadata,
  spec: { containers: [container()], ...spec },
});
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

const podSpecs: Readonly<Record<string, object>> = {
  "old node labels": { nodeSelector: { "beta.kubernetes.io/os": "linux" } },
  master: { nodeSelector: { "node-role.kubernetes.io/master": "" } },
  "affinity old": {
    affinity: {
      nodeAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: {
          nodeSelectorTerms: [
            {
              matchExpressions: [
                { key: "beta.kubernetes.io/arch", operator: "In", values: ["amd64"] },
              ],
            },
          ],
        },
        preferredDuringSchedulingIgnoredDuringExecution: [
          {
            weight: 1,
            preference: {
              matchExpressions: [
                { key: "failure-domain.beta.kubernetes.io/zone", operator: "In", values: ["-a b"] },
              ],
            },
          },
        ],
      },
    },
  },
  "null selectors": {
    affinity: {
      podAffinity: {
        requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "x" }],
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 5, podAffinityTerm: { topologyKey: "y" } },
        ],
      },
      podAntiAffinity: { requiredDuringSchedulingIgnoredDuringExecution: [{ topologyKey: "x" }] },
    },
  },
  spread: {
    topologySpreadConstraints: [
      {
        maxSkew: 1,
        topologyKey: "failure-domain.beta.kubernetes.io/region",
        whenUnsatisfiable: "DoNotSchedule",
      },
    ],
  },
  fractions: {
    containers: [
      container({
        resources: {
          requests: { memory: "100m", "ephemeral-storage": "1500m", cpu: "100m" },
          limits: { memory: "1.5", "ephemeral-storage": "2500m" },
        },
      }),
    ],
  },
  "env twice": {
    containers: [
      container({
        env: [
          { name: "A", value: "1" },
          { name: "A", value: "2" },
          { name: "A", value: "$(A)x" },
          { name: "A", value: "$(A)" },
        ],
      }),
    ],
  },
  "ports twice": {
    containers: [
      container({
        ports: [
          { containerPort: 80 },
          { containerPort: 80 },
          { containerPort: 80, hostPort: 80 },
          { containerPort: 81, hostIP: "1.2.3.4", name: "x" },
        ],
      }),
      container({ name: "v", ports: [{ name: "x", containerPort: 82 }] }),
    ],
  },
  aliases: {
    hostAliases: [
      { ip: "1.2.3.4", hostnames: ["a"] },
      { ip: "1.2.3.4", hostnames: ["b"] },
      { ip: "2001:DB8::0001", hostnames: ["c"] },
    ],
    dnsConfig: { nameservers: ["2001:db8:0:0::1"] },
    imagePullSecrets: [{ name: "a" }, { name: "a" }, {}],
  },
  grace: { terminationGracePeriodSeconds: -1 },
  overlaps: {
    volumes: [
      {
        name: "v",
        configMap: {
          name: "c",
          items: [
            { key: "a", path: "x" },
            { key: "b", path: "x/y" },
            { key: "c", path: "x" },
          ],
        },
      },
      {
        name: "s",
        secret: {
          secretName: "z",
          items: [
            { key: "a", path: "p" },
            { key: "b", path: "p" },
          ],
        },
      },
      {
        name: "p",
        projected: {
          sources: [
            { configMap: { name: "m", items: [{ key: "k", path: "q" }] } },
            { serviceAccountToken: { path: "q" } },
            { secret: { name: "n", items: [{ key: "k", path: "q/r" }] } },
          ],
        },
      },
      {
        name: "d",
        downwardAPI: {
          items: [
            { path: "l", fieldRef: { fieldPath: "metadata.labels" } },
            { path: "l", fieldRef: { fieldPath: "metadata.labels" } },
          ],
        },
      },
    ],
  },
  ephemeral: {
    volumes: [
      {
        name: "e",
        ephemeral: {
          volumeClaimTemplate: {
            spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "100m" } } },
          },
        },
      },
    ],
  },
  git: {
    volumes: [
      { name: "g", gitRepo: { repository: "r" } },
      { name: "h", glusterfs: { endpoints: "e", path: "p" } },
      { name: "i", rbd: { monitors: ["m"], image: "i" } },
    ],
  },
};
for (const [title, spec] of Object.entries(podSpecs)) {
  created(title, "Pod", pod(spec));
  created(title, "Deployment", deployment({}, spec));
}
created("pod name", "Pod", pod({}, { name: "a.b" }));
for (const k of ["Deployment", "ReplicaSet"])
  created(`name of a ${k}`, k, { ...deployment(), metadata: { name: "a.b" } });
created(
  "sts",
  "StatefulSet",
  deployment({
    serviceName: "x",
    revisionHistoryLimit: -1,
    volumeClaimTemplates: [
      {
        metadata: { name: "d" },
        spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1500m" } } },
      },
    ],
  }),
);
created(
  "seccomp",
  "Pod",
  pod(
    {},
    {
      name: "a",
      annotations: {
        "seccomp.security.alpha.kubernetes.io/pod": "x",
        "container.seccomp.security.alpha.kubernetes.io/w": "y",
        "container.apparmor.security.beta.kubernetes.io/w": "runtime/default",
        "scheduler.alpha.kubernetes.io/critical-pod": "",
      },
    },
  ),
);
created(
  "seccomp dep",
  "Deployment",
  deployment(
    {},
    {},
    {
      annotations: {
        "seccomp.security.alpha.kubernetes.io/pod": "runtime/default",
        "container.apparmor.security.beta.kubernetes.io/w": "runtime/default",
        "security.alpha.kubernetes.io/sysctls": "a=b",
      },
    },
  ),
);
created("cron tz", "CronJob", {
  spec: {
    schedule: "TZ=UTC 1 1 * * *",
    jobTemplate: { spec: { template: template({ restartPolicy: "Never" }) } },
  },
});
created("cron", "CronJob", {
  metadata: { name: "x".repeat(53) },
  spec: {
    schedule: "@hourly",
    timeZone: "Mars/X",
    jobTemplate: {
      spec: {
        template: template({
          restartPolicy: "Never",
          nodeSelector: { "beta.kubernetes.io/os": "l" },
        }),
      },
    },
  },
});
created(
  "job big",
  "Job",
  {
    spec: {
      completionMode: "Indexed",
      completions: 200000,
      parallelism: 20000,
      template: template({ restartPolicy: "Never" }),
    },
  },
  ofJobs,
);
const service = (spec: object, metadata: object = { name: "a" }) => ({
  metadata,
  spec: { ports: [{ port: 80 }], selector: { a: "b" }, ...spec },
});
for (const [t, s] of Object.entries({
  headless: { clusterIP: "None", sessionAffinity: "ClientIP" },
  ext: { externalIPs: ["1.2.3.4", "2001:DB8::1"] },
  headlessExt: { clusterIP: "None", externalIPs: ["1.2.3.4"] },
  lb: {
    type: "LoadBalancer",
    loadBalancerIP: "2001:DB8::2",
    loadBalancerSourceRanges: ["10.0.0.0/8", "2001:DB8::/32"],
  },
  name: { type: "ExternalName", externalName: "a.b", externalIPs: ["1.1.1.1"] },
  notname: { externalName: "a.b" },
  dist: { trafficDistribution: "PreferClose" },
  many: { ports: [{ port: 80 }, { port: 81 }] },
  neg: { sessionAffinity: "ClientIP", sessionAffinityConfig: { clientIP: { timeoutSeconds: 0 } } },
}))
  created(`svc ${t}`, "Service", service(s), ofServices);
created(
  "svc hints",
  "Service",
  service({}, { name: "a", annotations: { "service.kubernetes.io/topology-aware-hints": "auto" } }),
  ofServices,
);
created("pvc", "PersistentVolumeClaim", {
  metadata: { name: "a", annotations: { "volume.beta.kubernetes.io/storage-class": "x" } },
  spec: {
    accessModes: ["ReadWriteOnce"],
    resources: { requests: { storage: "1500m" }, limits: { storage: "2500m" } },
  },
});
created(
  "pv",
  "PersistentVolume",
  {
    metadata: { name: "a", annotations: { "volume.beta.kubernetes.io/mount-options": "x" } },
    spec: {
      capacity: { storage: "1Gi" },
      accessModes: ["ReadWriteOnce"],
      persistentVolumeReclaimPolicy: "Recycle",
      hostPath: { path: "/a" },
      nodeAffinity: {
        required: {
          nodeSelectorTerms: [
            { matchExpressions: [{ key: "beta.kubernetes.io/os", operator: "In", values: ["l"] }] },
          ],
        },
      },
    },
  },
  ofVolumes,
);
created("sc", "StorageClass", {
  provisioner: "a.b",
  allowedTopologies: [
    { matchLabelExpressions: [{ key: "failure-domain.beta.kubernetes.io/zone", values: ["a"] }] },
  ],
});
created("rc", "RuntimeClass", {
  handler: "x",
  scheduling: { nodeSelector: { "beta.kubernetes.io/os": "l" } },
});
created("csc", "CSIStorageCapacity", {
  storageClassName: "x",
  nodeTopology: {
    matchLabels: { "beta.kubernetes.io/os": "l" },
    matchExpressions: [{ key: "beta.kubernetes.io/arch", operator: "Exists" }],
  },
});
created("np", "NetworkPolicy", {
  spec: {
    podSelector: {},
    ingress: [{ from: [{ ipBlock: { cidr: "2001:DB8::/32", except: ["2001:DB8:1::/48"] } }] }],
    egress: [{ to: [{ ipBlock: { cidr: "10.1.2.3/8" } }] }],
  },
});
created("np2", "NetworkPolicy", {
  spec: { podSelector: {}, egress: [{ to: [{ ipBlock: { cidr: "2001:DB8::/32" } }] }] },
});
created("ing", "Ingress", {
  metadata: { name: "a", annotations: { "kubernetes.io/ingress.class": "x" } },
  spec: { defaultBackend: { service: { name: "a", port: { number: 1 } } } },
});
created("ing2", "Ingress", {
  metadata: { name: "a", annotations: { "kubernetes.io/ingress.class": "x" } },
  spec: { ingressClassName: "y", defaultBackend: { service: { name: "a", port: { number: 1 } } } },
});
created("eps", "EndpointSlice", {
  addressType: "FQDN",
  endpoints: [{ addresses: ["a.b"] }],
  ports: [],
});
created("eps6", "EndpointSlice", {
  addressType: "IPv6",
  endpoints: [{ addresses: ["2001:DB8::1"] }],
  ports: [],
});
created("ep6", "Endpoints", {
  subsets: [{ addresses: [{ ip: "2001:DB8::1" }], ports: [{ port: 1 }] }],
});

export const nativeWarnings: CorpusTopic = {
  name: home,
  definitions: [...namedKinds.values()].map(definitionOf),
  requests: [namespace(home), ...requests],
};
