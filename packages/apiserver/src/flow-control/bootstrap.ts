/**
 * The default PriorityLevelConfigurations and FlowSchemas: those of Kubernetes, as data.
 *
 * All logical clusters share them, and the cluster `root` stores them (`bootstrap-ensurer.ts`);
 * stored objects replace the ones listed here. Kubernetes' schemas for service accounts of
 * kube-system are omitted: every tenant has a kube-system of its own here, and would raise its own
 * priority with them.
 */
import { createHash } from "node:crypto";
import type { JsonObject } from "@kcp-ts/machinery/json";

const apiVersion = "flowcontrol.apiserver.k8s.io/v1";

export const bootstrapPriorityLevels: readonly JsonObject[] = [
  level("exempt", { type: "Exempt", exempt: { nominalConcurrencyShares: 0, lendablePercent: 0 } }),
  limited("system", 30, 33, 64),
  limited("node-high", 40, 25, 64),
  limited("leader-election", 10, 0, 16, 4),
  limited("workload-high", 40, 50, 128),
  limited("workload-low", 100, 90, 128),
  limited("global-default", 20, 50, 128),
  level("catch-all", {
    type: "Limited",
    limited: { nominalConcurrencyShares: 5, lendablePercent: 0, limitResponse: { type: "Reject" } },
  }),
];

const everything = {
  resourceRules: [
    { verbs: ["*"], apiGroups: ["*"], resources: ["*"], namespaces: ["*"], clusterScope: true },
  ],
  nonResourceRules: [{ verbs: ["*"], nonResourceURLs: ["*"] }],
} as const;
const anybody = [group("system:unauthenticated"), group("system:authenticated")];
const leases = [
  {
    verbs: ["get", "create", "update"],
    apiGroups: ["coordination.k8s.io"],
    resources: ["leases"],
    namespaces: ["*"],
  },
];

export const bootstrapFlowSchemas: readonly JsonObject[] = [
  schema("exempt", "exempt", 1, undefined, [
    { subjects: [group("system:masters")], ...everything },
  ]),
  schema("probes", "exempt", 2, undefined, [
    {
      subjects: anybody,
      nonResourceRules: [{ verbs: ["get"], nonResourceURLs: ["/healthz", "/readyz", "/livez"] }],
    },
  ]),
  schema("system-leader-election", "leader-election", 100, "ByUser", [
    {
      subjects: [user("system:kube-controller-manager"), user("system:kube-scheduler")],
      resourceRules: leases,
    },
  ]),
  schema("workload-leader-election", "leader-election", 200, "ByUser", [
    { subjects: [group("system:serviceaccounts")], resourceRules: leases },
  ]),
  schema("system-node-high", "node-high", 400, "ByUser", [
    {
      subjects: [group("system:nodes")],
      resourceRules: [
        {
          verbs: ["*"],
          apiGroups: [""],
          resources: ["nodes", "nodes/status"],
          namespaces: ["*"],
          clusterScope: true,
        },
        {
          verbs: ["*"],
          apiGroups: ["coordination.k8s.io"],
          resources: ["leases"],
          namespaces: ["*"],
        },
      ],
    },
  ]),
  schema("system-nodes", "system", 500, "ByUser", [
    { subjects: [group("system:nodes")], ...everything },
  ]),
  // Requests of administrators are served while tenants overload the server.
  schema("kcp-administrators", "system", 700, "ByUser", [
    { subjects: [group("system:kcp:admin")], ...everything },
  ]),
  schema("kube-controller-manager", "workload-high", 800, "ByNamespace", [
    { subjects: [user("system:kube-controller-manager")], ...everything },
  ]),
  schema("kube-scheduler", "workload-high", 800, "ByNamespace", [
    { subjects: [user("system:kube-scheduler")], ...everything },
  ]),
  schema("service-accounts", "workload-low", 9000, "ByUser", [
    { subjects: [group("system:serviceaccounts")], ...everything },
  ]),
  schema("global-default", "global-default", 9900, "ByUser", [
    { subjects: anybody, ...everything },
  ]),
  schema("catch-all", "catch-all", 10_000, "ByUser", [{ subjects: anybody, ...everything }]),
];

function level(name: string, spec: JsonObject): JsonObject {
  return { apiVersion, kind: "PriorityLevelConfiguration", metadata: metadataOf(name, "l"), spec };
}

function limited(
  name: string,
  nominalConcurrencyShares: number,
  lendablePercent: number,
  queues: number,
  handSize = 6,
): JsonObject {
  const queuing = { queues, handSize, queueLengthLimit: 50 };
  const limitResponse = { type: "Queue", queuing };
  return level(name, {
    type: "Limited",
    limited: { nominalConcurrencyShares, lendablePercent, limitResponse },
  });
}

function schema(
  name: string,
  levelName: string,
  matchingPrecedence: number,
  distinguisher: "ByUser" | "ByNamespace" | undefined,
  rules: readonly JsonObject[],
): JsonObject {
  return {
    apiVersion,
    kind: "FlowSchema",
    metadata: metadataOf(name, "s"),
    spec: {
      priorityLevelConfiguration: { name: levelName },
      matchingPrecedence,
      ...(distinguisher === undefined ? {} : { distinguisherMethod: { type: distinguisher } }),
      rules,
    },
  };
}

function user(name: string): JsonObject {
  return { kind: "User", user: { name } };
}

function group(name: string): JsonObject {
  return { kind: "Group", group: { name } };
}

/**
 * Response headers contain the uids, which must be the same in every process; they are derived from
 * the names (RFC 9562, version 8).
 */
function metadataOf(name: string, kind: "l" | "s"): JsonObject {
  const hex = createHash("sha256").update(`${kind}/${name}`).digest("hex");
  const uid = [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `8${hex.slice(13, 16)}`,
    `8${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join("-");
  return { name, uid };
}
