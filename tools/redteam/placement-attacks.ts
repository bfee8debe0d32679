/**
 * Placement over many simulated clusters: policies, overrides, spec diffs, exports of Services, and
 * reviews that plan what would move. The tenant writes the status of its own SyncTargets, so that
 * they are Ready and nothing syncs to them.
 */
import type { SeededRandom } from "@kcp-ts/testkit";
import { definitionsPath } from "../bench/hold-case.ts";
import {
  type Attack,
  anyJson,
  anySize,
  get,
  patch,
  post,
  type Step,
  type StepResponse,
  times,
} from "./attack.ts";
import type { NativeKind } from "./native-kinds.ts";

const workload = "/apis/workload.kcp.io/v1alpha1";
const scheduling = "/apis/scheduling.kcp.io/v1alpha1";
const deployments = "/apis/apps/v1/namespaces/default/deployments";

type Steps = Generator<Step, void, StepResponse>;

const regions = (random: SeededRandom, i: number) => ({
  "topology.kubernetes.io/region": `r${i % (1 + random.integer(20))}`,
  "topology.kubernetes.io/zone": `z${i}`,
});

const since = new Date(0).toISOString();
const isTrue = (type: string) => ({
  type,
  status: "True",
  reason: type,
  message: "",
  lastTransitionTime: since,
});

/** Of a cluster that is Ready, with up to `details` entries in each of its lists. */
function clusterStatus(random: SeededRandom, details: number): object {
  const amounts = Object.fromEntries(
    times(anySize(random, details), (i) => [i === 0 ? "cpu" : `example.com/r${i}`, "1000"]),
  );
  return {
    conditions: [isTrue("Ready"), isTrue("HeartbeatHealthy")],
    syncedResources: ["deployments.apps", "services", "pods"],
    capacity: amounts,
    allocatable: amounts,
  };
}

const syncTarget = (random: SeededRandom, i: number, details: number) => ({
  apiVersion: "workload.kcp.io/v1alpha1",
  kind: "SyncTarget",
  metadata: { name: `c${i}`, labels: regions(random, i) },
  spec: {
    mode: "None",
    resources: ["deployments.apps", "services", "pods"],
    taints: times(random.integer(details), (t) => ({ key: `t${t}`, effect: "PreferNoSchedule" })),
  },
});

function* served(natives: readonly NativeKind[], names: readonly string[]): Steps {
  for (const { kind, definition } of natives)
    if (names.includes(kind))
      yield { ...post(definitionsPath, definition), waitsForDefinition: true };
}

function* simulatedClusters(random: SeededRandom, count: number, details: number): Steps {
  for (let i = 0; i < count; i++) {
    yield post(`${workload}/synctargets`, syncTarget(random, i, details));
    yield patch(`${workload}/synctargets/c${i}/status`, "merge-patch+json", {
      status: clusterStatus(random, details),
    });
  }
}

function anySelector(random: SeededRandom, greatest: number): object {
  return random.pick<() => object>([
    () => ({}),
    () => ({
      matchLabels: Object.fromEntries(times(anySize(random, greatest), (i) => [`l${i}`, "v"])),
    }),
    () => ({
      matchExpressions: times(anySize(random, greatest / 10), (i) => ({
        key: i === 0 ? "topology.kubernetes.io/region" : `l${i}`,
        operator: random.pick(["NotIn", "DoesNotExist"]),
        values: times(anySize(random, 100), (v) => `v${v}`),
      })),
    }),
  ])();
}

/** Operations that apply to the spec of a Deployment, and some that do not. */
function anyPatch(random: SeededRandom): readonly object[] {
  const path = (i: number) => `/template/metadata/annotations/k${i}`;
  return random.pick<() => readonly object[]>([
    () => times(anySize(random, 2000), (i) => ({ op: "add", path: path(i), value: "v" })),
    () => [{ op: "add", path: path(0), value: JSON.parse(anyJson(random, 3000)) as unknown }],
    () => times(anySize(random, 300), (i) => ({ op: "copy", from: "/template", path: path(i) })),
    () =>
      times(anySize(random, 2000), () => ({
        op: "add",
        path: "/template/spec/containers/0",
        value: { name: "x", image: "i" },
      })),
    () => times(anySize(random, 2000), () => ({ op: "test", path: "", value: {} })),
  ])();
}

