/** Native kinds: workloads with long lists in every place, quantities, rules, strategic merges. */
import type { SeededRandom } from "@kcp-ts/testkit";
import { definitionsPath } from "../bench/hold-case.ts";
import {
  type Attack,
  accepts,
  anyJson,
  anySize,
  get,
  patch,
  post,
  type Step,
  times,
  watchAccepts,
} from "./attack.ts";
import { objectOf } from "./kind-attacks.ts";
import type { NativeKind } from "./native-kinds.ts";

const labels = { app: "a" };
const selector = { matchLabels: labels };

function quantity(random: SeededRandom): string {
  return random.pick([
    "100m",
    "1Gi",
    "0.5",
    "1e3",
    `${"9".repeat(anySize(random, 300))}`,
    `0.${"0".repeat(anySize(random, 300))}1`,
    `1e${random.integer(400)}`,
    "12345678901234567890Ei",
  ]);
}

const resources = (random: SeededRandom, count: number) => ({
  requests: Object.fromEntries(times(count, (i) => [`example.com/r${i}`, quantity(random)])),
});

const container = (more: object) => ({ containers: [{ name: "c", image: "i", ...more }] });

type Many = <Item>(item: (i: number) => Item, most?: number) => Item[];

/** A part of a Pod's spec with up to that number of items. */
function podPart(random: SeededRandom, size: number): object {
  const many: Many = (item, most = 19_000) => times(Math.min(size, most), item);
  return random.pick([
    ...containerParts(random, size, many),
    ...schedulingParts(many),
    ...comparedParts(many),
  ] as [() => object, ...(() => object)[]])();
}

/** Two long lists whose items the rules compare. */
function comparedParts(many: Many): (() => object)[] {
  return [
    () => ({
      containers: many((i) => ({ name: `c${i}`, image: "i" }), 2200),
      volumes: many((i) => ({ name: `v${i}`, emptyDir: {} }), 4000),
    }),
    () => ({
      ...container({
        volumeMounts: many((i) => ({ name: `v${i}`, mountPath: `/v${i}` }), 2000),
        volumeDevices: many((i) => ({ name: `d${i}`, devicePath: `/d${i}` }), 2000),
      }),
      volumes: [
        ...many((i) => ({ name: `v${i}`, emptyDir: {} }), 2000),
        ...many((i) => ({ name: `d${i}`, persistentVolumeClaim: { claimName: "c" } }), 2000),
      ],
    }),
    () => ({
      ...container({ resources: { claims: many((i) => ({ name: "c", request: `r${i}` }), 6000) } }),
      resourceClaims: [{ name: "c", resourceClaimName: "c" }],
    }),
    () => ({
      ...container({}),
      topologySpreadConstraints: [
        {
          maxSkew: 1,
          topologyKey: "k",
          whenUnsatisfiable: "DoNotSchedule",
          labelSelector: {
            matchExpressions: many((i) => ({ key: `e${i}`, operator: "Exists" }), 4000),
          },
          matchLabelKeys: many((i) => `m${i}`, 6000),
        },
      ],
    }),
  ];
}

function containerParts(random: SeededRandom, size: number, many: Many): (() => object)[] {
  return [
    () => ({ containers: many((i) => ({ name: `c${i}`, image: "i" })) }),
    () => ({
      containers: many((i) => ({
        name: `c${i}`,
        image: "i",
        ports: [{ containerPort: 1 + i }],
        resources: resources(random, 2),
        livenessProbe: { httpGet: { port: 1 + i, path: "/" } },
      })),
    }),
    () => ({ ...container({}), initContainers: many((i) => ({ name: `i${i}`, image: "i" })) }),
    () => container({ env: many((i) => ({ name: `E${i}`, value: `v${i}` })) }),
    () => container({ env: many((i) => ({ name: `E${i}`, value: `$(E${i - 1})` })) }),
    () =>
      container({
        env: many((i) => ({
          name: `E${i}`,
          valueFrom: { secretKeyRef: { name: `s${i}`, key: "k" } },
        })),
      }),
    () => container({ envFrom: many((i) => ({ configMapRef: { name: `c${i}` } })) }),
    () => container({ ports: many((i) => ({ containerPort: 1 + i, name: `p${i}` })) }),
    () => container({ ports: many((i) => ({ containerPort: 1 + i, hostPort: 1 + i })) }),
    () => container({ args: many((i) => `a${i}`), command: many((i) => `c${i}`) }),
    () => container({ resources: resources(random, Math.min(size, 9000)) }),
    () => ({
      ...container({ volumeMounts: many((i) => ({ name: `v${i}`, mountPath: `/m${i}` }), 9000) }),
      volumes: many((i) => ({ name: `v${i}`, emptyDir: { sizeLimit: quantity(random) } }), 9000),
    }),
    () => ({
      ...container({}),
      volumes: [
        {
          name: "v",
          configMap: { name: "c", items: many((i) => ({ key: `k${i}`, path: `p${i}` })) },
        },
      ],
    }),
    () => ({
      ...container({}),
      volumes: many((i) => ({
        name: `v${i}`,
        projected: { sources: times(3, (s) => ({ secret: { name: `s${s}` } })) },
      })),
    }),
  ];
}

