import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseLabelSelector } from "@kcp-ts/machinery/selectors";
import type { Placement, ResourceLimits } from "../api/index.ts";
import type { ExistingWorkload } from "./affinity.ts";
import type { ClusterCandidate } from "./candidate.ts";
import { filterAndScore, type SchedulingInput } from "./filter-and-score.ts";
import { type ApplicablePlacement, applicablePlacements, type Policy, policyOf } from "./policy.ts";
import { parseResourceAmounts } from "./resource-amounts.ts";
import { messagesOf } from "./rules.ts";
import { reservationOf, schedulableWorkloadOf } from "./workload.ts";
import type { LocationInstance, LocationLimits } from "./workspace-locations.ts";

const resource = "deployments.apps";
const container = (requests: object) => ({ name: "web", resources: { requests } });
const web = (spec: object = { containers: [container({ cpu: "500m", memory: "1Gi" })] }) =>
  schedulableWorkloadOf(
    {
      metadata: { namespace: "demo", name: "web", labels: { app: "web" } },
      spec: { template: { spec } } as never,
    },
    { resource },
  );

const east: ClusterCandidate = { name: "east", labels: { region: "us" } };
const west: ClusterCandidate = { name: "west", labels: { region: "eu" } };

function results(input: Partial<SchedulingInput> = {}) {
  const currentReplicas = () => ({ replicas: 0, available: 0 });
  const found = { workload: web(), candidates: [east, west], currentReplicas, ...input };
  return new Map(
    [...filterAndScore(found).clusters].map(([name, result]) => [
      name,
      {
        ...result,
        evictionReasons: messagesOf(result, "Evict"),
        filterReasons: messagesOf(result, "Reject"),
        preferences: messagesOf(result, "Prefer"),
      },
    ]),
  );
}

const policy = (more: Partial<Policy>): Policy => ({ sources: [], ...more });

describe("filters and weights of clusters", () => {
  it("a workload without rules may use every cluster with equal weight", () => {
    for (const {
      evictionReasons: expelled,
      filterReasons: refused,
      weight,
      maxReplicas: room,
    } of results().values())
      assert.deepEqual(
        { expelled, refused, weight, room },
        { expelled: [], refused: [], weight: 1, room: undefined },
      );
  });

  it("taints filter clusters, and tolerations permit them", () => {
    const tainted = (effect: "NoSchedule" | "NoExecute" | "PreferNoSchedule") => ({
      ...east,
      taints: [{ key: "dedicated", value: "gpu", effect }],
    });
    const found = (effect: Parameters<typeof tainted>[0], more: Partial<SchedulingInput> = {}) =>
      results({ candidates: [tainted(effect), west], ...more });
    const said = ["untolerated taint dedicated=gpu:NoSchedule"];
    assert.deepEqual(found("NoSchedule").get("east")?.filterReasons, said);
    assert.deepEqual(found("NoSchedule").get("east")?.evictionReasons, []);
    assert.equal(found("NoExecute").get("east")?.evictionReasons.length, 1);
    const preferred = found("PreferNoSchedule");
    assert.deepEqual([preferred.get("east")?.weight, preferred.get("west")?.weight], [1, 10]);
    const exact = policy({ tolerations: [{ key: "dedicated", value: "gpu" }] });
    assert.deepEqual(found("NoSchedule", { policy: exact }).get("east")?.filterReasons, []);
    const other = policy({ tolerations: [{ key: "dedicated", value: "cpu" }] });
    assert.equal(found("NoSchedule", { policy: other }).get("east")?.filterReasons.length, 1);
    const wrongEffect = policy({
      tolerations: [{ operator: "Exists", key: "dedicated", effect: "NoExecute" }],
    });
    assert.equal(found("NoSchedule", { policy: wrongEffect }).get("east")?.filterReasons.length, 1);
    const all = web({ containers: [], tolerations: [{ operator: "Exists" }] });
    assert.deepEqual(found("NoExecute", { workload: all }).get("east")?.evictionReasons, []);
  });

  it("a cluster that does not serve the kind is filtered out", () => {
    const candidates = [
      { ...east, resources: ["services"] },
      { ...west, resources: [resource] },
    ];
    const found = results({ candidates });
    assert.match(found.get("east")?.filterReasons[0] ?? "", /does not serve deployments\.apps/);
    assert.deepEqual(found.get("west")?.filterReasons, []);
  });

  it("annotations of the object take precedence over the policy", () => {
    const selectedLocation = {
      placement: "p",
      location: "eu",
      includes: ({ labels }: LocationInstance) => labels?.["region"] === "eu",
    };
    const chosen = policy({ selectedLocation, weights: { east: 5 } });
    const found = results({ policy: chosen });
    assert.deepEqual(found.get("east")?.evictionReasons, ["not in Location eu of Placement p"]);
    assert.equal(found.get("east")?.weight, 5);
    const preferences = {
      selector: parseLabelSelector("region=us"),
      weights: new Map([["west", 0]]),
    };
    const own = results({ policy: chosen, preferences });
    assert.deepEqual([own.get("east")?.evictionReasons, own.get("east")?.weight], [[], 1]);
    assert.equal(own.get("west")?.evictionReasons.length, 2);
  });

  it("a Placement without a Location filters every cluster for new replicas, and moves none", () => {
    const selectedLocation = { placement: "p", location: undefined, includes: () => true };
    for (const { filterReasons, evictionReasons } of results({
      policy: policy({ selectedLocation }),
    }).values())
      assert.deepEqual([filterReasons, evictionReasons], [["Placement p has no Location"], []]);
  });
});

