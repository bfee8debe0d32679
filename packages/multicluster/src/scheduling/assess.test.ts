import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseLabelSelector } from "@kcp-ts/machinery/selectors";
import type { Placement, ResourceLimits } from "../api/index.ts";
import type { ExistingWorkload } from "./affinity.ts";
import { parseResourceAmounts } from "./amounts.ts";
import { filterAndScore, type SchedulingInput } from "./assess.ts";
import type { ClusterCandidate } from "./candidate.ts";
import type { LocationInstance, LocationLimits } from "./located.ts";
import { type ApplicablePlacement, applicablePlacements, type Policy, policyOf } from "./policy.ts";
import { reservationOf, schedulableWorkloadOf } from "./workload.ts";

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

function prospects(input: Partial<SchedulingInput> = {}) {
  const present = () => ({ replicas: 0, available: 0 });
  return filterAndScore({ workload: web(), candidates: [east, west], present, ...input }).prospects;
}

const policy = (more: Partial<Policy>): Policy => ({ sources: [], ...more });

describe("who may be where", () => {
  it("is everybody, everywhere and alike, if nobody says anything", () => {
    for (const { expelled, refused, weight, room } of prospects().values())
      assert.deepEqual(
        { expelled, refused, weight, room },
        { expelled: [], refused: [], weight: 1, room: undefined },
      );
  });

  it("is decided by taints and who tolerates them", () => {
    const tainted = (effect: "NoSchedule" | "NoExecute" | "PreferNoSchedule") => ({
      ...east,
      taints: [{ key: "dedicated", value: "gpu", effect }],
    });
    const found = (effect: Parameters<typeof tainted>[0], more: Partial<SchedulingInput> = {}) =>
      prospects({ candidates: [tainted(effect), west], ...more });
    const said = ["taint dedicated=gpu:NoSchedule is not tolerated"];
    assert.deepEqual(found("NoSchedule").get("east")?.refused, said);
    assert.deepEqual(found("NoSchedule").get("east")?.expelled, []);
    assert.equal(found("NoExecute").get("east")?.expelled.length, 1);
    const preferred = found("PreferNoSchedule");
    assert.deepEqual([preferred.get("east")?.weight, preferred.get("west")?.weight], [1, 10]);
    const exact = policy({ tolerations: [{ key: "dedicated", value: "gpu" }] });
    assert.deepEqual(found("NoSchedule", { policy: exact }).get("east")?.refused, []);
    const other = policy({ tolerations: [{ key: "dedicated", value: "cpu" }] });
    assert.equal(found("NoSchedule", { policy: other }).get("east")?.refused.length, 1);
    const wrongEffect = policy({
      tolerations: [{ operator: "Exists", key: "dedicated", effect: "NoExecute" }],
    });
    assert.equal(found("NoSchedule", { policy: wrongEffect }).get("east")?.refused.length, 1);
    const all = web({ containers: [], tolerations: [{ operator: "Exists" }] });
    assert.deepEqual(found("NoExecute", { workload: all }).get("east")?.expelled, []);
  });

  it("is not where the kind is not served", () => {
    const candidates = [
      { ...east, resources: ["services"] },
      { ...west, resources: [resource] },
    ];
    const found = prospects({ candidates });
    assert.match(found.get("east")?.refused[0] ?? "", /does not serve deployments\.apps/);
    assert.deepEqual(found.get("west")?.refused, []);
  });

  it("follows the object before the policy", () => {
    const choice = {
      placement: "p",
      location: "eu",
      includes: ({ labels }: LocationInstance) => labels?.["region"] === "eu",
    };
    const chosen = policy({ choice, weights: { east: 5 } });
    const found = prospects({ policy: chosen });
    assert.deepEqual(found.get("east")?.expelled, ["it is not in Location eu of Placement p"]);
    assert.equal(found.get("east")?.weight, 5);
    const wish = { selector: parseLabelSelector("region=us"), weights: new Map([["west", 0]]) };
    const own = prospects({ policy: chosen, wish });
    assert.deepEqual([own.get("east")?.expelled, own.get("east")?.weight], [[], 1]);
    assert.equal(own.get("west")?.expelled.length, 2);
  });

  it("waits without moving anything while a Placement has no Location", () => {
    const choice = {
      placement: "p",
      location: undefined,
      includes: () => true,
    };
    for (const { refused, expelled } of prospects({ policy: policy({ choice }) }).values())
      assert.deepEqual([refused, expelled], [["Placement p has no Location"], []]);
  });
});