function schedulingParts(many: Many): (() => object)[] {
  const expression = (i: number) => ({ key: `k${i}`, operator: "In", values: [`v${i}`] });
  return [
    () => ({
      ...container({}),
      tolerations: many((i) => ({ key: `k${i}`, operator: "Exists", effect: "NoExecute" })),
    }),
    () => ({ ...container({}), hostAliases: many((i) => ({ ip: `10.0.${i >> 8}.${i & 255}` })) }),
    () => ({ ...container({}), imagePullSecrets: many((i) => ({ name: `s${i}` })) }),
    () => ({ ...container({}), schedulingGates: many((i) => ({ name: `g${i}` })) }),
    () => ({ ...container({}), nodeSelector: Object.fromEntries(many((i) => [`k${i}`, `v${i}`])) }),
    () => ({
      ...container({}),
      affinity: {
        nodeAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: {
            nodeSelectorTerms: many((i) => ({ matchExpressions: [expression(i)] })),
          },
        },
        podAntiAffinity: {
          preferredDuringSchedulingIgnoredDuringExecution: many((i) => ({
            weight: 1 + (i % 100),
            podAffinityTerm: { topologyKey: "k", labelSelector: selector },
          })),
        },
      },
    }),
    () => ({
      ...container({}),
      topologySpreadConstraints: many((i) => ({
        maxSkew: 1,
        topologyKey: `k${i}`,
        whenUnsatisfiable: "DoNotSchedule",
        labelSelector: selector,
      })),
    }),
  ];
}

function podSpec(random: SeededRandom, more: object = {}): object {
  const first = podPart(random, anySize(random, 12_000));
  return random.chance(0.3)
    ? { ...podPart(random, anySize(random, 3000)), ...first, ...more }
    : { ...first, ...more };
}

const podTemplate = (random: SeededRandom, more: object = {}) => ({
  metadata: { labels },
  spec: podSpec(random, more),
});