describe("affinity between workloads", () => {
  const cache: ExistingWorkload = { name: "cache", labels: { app: "cache" }, clusters: ["east"] };
  const term = { workloadSelector: { matchLabels: { app: "cache" } }, topologyKey: "region" };
  const existingWorkloads = [cache];

  it("preferred affinity and anti-affinity change the weights of domains", () => {
    const near = results({ existingWorkloads, policy: policy({ affinity: [term] }) });
    assert.deepEqual([near.get("east")?.weight, near.get("west")?.weight], [10, 1]);
    assert.equal(near.get("west")?.preferences[0], "no workload app=cache is in this region");
    const apart = results({ existingWorkloads, policy: policy({ antiAffinity: [term] }) });
    assert.deepEqual([apart.get("east")?.weight, apart.get("west")?.weight], [1, 10]);
  });

  it("required affinity filters clusters for new replicas, and moves none", () => {
    const required = { ...term, required: true };
    const apart = results({ existingWorkloads, policy: policy({ antiAffinity: [required] }) });
    assert.deepEqual(apart.get("east")?.evictionReasons, []);
    assert.deepEqual(apart.get("east")?.filterReasons, [
      "cache is in this region, to be kept apart from",
    ]);
    assert.deepEqual(apart.get("west")?.filterReasons, []);
  });

  it("affinity has no effect while its targets are unscheduled", () => {
    const required = { ...term, required: true };
    for (const others of [[], [{ ...cache, clusters: [] }]]) {
      const found = results({
        existingWorkloads: others,
        policy: policy({ affinity: [required] }),
      });
      for (const { filterReasons } of found.values()) assert.deepEqual(filterReasons, []);
    }
  });
});

describe("required affinity whose target has moved", () => {
  const required = {
    workloadSelector: { matchLabels: { app: "cache" } },
    topologyKey: "region",
    required: true,
  };
  const cache = (...clusters: string[]): ExistingWorkload => ({
    name: "cache",
    labels: { app: "cache" },
    clusters,
    isAffinityTarget: true,
  });
  const near = (
    existingWorkloads: readonly ExistingWorkload[],
    more: Partial<SchedulingInput> = {},
  ) => {
    const currentReplicas = (name: string) => ({ replicas: name === "east" ? 2 : 0, available: 2 });
    return results({
      existingWorkloads,
      policy: policy({ affinity: [required] }),
      currentReplicas,
      ...more,
    });
  };
  const reason = "no workload app=cache is in this region";

  it("a workload follows its affinity target", () => {
    const stays = near([cache("east", "west")]);
    assert.deepEqual(stays.get("east")?.evictionReasons, []);
    const goes = near([cache("west")]);
    assert.deepEqual(goes.get("east")?.evictionReasons, [reason]);
    assert.deepEqual(
      [goes.get("west")?.evictionReasons, goes.get("west")?.filterReasons],
      [[], []],
    );
  });

  it("a workload does not follow a target in an Unreachable cluster, and stays if it has no other", () => {
    const unreachableClusters = new Set(["east"]);
    const goes = near([{ ...cache("east", "west"), unreachableClusters }]);
    assert.deepEqual(goes.get("east")?.evictionReasons, [reason]);
    const stays = near([{ ...cache("east"), unreachableClusters }]);
    for (const { evictionReasons, filterReasons } of stays.values())
      assert.deepEqual([evictionReasons, filterReasons], [[], []]);
  });

  it("a workload stays while the target's cluster lacks capacity for all of it", () => {
    const small = { ...west, resourceLimits: { pods: "1" } as ResourceLimits };
    const stays = near([cache("west")], { candidates: [east, small] });
    assert.deepEqual(stays.get("east")?.evictionReasons, []);
    // The cluster is filtered out for new replicas, as before.
    assert.deepEqual(stays.get("east")?.filterReasons, [reason]);
    const fits = near([cache("west")], {
      candidates: [east, { ...west, resourceLimits: { pods: "2" } as ResourceLimits }],
    });
    assert.deepEqual(fits.get("east")?.evictionReasons, [reason]);
  });

  it("a move that has used up the capacity continues, for affinity and for anti-affinity", () => {
    const both = () => ({ replicas: 2, available: 2 });
    const fits = { ...west, resourceLimits: { pods: "2" } as ResourceLimits };
    const half = { candidates: [east, fits], currentReplicas: both, desiredReplicas: 2 };
    assert.deepEqual(near([cache("west")], half).get("east")?.evictionReasons, [reason]);
    const antiAffinity = [required];
    const existingWorkloads = [{ ...cache("east"), hasPrecedence: true }];
    const apart = results({ ...half, existingWorkloads, policy: policy({ antiAffinity }) });
    assert.equal(apart.get("east")?.evictionReasons.length, 1);
  });

  it("a workload follows no target that follows it", () => {
    const stays = near([{ ...cache("west"), isAffinityTarget: false }]);
    assert.deepEqual(stays.get("east")?.evictionReasons, []);
    // The workload does not follow one of these either, when that one follows another.
    const north: ClusterCandidate = { name: "north", labels: { region: "north" } };
    const follower = { ...cache("north"), name: "other", isAffinityTarget: false };
    const goes = near([cache("west"), follower], { candidates: [east, west, north] });
    assert.deepEqual(goes.get("east")?.evictionReasons, [reason]);
    assert.deepEqual(
      [goes.get("west")?.filterReasons, goes.get("north")?.filterReasons],
      [[], [reason]],
    );
  });
});