describe("affinity between workloads", () => {
  const cache: ExistingWorkload = { name: "cache", labels: { app: "cache" }, clusters: ["east"] };
  const term = { workloadSelector: { matchLabels: { app: "cache" } }, topologyKey: "region" };
  const neighbours = [cache];

  it("prefers the domain where the others are, or are not", () => {
    const near = prospects({ neighbours, policy: policy({ affinity: [term] }) });
    assert.deepEqual([near.get("east")?.weight, near.get("west")?.weight], [10, 1]);
    assert.equal(near.get("west")?.scores[0]?.text, "no workload app=cache is in this region");
    const apart = prospects({ neighbours, policy: policy({ antiAffinity: [term] }) });
    assert.deepEqual([apart.get("east")?.weight, apart.get("west")?.weight], [1, 10]);
  });

  it("keeps new replicas away where it is required, and moves none", () => {
    const required = { ...term, required: true };
    const apart = prospects({ neighbours, policy: policy({ antiAffinity: [required] }) });
    assert.deepEqual(apart.get("east")?.expelled, []);
    assert.deepEqual(apart.get("east")?.refused, [
      "cache is in this region, to be kept apart from",
    ]);
    assert.deepEqual(apart.get("west")?.refused, []);
  });

  it("asks for nothing while the others are nowhere", () => {
    const required = { ...term, required: true };
    for (const others of [[], [{ ...cache, clusters: [] }]]) {
      const found = prospects({ neighbours: others, policy: policy({ affinity: [required] }) });
      for (const { refused } of found.values()) assert.deepEqual(refused, []);
    }
  });
});

describe("what must be near others", () => {
  const required = {
    workloadSelector: { matchLabels: { app: "cache" } },
    topologyKey: "region",
    required: true,
  };
  const cache = (...clusters: string[]): ExistingWorkload => ({
    ...{ name: "cache", labels: { app: "cache" }, clusters, leads: true },
  });
  const near = (neighbours: readonly ExistingWorkload[], more: Partial<SchedulingInput> = {}) => {
    const present = (name: string) => ({ replicas: name === "east" ? 2 : 0, available: 2 });
    return prospects({ neighbours, policy: policy({ affinity: [required] }), present, ...more });
  };
  const reason = "no workload app=cache is in this region";

  it("goes where they went", () => {
    const stays = near([cache("east", "west")]);
    assert.deepEqual(stays.get("east")?.expelled, []);
    const goes = near([cache("west")]);
    assert.deepEqual(goes.get("east")?.expelled, [reason]);
    assert.deepEqual([goes.get("west")?.expelled, goes.get("west")?.refused], [[], []]);
  });

  it("does not count on what is lost, and stays if that is all", () => {
    const lost = new Set(["east"]);
    const goes = near([{ ...cache("east", "west"), lost }]);
    assert.deepEqual(goes.get("east")?.expelled, [reason]);
    const stays = near([{ ...cache("east"), lost }]);
    for (const { expelled, refused } of stays.values())
      assert.deepEqual([expelled, refused], [[], []]);
  });

  it("stays where it is while there is no room for all of it", () => {
    const small = { ...west, bounds: { pods: "1" } as ResourceLimits };
    const stays = near([cache("west")], { candidates: [east, small] });
    assert.deepEqual(stays.get("east")?.expelled, []);
    // Nothing more comes, as ever.
    assert.deepEqual(stays.get("east")?.refused, [reason]);
    const fits = near([cache("west")], {
      candidates: [east, { ...west, bounds: { pods: "2" } as ResourceLimits }],
    });
    assert.deepEqual(fits.get("east")?.expelled, [reason]);
  });

  it("goes on when the move has taken up the last of the room, as what must be apart does", () => {
    const both = () => ({ replicas: 2, available: 2 });
    const fits = { ...west, bounds: { pods: "2" } as ResourceLimits };
    const half = { candidates: [east, fits], present: both, asked: 2 };
    assert.deepEqual(near([cache("west")], half).get("east")?.expelled, [reason]);
    const antiAffinity = [required];
    const neighbours = [{ ...cache("east"), goesFirst: true }];
    const apart = prospects({ ...half, neighbours, policy: policy({ antiAffinity }) });
    assert.equal(apart.get("east")?.expelled.length, 1);
  });

  it("goes after none that goes after it", () => {
    const stays = near([{ ...cache("west"), leads: false }]);
    assert.deepEqual(stays.get("east")?.expelled, []);
    // Nor to one of these, when it goes after another.
    const north: ClusterCandidate = { name: "north", labels: { region: "north" } };
    const follower = { ...cache("north"), name: "other", leads: false };
    const goes = near([cache("west"), follower], { candidates: [east, west, north] });
    assert.deepEqual(goes.get("east")?.expelled, [reason]);
    assert.deepEqual([goes.get("west")?.refused, goes.get("north")?.refused], [[], [reason]]);
  });
});