/** The members of a valid object of a kind, most of the time. */
const makers: Readonly<Record<string, (random: SeededRandom) => object>> = {
  Pod: (random) => ({ spec: podSpec(random) }),
  PodTemplate: (random) => ({ template: podTemplate(random) }),
  ReplicationController: (random) => ({
    spec: { selector: labels, template: podTemplate(random) },
  }),
  Deployment: (random) => ({ spec: { selector, template: podTemplate(random) } }),
  ReplicaSet: (random) => ({ spec: { selector, template: podTemplate(random) } }),
  DaemonSet: (random) => ({ spec: { selector, template: podTemplate(random) } }),
  StatefulSet: (random) => ({
    spec: {
      selector,
      serviceName: "s",
      template: podTemplate(random),
      volumeClaimTemplates: times(anySize(random, 2000), (i) => ({
        metadata: { name: `v${i}` },
        spec: {
          accessModes: ["ReadWriteOnce"],
          resources: { requests: { storage: quantity(random) } },
        },
      })),
    },
  }),
  Job: (random) => ({ spec: { template: podTemplate(random, { restartPolicy: "Never" }) } }),
  CronJob: (random) => ({
    spec: {
      schedule: random.pick([
        "* * * * *",
        "*/5 1-7 * * *",
        `${"1,".repeat(anySize(random, 9000))}1 * * * *`,
      ]),
      jobTemplate: { spec: { template: podTemplate(random, { restartPolicy: "Never" }) } },
    },
  }),
  HorizontalPodAutoscaler: (random) => ({
    spec: {
      scaleTargetRef: { apiVersion: "apps/v1", kind: "Deployment", name: "d" },
      maxReplicas: 9,
      metrics: times(anySize(random, 9000), (i) => ({
        type: "External",
        external: {
          metric: { name: `m${i}`, selector },
          target: { type: "Value", value: quantity(random) },
        },
      })),
      behavior: {
        scaleUp: {
          policies: times(anySize(random, 9000), () => ({
            type: "Pods",
            value: 1,
            periodSeconds: 1,
          })),
        },
      },
    },
  }),
  Service: (random) => ({
    spec: {
      selector: labels,
      ports: times(anySize(random, 15_000), (i) => ({ name: `p${i}`, port: 1 + (i % 65_535) })),
      externalIPs: times(anySize(random, 9000), (i) => `10.0.${i >> 8}.${i & 255}`),
      loadBalancerSourceRanges: times(anySize(random, 9000), (i) => `10.0.${i >> 8}.0/24`),
      type: random.pick(["ClusterIP", "LoadBalancer", "NodePort"]),
    },
  }),
  Endpoints: (random) => ({
    subsets: times(anySize(random, 3000), (i) => ({
      addresses: times(3, (a) => ({ ip: `10.0.${i >> 8}.${a}`, hostname: `h${i}` })),
      ports: [{ name: "p", port: 80 }],
    })),
  }),
  EndpointSlice: (random) => ({
    addressType: "IPv4",
    endpoints: times(anySize(random, 1000), (i) => ({
      addresses: times(anySize(random, 100), (a) => `10.0.${i >> 8}.${a}`),
      deprecatedTopology: {},
    })),
    ports: times(anySize(random, 20_000), (i) => ({ name: `p${i}`, port: 80 })),
  }),
  LimitRange: (random) => ({
    spec: {
      limits: times(anySize(random, 6000), () => ({
        type: "Container",
        max: { cpu: quantity(random), memory: quantity(random) },
        default: { cpu: quantity(random) },
      })),
    },
  }),
  PersistentVolumeClaim: (random) => ({
    spec: {
      accessModes: times(anySize(random, 15_000), () => "ReadWriteOnce"),
      resources: { requests: { storage: quantity(random) } },
      selector: {
        matchLabels: Object.fromEntries(times(anySize(random, 9000), (i) => [`k${i}`, "v"])),
      },
    },
  }),
  Ingress: (random) => ({
    spec: {
      rules: times(anySize(random, 2000), (i) => ({
        host: `h${i}.example.com`,
        http: {
          paths: times(anySize(random, 8), (p) => ({
            path: `/p${p}`,
            pathType: "Prefix",
            backend: { service: { name: "s", port: { number: 80 } } },
          })),
        },
      })),
      tls: times(anySize(random, 5000), (i) => ({ hosts: [`h${i}.example.com`] })),
    },
  }),
  NetworkPolicy: (random) => ({
    spec: {
      podSelector: selector,
      ingress: times(anySize(random, 2000), (i) => ({
        from: [
          {
            ipBlock: {
              cidr: "10.0.0.0/8",
              except: times(anySize(random, 20), (e) => `10.${e}.0.0/16`),
            },
          },
        ],
        ports: [{ port: 1 + i, endPort: 2 + i, protocol: "TCP" }],
      })),
    },
  }),
  PodDisruptionBudget: (random) => ({
    spec: {
      minAvailable: random.pick<unknown>([1, "50%", `${"9".repeat(300)}%`]),
      selector: {
        matchExpressions: times(anySize(random, 15_000), (i) => ({
          key: `k${i}`,
          operator: "Exists",
        })),
      },
    },
  }),
  ControllerRevision: (random) => ({
    revision: 1,
    data: JSON.parse(anyJson(random, 79_000)) as unknown,
  }),
  StorageClass: (random) => ({
    provisioner: "example.com/p",
    allowedTopologies: times(anySize(random, 3000), (i) => ({
      matchLabelExpressions: [{ key: `k${i}`, values: ["v"] }],
    })),
    parameters: Object.fromEntries(times(anySize(random, 9000), (i) => [`k${i}`, "v"])),
  }),
};

const subresources: Readonly<Record<string, readonly string[]>> = {
  Deployment: ["scale"],
  ReplicaSet: ["scale"],
  StatefulSet: ["scale"],
};

function made(random: SeededRandom, kind: NativeKind, name: string): object {
  const maker = makers[kind.kind];
  const metadata = {
    name,
    labels: { ...labels, ...(random.chance(0.1) ? { "state.workload.kcp.io/t": "Upsync" } : {}) },
  };
  return maker === undefined || random.chance(0.15)
    ? objectOf(random, kind, name)
    : { apiVersion: kind.apiVersion, kind: kind.kind, metadata, ...maker(random) };
}

const defined = (kind: NativeKind): Step => ({
  ...post(definitionsPath, kind.definition),
  waitsForDefinition: true,
});