describe("available replicas", () => {
  const used = (quantities: Record<string, string>) => ({
    inCluster: () => (resource: string) => parseResourceAmounts(quantities).get(resource) ?? 0,
    byWorkspace: () => parseResourceAmounts(quantities),
  });
  const allocatable = { cpu: "4", memory: "6Gi", pods: "110" };
  const room = (candidate: Partial<ClusterCandidate>, input: Partial<SchedulingInput> = {}) =>
    results({ candidates: [{ ...east, ...candidate }], ...input }).get("east")?.maxReplicas;

  it("available replicas are limited by the scarcest resource", () => {
    assert.equal(room({ allocatable })?.replicas, 6);
    const left = room({ allocatable }, { usage: used({ cpu: "3" }) });
    assert.equal(left?.replicas, 2);
    assert.equal(left?.reason, "Insufficient cpu");
    assert.equal(left?.detail, "3 of 4 reserved by other workloads, each replica requests 500m");
    assert.equal(room({ allocatable }, { usage: used({ pods: "200" }) })?.replicas, 0);
  });

  it("resource limits of a SyncTarget override the reported capacity, up or down", () => {
    assert.equal(room({ allocatable, resourceLimits: { cpu: 1 } })?.replicas, 2);
    assert.equal(
      room({ allocatable, resourceLimits: { cpu: 100, memory: "100Gi" } })?.replicas,
      100,
    );
    assert.equal(room({ resourceLimits: { pods: 3 } })?.replicas, 3);
    const full = room({ resourceLimits: { workloads: 2 } }, { usage: used({ workloads: "2" }) });
    assert.deepEqual(full, {
      replicas: 0,
      reason: "workload limit reached: 2/2 (SyncTarget east)",
    });
    const currentReplicas = () => ({ replicas: 1, available: 0 });
    assert.equal(
      room(
        { resourceLimits: { workloads: 2 } },
        { usage: used({ workloads: "2" }), currentReplicas },
      ),
      undefined,
    );
  });

  it("available replicas are unlimited where a cluster reports no capacity, except for extended resources", () => {
    assert.equal(room({}), undefined);
    assert.equal(room({ allocatable: {} }), undefined);
    const gpu = web({ containers: [container({ "example.com/gpu": 1 })] });
    assert.equal(room({ allocatable: { cpu: "4" } }, { workload: gpu })?.replicas, 0);
    assert.equal(room({}, { workload: gpu }), undefined);
  });

  it("running replicas keep their capacity, whatever the sums are", () => {
    const currentReplicas = () => ({ replicas: 5, available: 3 });
    const usage = used({ cpu: "4" });
    assert.equal(room({ allocatable }, { usage, currentReplicas })?.replicas, 3);
  });

  it("the limits of a Location apply to a workspace over all clusters together", () => {
    const allowance = (
      resourceLimits: ResourceLimits,
      includes = (_: LocationInstance) => true,
    ) => ({ location: "l", resourceLimits, includes });
    const found = (...locationLimits: LocationLimits[]) =>
      filterAndScore({
        workload: web(),
        candidates: [east, west],
        currentReplicas: () => ({ replicas: 0, available: 0 }),
        locationLimits,
        usage: used({ pods: "4" }),
      });
    const none = { replicas: 0, available: 0 };
    const [all, some] = found(
      allowance({ pods: 7 }),
      allowance({ pods: 3 }, ({ name }) => name === "east"),
    ).quotas;
    const limit = all?.limitWith(none);
    assert.deepEqual([limit?.replicas, limit?.reason], [3, "pod limit reached: 7/7 (Location l)"]);
    assert.equal(all?.limitWith({ replicas: 5, available: 4 })?.replicas, 4);
    assert.deepEqual([...(some?.clusters ?? [])], ["east"]);
    assert.equal(some?.limitWith(none)?.replicas, 0);
  });
});