function anyOverrides(random: SeededRandom): readonly object[] {
  return times(anySize(random, 60), () => ({
    clusterSelector: anySelector(random, 100),
    patches: anyPatch(random),
  }));
}

const placement = (random: SeededRandom, name: string, greatest: number) => ({
  apiVersion: "scheduling.kcp.io/v1alpha1",
  kind: "Placement",
  metadata: { name },
  spec: {
    namespaceSelector: random.chance(0.7) ? {} : anySelector(random, greatest),
    ...(random.chance(0.3) ? { workloadSelector: anySelector(random, greatest) } : {}),
    ...(random.chance(0.3)
      ? { locationSelectors: times(anySize(random, 100), () => anySelector(random, greatest)) }
      : {}),
    weights: Object.fromEntries(times(anySize(random, greatest), (i) => [`c${i}`, i % 9])),
    spread: times(random.integer(8), (i) => ({
      topologyKey: i === 0 ? "topology.kubernetes.io/region" : "topology.kubernetes.io/zone",
      maxSkew: 1 + i,
    })),
    tolerations: times(anySize(random, greatest), (i) => ({ key: `t${i}`, operator: "Exists" })),
    affinity: times(random.integer(6), () => ({ workloadSelector: anySelector(random, greatest) })),
    antiAffinity: times(random.integer(6), () => ({
      workloadSelector: anySelector(random, greatest),
      topologyKey: "topology.kubernetes.io/region",
    })),
    ...(random.chance(0.3) && greatest > 30 ? { overrides: anyOverrides(random) } : {}),
  },
});

const location = (random: SeededRandom, name: string, greatest: number) => ({
  apiVersion: "scheduling.kcp.io/v1alpha1",
  kind: "Location",
  metadata: { name, labels: { l0: "v" } },
  spec: {
    resource: { group: "workload.kcp.io", version: "v1alpha1", resource: "synctargets" },
    instanceSelector: anySelector(random, greatest),
    resourceLimits: Object.fromEntries(
      times(anySize(random, greatest), (i) => [i === 0 ? "cpu" : `example.com/r${i}`, "5"]),
    ),
  },
});

function deployment(
  random: SeededRandom,
  name: string,
  { more = {}, fieldsMax = 2000 }: { readonly more?: object; readonly fieldsMax?: number } = {},
): object {
  const labels = { app: name };
  const fields = anySize(random, fieldsMax);
  return {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name, namespace: "default", labels, ...more },
    spec: {
      replicas: random.pick([0, 1, 7, 1000, 2 ** 31 - 1]),
      selector: { matchLabels: labels },
      template: {
        metadata: { labels, annotations: Object.fromEntries(times(fields, (i) => [`a${i}`, "v"])) },
        spec: { containers: [{ name: "c", image: "i", resources: { requests: { cpu: "1" } } }] },
      },
    },
  };
}

const policies: Attack = {
  name: "placements and locations over simulated clusters",
  *steps({ random, natives }) {
    yield* served(natives, ["Deployment"]);
    const count = 1 + random.integer(40);
    const details = anySize(random, 200);
    yield* simulatedClusters(random, count, details);
    const greatest = anySize(random, 3000);
    for (let i = 0; i < 1 + random.integer(4); i++) {
      yield post(`${scheduling}/locations`, location(random, `l${i}`, greatest));
      yield post(`${scheduling}/placements`, placement(random, `p${i}`, greatest));
    }
    for (let i = 0; i < 3; i++) {
      yield post(deployments, deployment(random, `d${i}`));
      yield get(`${scheduling}/namespaces/default/workloadplacements`);
    }
    const drained = `${workload}/synctargets/c0`;
    yield patch(drained, "merge-patch+json", { spec: { unschedulable: true, drain: {} } });
    yield patch(`${deployments}/d0`, "merge-patch+json", { spec: { replicas: 3 } });
    yield patch(
      `${scheduling}/namespaces/default/workloadplacements/deployment-d0/status`,
      "merge-patch+json",
      {
        status: { clusters: times(anySize(random, 3000), (i) => ({ name: `c${i}`, desired: 1 })) },
      },
    );
    yield { method: "DELETE", path: deployments };
    yield { method: "DELETE", path: `${workload}/synctargets` };
  },
};