const changed: Attack = {
  name: "native kinds, made and changed in every way",
  *steps({ random, natives }) {
    const kind = random.pick(natives as [NativeKind, ...NativeKind[]]);
    const { path } = kind;
    yield defined(kind);
    for (let i = random.integer(3); i > 0; i--)
      yield {
        ...get(`${path}?watch=true&timeoutSeconds=60`, random.pick<string>(watchAccepts)),
        ...(random.chance(0.2) ? { isUnread: true } : { isWatched: true }),
      };
    const object = (name: string) => made(random, kind, name);
    for (let i = 1 + random.integer(3); i > 0; i--)
      yield post(
        path + random.pick(["", "", "?dryRun=All", "?fieldValidation=Strict"]),
        object(`o${i}`),
      );
    yield post(path, object("x"));
    const at = `${path}/x`;
    yield patch(`${at}?fieldManager=m&force=true`, "apply-patch+yaml", object("x"));
    for (let i = 2 + random.integer(6); i > 0; i--)
      yield random.pick<() => Step>([
        () => patch(at, "strategic-merge-patch+json", object("x")),
        () => patch(at, "strategic-merge-patch+json", reordered(random, object("x"))),
        () => patch(at, "merge-patch+json", object("x")),
        () => patch(`${at}?fieldManager=n&force=true`, "apply-patch+yaml", object("x")),
        () => patch(`${at}?fieldManager=m`, "apply-patch+yaml", object("x")),
        () => ({ ...post(at, object("x")), method: "PUT" }),
        () => ({ ...post(at, object("x")), method: "PUT", contentType: "application/yaml" }),
        () => patch(at, "merge-patch+json", { metadata: { annotations: { a: "b" } } }),
        () => patch(`${at}/status`, "merge-patch+json", objectOf(random, kind, "x")),
        () =>
          patch(
            `${at}/${random.pick([...(subresources[kind.kind] ?? ["status"])] as [string])}`,
            "merge-patch+json",
            { spec: { replicas: random.pick([0, 3, 2 ** 31 - 1]) } },
          ),
        () => get(at, random.pick<string>(watchAccepts)),
      ])();
    for (const accept of accepts) if (random.chance(0.4)) yield get(path, accept);
    yield { method: "DELETE", path: random.pick([at, path]) };
  },
};

/** The directives of a strategic merge in the longest list of the object. */
function reordered(random: SeededRandom, object: object): object {
  const longest = longestList(object);
  if (longest === undefined) return object;
  const { parent, name, list } = longest;
  const key = ["name", "uid", "containerPort", "mountPath", "port", "ip", "key"].find((each) =>
    Object.hasOwn(list[0] ?? {}, each),
  );
  if (key === undefined) return object;
  const order = list.map((item) => ({ [key]: item[key] })).reverse();
  if (random.chance(0.7)) parent[`$setElementOrder/${name}`] = order;
  if (random.chance(0.5)) parent[name] = order.map((item) => ({ ...item, $patch: "delete" }));
  return object;
}

interface LongList {
  readonly parent: Record<string, unknown>;
  readonly name: string;
  readonly list: readonly Readonly<Record<string, unknown>>[];
}

function longestList(value: object): LongList | undefined {
  let longest: LongList | undefined;
  for (const [name, member] of Object.entries(value)) {
    if (typeof member !== "object" || member === null) continue;
    const found = longestList(member as object);
    if (found !== undefined && found.list.length > (longest?.list.length ?? 0)) longest = found;
    if (Array.isArray(member) && typeof member[0] === "object" && !Array.isArray(value)) {
      if (member.length > (longest?.list.length ?? 0))
        longest = { parent: value as Record<string, unknown>, name, list: member };
    }
  }
  return longest;
}

const many: Attack = {
  name: "many native objects, listed and deleted",
  *steps({ random, natives }) {
    const kind = random.pick(natives as [NativeKind, ...NativeKind[]]);
    const { path } = kind;
    yield defined(kind);
    for (let i = random.integer(4); i > 0; i--)
      yield {
        ...get(`${path}?watch=true&timeoutSeconds=60`, random.pick<string>(watchAccepts)),
        isWatched: true,
      };
    for (let i = anySize(random, 40); i > 0; i--) yield post(path, made(random, kind, `o${i}`));
    for (const query of ["", "?limit=3", "?labelSelector=app%3Da", "?resourceVersion=0"])
      yield get(path + query, random.pick<string>(accepts));
    yield { method: "DELETE", path: `${definitionsPath}/${nameOf(kind)}` };
  },
};

function nameOf({ definition }: NativeKind): string {
  return (definition as { metadata: { name: string } }).metadata.name;
}

export const nativeAttacks: readonly Attack[] = [changed, many];