describe("resource requests of a Pod", () => {
  it("requests of a Pod are the sum of its containers, or of an init container if that is more", () => {
    const pod = {
      containers: [
        container({ cpu: "100m" }),
        { resources: { limits: { cpu: "1", memory: "1Gi" } } },
      ],
      initContainers: [
        { ...container({ cpu: "200m" }), restartPolicy: "Always" },
        container({ cpu: "3", memory: "100Mi" }),
      ],
      overhead: { cpu: "50m" },
    };
    const { requests } = web(pod);
    assert.deepEqual(
      requests,
      new Map([
        ["cpu", 3250],
        ["memory", 1024 ** 3 * 1000],
        ["pods", 1000],
      ]),
    );
    assert.equal(reservationOf(requests, 2).get("cpu"), 6500);
    assert.equal(reservationOf(requests, 2).get("workloads"), 1000);
  });

  it("an invalid Pod template requests one Pod", () => {
    for (const pod of [7, { containers: "x" }, { containers: [{ resources: { requests: 1 } }] }])
      assert.deepEqual(web(pod as never).requests, new Map([["pods", 1000]]));
  });
});

describe("policy over the levels", () => {
  const placement = (name: string, spec: object, created = "2026-01-01T00:00:00Z"): Placement => ({
    apiVersion: "scheduling.kcp.io/v1alpha1",
    kind: "Placement",
    metadata: { name, creationTimestamp: created },
    spec: { locationResource: { version: "v1alpha1", resource: "synctargets" }, ...spec },
  });
  const subject = { namespaceLabels: { team: "a" }, workloadLabels: { app: "web" } };
  const found = (own: readonly Placement[], global?: Placement): readonly ApplicablePlacement[] =>
    applicablePlacements(subject, own, global, () => []);

  it("each rule comes from the most specific Placement that has it", () => {
    const own = [
      placement("workspace", { namespaceSelector: {}, weights: { east: 2 }, tolerations: [] }),
      placement("team", {
        namespaceSelector: { matchLabels: { team: "a" } },
        weights: { east: 3 },
      }),
      placement("others", { namespaceSelector: { matchLabels: { team: "b" } }, weights: {} }),
      placement("nobody", { weights: {} }),
    ];
    const spread = [{ topologyKey: "region" }];
    const merged = policyOf(found(own, placement("default", { namespaceSelector: {}, spread })));
    assert.deepEqual(merged.weights, { east: 3 });
    assert.deepEqual(merged.tolerations, []);
    assert.deepEqual(merged.spread, spread);
    assert.equal(merged.selectedLocation, undefined);
    assert.deepEqual(merged.sources, [
      "Placement team (of the namespace)",
      "Placement workspace (of the workspace)",
      "Placement default (of root, for all)",
    ]);
  });

  it("a Placement with a workloadSelector precedes one without, then the older one", () => {
    const all = { namespaceSelector: {} };
    const own = [
      placement("younger", all, "2026-02-01T00:00:00Z"),
      placement("older", all),
      placement(
        "web",
        { ...all, workloadSelector: { matchLabels: { app: "web" } } },
        "2026-03-01T00:00:00Z",
      ),
      placement("db", { ...all, workloadSelector: { matchLabels: { app: "db" } } }),
    ];
    const names = found(own).map((one) => one.placement.metadata.name);
    assert.deepEqual(names, ["web", "older", "younger"]);
  });

  it("a Placement that selects Locations decides the clusters, even when it selects none", () => {
    const own = [placement("none", { namespaceSelector: {}, locationSelectors: [] })];
    assert.equal(policyOf(found(own)).selectedLocation?.location, undefined);
    assert.equal(policyOf(found(own)).selectedLocation?.placement, "none");
  });
});