describe("room", () => {
  const used = (quantities: Record<string, string>) => ({
    inCluster: () => (resource: string) => parseResourceAmounts(quantities).get(resource) ?? 0,
    byWorkspace: () => parseResourceAmounts(quantities),
  });
  const allocatable = { cpu: "4", memory: "6Gi", pods: "110" };
  const room = (candidate: Partial<ClusterCandidate>, input: Partial<SchedulingInput> = {}) =>
    prospects({ candidates: [{ ...east, ...candidate }], ...input }).get("east")?.room;

  it("is what is left of the scarcest resource", () => {
    assert.equal(room({ allocatable })?.replicas, 6);
    const left = room({ allocatable }, { usage: used({ cpu: "3" }) });
    assert.equal(left?.replicas, 2);
    assert.equal(left?.because, "3 of 4 cpu is reserved by others, and each replica asks for 500m");
    assert.equal(room({ allocatable }, { usage: used({ pods: "200" }) })?.replicas, 0);
  });

  it("is what bounds say where they say something, more or less than is reported", () => {
    assert.equal(room({ allocatable, bounds: { cpu: 1 } })?.replicas, 2);
    assert.equal(room({ allocatable, bounds: { cpu: 100, memory: "100Gi" } })?.replicas, 100);
    assert.equal(room({ bounds: { pods: 3 } })?.replicas, 3);
    const full = room({ bounds: { workloads: 2 } }, { usage: used({ workloads: "2" }) });
    assert.deepEqual(full, { replicas: 0, because: "2 of 2 workloads are here" });
    const present = () => ({ replicas: 1, available: 0 });
    assert.equal(
      room({ bounds: { workloads: 2 } }, { usage: used({ workloads: "2" }), present }),
      undefined,
    );
  });

  it("is unbounded where a cluster says nothing, but not of what only some nodes have", () => {
    assert.equal(room({}), undefined);
    assert.equal(room({ allocatable: {} }), undefined);
    const gpu = web({ containers: [container({ "example.com/gpu": 1 })] });
    assert.equal(room({ allocatable: { cpu: "4" } }, { workload: gpu })?.replicas, 0);
    assert.equal(room({}, { workload: gpu }), undefined);
  });

  it("is there for what runs, whatever the sums say", () => {
    const present = () => ({ replicas: 5, available: 3 });
    const usage = used({ cpu: "4" });
    assert.equal(room({ allocatable }, { usage, present })?.replicas, 3);
  });

  it("is bounded for a workspace by its Location, in all clusters together", () => {
    const allowance = (bounds: ResourceLimits, includes = (_: LocationInstance) => true) => ({
      location: "l",
      bounds,
      includes,
    });
    const found = (...allowances: LocationLimits[]) =>
      filterAndScore({
        workload: web(),
        candidates: [east, west],
        present: () => ({ replicas: 0, available: 0 }),
        allowances,
        usage: used({ pods: "4" }),
      });
    const none = { replicas: 0, available: 0 };
    const [all, some] = found(
      allowance({ pods: 7 }),
      allowance({ pods: 3 }, ({ name }) => name === "east"),
    ).quotas;
    assert.deepEqual(all?.boundWith(none), {
      replicas: 3,
      because: "Location l: 4 of 7 pods is reserved by others",
    });
    assert.equal(all?.boundWith({ replicas: 5, available: 4 })?.replicas, 4);
    assert.deepEqual([...(some?.clusters ?? [])], ["east"]);
    assert.equal(some?.boundWith(none)?.replicas, 0);
  });
});

describe("what a Pod asks for", () => {
  it("is the sum of its containers, or what runs before them if that is more", () => {
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

  it("is one Pod if it is nonsense", () => {
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

  it("takes each matter from the most specific one that speaks of it", () => {
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
    assert.equal(merged.choice, undefined);
    assert.deepEqual(merged.sources, [
      "Placement team (of the namespace)",
      "Placement workspace (of the workspace)",
      "Placement default (of root, for all)",
    ]);
  });

  it("prefers one for some workloads, then the older one", () => {
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

  it("is about where as soon as a Placement selects Locations, even none of them", () => {
    const own = [placement("none", { namespaceSelector: {}, locationSelectors: [] })];
    assert.equal(policyOf(found(own)).choice?.location, undefined);
    assert.equal(policyOf(found(own)).choice?.placement, "none");
  });
});