const perCluster: Attack = {
  name: "overrides and spec diffs for simulated clusters",
  *steps({ random, natives }) {
    yield* served(natives, ["Deployment"]);
    const count = 1 + random.integer(60);
    yield* simulatedClusters(random, count, 3);
    yield post(`${scheduling}/placements`, {
      apiVersion: "scheduling.kcp.io/v1alpha1",
      kind: "Placement",
      metadata: { name: "all" },
      spec: { namespaceSelector: {} },
    });
    const text = (value: unknown, most: number) => JSON.stringify(value).slice(0, most);
    const overridden = {
      annotations: { "workload.kcp.io/overrides": text(anyOverrides(random), 65_536) },
    };
    yield post(deployments, deployment(random, "overridden", { more: overridden }));
    const labels = Object.fromEntries(times(count, (i) => [`state.workload.kcp.io/c${i}`, "Sync"]));
    const diffs = Object.fromEntries(
      times(count, (i) => [
        `experimental.spec-diff.workload.kcp.io/c${i}`,
        text(anyPatch(random), Math.floor(250_000 / count)),
      ]),
    );
    yield post(
      deployments,
      deployment(random, "assigned", { more: { labels, annotations: diffs } }),
    );
    yield patch(`${deployments}/assigned`, "merge-patch+json", {
      spec: { template: { metadata: { annotations: { more: "v" } } } },
    });
    yield get(`${deployments}?limit=500`);
    yield { method: "DELETE", path: deployments };
  },
};

/** An object of a plan: of each kind that a review accepts, or malformed. */
function planned(random: SeededRandom, i: number, greatest: number): unknown {
  const details = Math.max(1, Math.min(200, greatest >> 2));
  const ready = () => ({
    ...syncTarget(random, i, details),
    status: clusterStatus(random, details),
  });
  return random.pick<() => unknown>([
    ready,
    ready,
    () => deployment(random, `p${i}`, { fieldsMax: greatest }),
    () => placement(random, `p${i}`, Math.min(details, 30)),
    () => location(random, `p${i}`, details),
    () => ({ apiVersion: "v1", kind: "Namespace", metadata: { name: `n${i}` } }),
    ...(random.chance(0.01)
      ? [() => ({ kind: "Deployment", metadata: JSON.parse(anyJson(random, 9)) as unknown })]
      : []),
  ])();
}

const reviews: Attack = {
  name: "placement reviews of many planned objects",
  *steps({ random, natives }) {
    yield* served(natives, ["Deployment"]);
    yield* simulatedClusters(random, random.integer(10), 3);
    for (let i = 0; i < random.integer(4); i++)
      yield post(deployments, deployment(random, `d${i}`));
    const review = (spec: object) =>
      post(`${workload}/placementreviews`, {
        apiVersion: "workload.kcp.io/v1alpha1",
        kind: "PlacementReview",
        spec,
      });
    for (let i = 0; i < 4; i++) {
      const count = random.pick([1, 30, 250, 500]);
      const greatest = Math.floor(12_000 / count);
      const areMixed = random.chance(0.4);
      const objects = times(count, (n) =>
        areMixed || n % 2 === 0
          ? planned(random, n, greatest)
          : deployment(random, `p${n}`, { fieldsMax: greatest }),
      );
      yield review({ plan: { objects } });
    }
    yield review({ plan: { join: syncTarget(random, 1000, 2) } });
    yield review({ plan: { join: JSON.parse(anyJson(random, 30_000)) as unknown } });
    yield review({ plan: { drain: "c0" } });
    yield review({ plan: { loss: "x".repeat(253) } });
    yield review({
      explain: { resource: "deployments", group: "apps", namespace: "default", name: "d0" },
    });
    yield review({ clusters: { selector: times(anySize(random, 900), (i) => `l${i}!=v`).join() } });
  },
};

const names = (random: SeededRandom, most: number, prefix = "n") =>
  times(anySize(random, most), (i) => `${prefix}${i}`);
const map = (random: SeededRandom, most: number) =>
  Object.fromEntries(names(random, most).map((name) => [name, "v"]));

function* shared(random: SeededRandom): Steps {
  const group = "topology.kcp.io/v1alpha1";
  yield post(`/apis/${group}/partitions`, {
    apiVersion: group,
    kind: "Partition",
    metadata: { name: "p" },
    spec: { selector: anySelector(random, 5000) },
  });
  yield post(`/apis/${group}/partitionsets`, {
    apiVersion: group,
    kind: "PartitionSet",
    metadata: { name: "p" },
    spec: { dimensions: names(random, 5000, "d"), shardSelector: anySelector(random, 5000) },
  });
  yield post(`${workload}/syncpolicies`, {
    apiVersion: "workload.kcp.io/v1alpha1",
    kind: "SyncPolicy",
    metadata: { name: "p" },
    spec: {
      syncTargets: names(random, 5000, "c"),
      resources: names(random, 300, "r").map((resource) => ({
        resource,
        group: "example.com",
        conflictingFields: names(random, 100, "spec.f").map((path) => ({
          path,
          resolution: "Upsync",
        })),
        omittedFields: names(random, 100, "spec.o"),
        renamedObjects: map(random, 100),
      })),
    },
  });
  yield post("/api/v1/namespaces/default/services", {
    apiVersion: "v1",
    kind: "Service",
    metadata: { name: "s", labels: map(random, 1000) },
    spec: {
      selector: map(random, 1000),
      ports: times(anySize(random, 3000), (i) => ({ name: `p${i}`, port: 1 + i })),
    },
  });
  const exported = "/apis/multicluster.x-k8s.io/v1alpha1/namespaces/default/serviceexports";
  yield post(exported, {
    apiVersion: "multicluster.x-k8s.io/v1alpha1",
    kind: "ServiceExport",
    metadata: { name: "s" },
    spec: { exportedLabels: map(random, 5000), exportedAnnotations: map(random, 5000) },
  });
}

function* fairness(random: SeededRandom): Steps {
  const version = "flowcontrol.apiserver.k8s.io/v1";
  yield post(`/apis/${version}/flowschemas`, {
    apiVersion: version,
    kind: "FlowSchema",
    metadata: { name: "f" },
    spec: {
      priorityLevelConfiguration: { name: "workload-low" },
      matchingPrecedence: 1 + random.integer(9999),
      rules: times(anySize(random, 2000), (i) => ({
        subjects: [{ kind: "User", user: { name: `u${i}` } }],
        resourceRules: [
          { verbs: ["*"], apiGroups: ["*"], resources: names(random, 50, "r"), clusterScope: true },
        ],
      })),
    },
  });
}

function* workspaces(random: SeededRandom, workspace: string): Steps {
  const tenancy = "/apis/tenancy.kcp.io/v1alpha1";
  yield post(`${tenancy}/workspacetypes`, {
    apiVersion: "tenancy.kcp.io/v1alpha1",
    kind: "WorkspaceType",
    metadata: { name: "held" },
    spec: {
      initializer: true,
      terminator: true,
      additionalWorkspaceLabels: map(random, 1000),
      initializerPermissions: times(anySize(random, 2000), (i) => ({
        apiGroups: [`g${i}`],
        resources: names(random, 20),
        verbs: ["get"],
      })),
      defaultAPIBindings: names(random, 500).map((name) => ({ path: "root", export: name })),
    },
  });
  yield post(`${tenancy}/workspaces`, {
    apiVersion: "tenancy.kcp.io/v1alpha1",
    kind: "Workspace",
    metadata: { name: "held" },
    spec: { type: { name: "held", path: `root:${workspace}` } },
  });
  const cluster = "/apis/core.kcp.io/v1alpha1/logicalclusters/cluster";
  for (const verb of ["initializing", "terminating"]) {
    const path = `/services/${verb}workspaces/root:${workspace}:held/clusters/root:${workspace}:held${cluster}`;
    yield { ...get(path), isFromRoot: true };
    yield {
      ...patch(`${path}/status`, "merge-patch+json", {
        status: { initializers: names(random, 5000) },
      }),
      isFromRoot: true,
    };
  }
  yield { method: "DELETE", path: `${tenancy}/workspaces/held` };
}

const kinds: Attack = {
  name: "kinds of sharing, serving and fairness with lists of any length",
  *steps({ random, natives, workspace }) {
    yield* served(natives, ["Service", "EndpointSlice"]);
    yield* simulatedClusters(random, 1 + random.integer(5), 3);
    yield* shared(random);
    yield* fairness(random);
    yield* workspaces(random, workspace);
  },
};

export const placementAttacks: readonly Attack[] = [policies, perCluster, reviews, kinds];
