import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runSync } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { timestamp } from "@kcp-ts/sdk";
import type { ServiceExport, ServiceImport } from "../api/index.ts";
import { type ClusterInfo, clusterInfoOf } from "../coordination/index.ts";
import {
  decideService as decide,
  type ServiceDecision,
  type ServiceState,
} from "./decide-service.ts";
import { newSlice, updatedSlice } from "./imports.ts";
import { type EndpointSlice, readyCount, type Service } from "./objects.ts";
import { serviceWorkloadsOf } from "./workload.ts";
import { workloadKinds } from "./workload-kinds.ts";

const nowMs = Date.parse("2026-01-01T12:00:00Z");
const gracePeriods = { withdrawMs: 5000, returnMs: 2000, unreachableAfterMs: 60_000 };
const [deployments] = workloadKinds;

function target(name: string, isReady = true, changedAtMs = 0): ClusterInfo {
  const condition = {
    type: "Ready",
    status: isReady ? "True" : "False",
    reason: "ForTest",
    message: "",
    lastTransitionTime: timestamp(changedAtMs),
  } as const;
  return clusterInfoOf({
    apiVersion: "workload.kcp.io/v1alpha1",
    kind: "SyncTarget",
    metadata: { name },
    status: { conditions: [condition] },
  });
}

function part(cluster: string, replicas: number, more: { holders?: string; app?: string } = {}) {
  assert.ok(deployments !== undefined);
  const annotation = `finalizers.workload.kcp.io/${cluster}`;
  const { holders, app = "web" } = more;
  const object = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: {
      name: `${app}--${cluster}`,
      labels: { "workload.kcp.io/cluster": cluster },
      ...(holders === undefined ? {} : { annotations: { [annotation]: holders } }),
    },
    spec: { replicas, template: { metadata: { labels: { app } } } },
  };
  return serviceWorkloadsOf(object, deployments);
}

function copy(cluster: string, ready: number, notReady = 0): EndpointSlice {
  const endpoint = (index: number, isReady: boolean): JsonObject => ({
    addresses: [`10.0.${isReady ? 0 : 1}.${index}`],
    conditions: { ready: isReady },
  });
  return {
    apiVersion: "discovery.k8s.io/v1",
    kind: "EndpointSlice",
    metadata: {
      name: `web-1--${cluster}`,
      labels: { [`state.workload.kcp.io/${cluster}`]: "Upsync" },
    },
    addressType: "IPv4",
    endpoints: [
      ...Array.from({ length: ready }, (_, index) => endpoint(index, true)),
      ...Array.from({ length: notReady }, (_, index) => endpoint(index, false)),
    ],
    ports: [{ name: "http", port: 8080, protocol: "TCP" }],
  };
}

const service: Service = {
  apiVersion: "v1",
  kind: "Service",
  metadata: { name: "web", namespace: "default" },
  spec: { selector: { app: "web" }, ports: [{ name: "http", port: 80 }] },
};
const serviceExport: ServiceExport = {
  apiVersion: "multicluster.x-k8s.io/v1alpha1",
  kind: "ServiceExport",
  metadata: { name: "web", namespace: "default", uid: "export" },
};
const serviceImport: ServiceImport = {
  apiVersion: "multicluster.x-k8s.io/v1alpha1",
  kind: "ServiceImport",
  metadata: { name: "web", namespace: "default", uid: "import" },
  spec: { type: "ClusterSetIP", ports: [] },
};

function state(more: Partial<ServiceState> = {}): ServiceState {
  return {
    name: "web",
    service,
    serviceExport,
    serviceImport: undefined,
    sources: [],
    imported: [],
    workloads: [],
    targets: new Map(["east", "west"].map((name) => [name, target(name)])),
    gracePeriods,
    nowMs,
    ...more,
  };
}

/** The published state after a decision, as the next decision reads it. */
function written(
  decision: ServiceDecision,
  before: readonly EndpointSlice[],
): readonly EndpointSlice[] {
  const { slices = [], consumers = new Set<string>(), derived } = decision.import ?? {};
  const users = { consumers, derived };
  return slices.map((slice) => {
    const present = before.find(({ metadata }) => metadata.name === slice.name);
    return present === undefined
      ? (newSlice(slice, serviceImport, users) as EndpointSlice)
      : updatedSlice(present, slice, serviceImport, users);
  });
}

function readyIn(decision: ServiceDecision): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const slice of decision.import?.slices ?? [])
    counts[slice.cluster] = (counts[slice.cluster] ?? 0) + readyCount([slice]);
  return counts;
}

const decideService = (found: ServiceState): ServiceDecision => runSync(decide(found));

describe("clusters of a Service", () => {
  it("a Service is assigned to the clusters of the workloads whose Pods it selects, and to no others", () => {
    const workloads = [...part("east", 1), ...part("west", 1, { app: "other" })];
    const { service: placed, automaticExport } = decideService(state({ workloads }));
    assert.deepEqual(placed?.metadata.labels, { "state.workload.kcp.io/east": "Sync" });
    assert.deepEqual(placed?.metadata.annotations, { "workload.kcp.io/propagated-to": "east" });
    assert.equal(automaticExport, true);
  });

  it("the assignment follows the workloads, and keeps assignments of users", () => {
    const labels = { "state.workload.kcp.io/east": "Sync", tier: "front" };
    const annotations = { "workload.kcp.io/propagated-to": "east" };
    const followed = { ...service, metadata: { ...service.metadata, labels, annotations } };
    const moved = decideService(state({ service: followed, workloads: part("west", 1) }));
    assert.deepEqual(moved.service?.metadata.labels, {
      "state.workload.kcp.io/west": "Sync",
      tier: "front",
    });
    const theirs = { ...service, metadata: { ...service.metadata, labels } };
    const left = decideService(state({ service: theirs, workloads: part("west", 1) }));
    assert.equal(left.service, theirs);
    assert.equal(left.automaticExport, undefined);
  });

  it("an assignment by a user replaces the computed one, and an unmanaged Service does not change", () => {
    const labels = { "state.workload.kcp.io/east": "Sync", "kcp.dev/cluster": "west" };
    const annotations = { "workload.kcp.io/propagated-to": "east" };
    const pinned = { ...service, metadata: { ...service.metadata, labels, annotations } };
    const { service: placed } = decideService(
      state({ service: pinned, workloads: part("east", 1) }),
    );
    assert.deepEqual(placed?.metadata.labels, { "kcp.dev/cluster": "west" });
    assert.deepEqual(placed?.metadata.annotations, {});
    const held = { ...annotations, "workload.kcp.io/managed": "false" };
    const left = { ...pinned, metadata: { ...pinned.metadata, annotations: held } };
    assert.equal(decideService(state({ service: left })).service, left);
  });

  it("a Service without a selector is assigned to no cluster", () => {
    const bare = { ...service, spec: { ports: [{ port: 80 }] } };
    const decision = decideService(state({ service: bare, workloads: part("east", 1) }));
    assert.equal(decision.service, bare);
    assert.equal(decision.automaticExport, false);
  });
});

describe("import of a Service", () => {
  it("an imported Service is used in all clusters that have objects in the namespace", () => {
    const workloads = [...part("east", 1), ...part("west", 1, { app: "other" })];
    const decision = decideService(state({ workloads, sources: [copy("east", 1)] }));
    assert.deepEqual([...(decision.import?.consumers ?? [])].sort(), ["east", "west"]);
    assert.deepEqual(decision.import?.clusters, ["east"]);
  });

  it("an import does not change while the Service is in no cluster", () => {
    const known = { ...serviceImport, spec: { ...serviceImport.spec, ports: [{ port: 80 }] } };
    const decision = decideService(state({ serviceImport: known }));
    assert.equal(decision.exportResult.kind, "pending");
    assert.deepEqual(decision.import?.spec, known.spec);
    assert.deepEqual(decision.import?.clusters, []);
  });

  it("there is no import without an export, or without a Service", () => {
    const workloads = part("east", 1);
    assert.equal(decideService(state({ workloads, serviceExport: undefined })).import, undefined);
    const decision = decideService(state({ workloads, service: undefined }));
    assert.equal(decision.import, undefined);
    assert.equal(decision.exportResult.kind, "invalid");
    assert.equal(decision.automaticExport, false);
  });

  it("an import records since when each cluster exports, and the oldest export decides", () => {
    const annotations = {
      "workload.kcp.io/exported-since": '{"west":"2025-01-01T00:00:00Z"}',
      "experimental.spec-diff.workload.kcp.io/east":
        '[{"op":"replace","path":"/ports/0/port","value":81}]',
    };
    const known = { ...serviceImport, metadata: { ...serviceImport.metadata, annotations } };
    const patched = { ...service, metadata: { ...service.metadata, annotations } };
    const workloads = [...part("east", 1), ...part("west", 1)];
    const decision = decideService(state({ workloads, serviceImport: known, service: patched }));
    assert.deepEqual(
      decision.import?.spec.ports.map(({ port }) => port),
      [80],
    );
    assert.deepEqual(decision.import?.since, {
      east: "2026-01-01T12:00:00Z",
      west: "2025-01-01T00:00:00Z",
    });
  });
});

describe("external addresses of a Service", () => {
  const given = (status: JsonObject, annotations: Record<string, string>): Service => ({
    ...service,
    metadata: {
      ...service.metadata,
      labels: { "state.workload.kcp.io/east": "Sync", "state.workload.kcp.io/west": "Sync" },
      annotations,
    },
    status,
  });
  const said = (ip: string) => JSON.stringify({ loadBalancer: { ingress: [{ ip }] } });
  const annotations = {
    "experimental.status.workload.kcp.io/east": said("192.0.2.1"),
    "experimental.status.workload.kcp.io/west": said("192.0.2.2"),
  };

  it("the addresses are those of all clusters of the Service, except withdrawn ones", () => {
    const both = { loadBalancer: { ingress: [{ ip: "192.0.2.1" }, { ip: "192.0.2.2" }] } };
    const found = given({ conditions: [] }, annotations);
    assert.deepEqual(decideService(state({ service: found })).status, { conditions: [], ...both });
    const targets = new Map([
      ["east", target("east", false, nowMs - 60_000)],
      ["west", target("west")],
    ]);
    const decision = decideService(state({ service: given(both, annotations), targets }));
    assert.deepEqual(decision.status, { loadBalancer: { ingress: [{ ip: "192.0.2.2" }] } });
  });

  it("the addresses are left to the syncer in one cluster, and unchanged when nothing changes", () => {
    const one: Service = {
      ...given({}, {}),
      metadata: { name: "web", labels: { "kcp.dev/cluster": "east" } },
    };
    assert.equal(decideService(state({ service: one })).status, one.status);
    const spoilt = given({}, { "experimental.status.workload.kcp.io/east": "{" });
    assert.equal(decideService(state({ service: spoilt })).status, spoilt.status);
  });
});

describe("endpoints of a cluster that is not Ready", () => {
  const workloads = [...part("east", 2), ...part("west", 2)];
  const sources = [copy("east", 2), copy("west", 2)];
  const lostAt = (changedAtMs: number) =>
    new Map([
      ["east", target("east")],
      ["west", target("west", false, changedAtMs)],
    ]);

  it("endpoints are withdrawn within ten seconds, and not after a short interruption", () => {
    const at = (ms: number) =>
      decideService(state({ workloads, sources, targets: lostAt(nowMs), nowMs: nowMs + ms }));
    assert.deepEqual(readyIn(at(0)), { east: 2, west: 2 });
    assert.equal(at(0).requeueAtMs, nowMs + 5000);
    assert.deepEqual(readyIn(at(4999)), { east: 2, west: 2 });
    assert.deepEqual(readyIn(at(5000)), { east: 2, west: 0 });
    assert.deepEqual(at(5000).import?.clusters, ["east"]);
    assert.ok(gracePeriods.withdrawMs <= 10_000);
  });

  it("withdrawn endpoints return when the cluster has been Ready for a while; endpoints that stayed are not withdrawn for that", () => {
    const lost = decideService(state({ workloads, sources, targets: lostAt(nowMs - 60_000) }));
    const imported = written(lost, []);
    const targets = new Map([
      ["east", target("east")],
      ["west", target("west", true, nowMs)],
    ]);
    const at = (ms: number, slices: readonly EndpointSlice[]) =>
      decideService(state({ workloads, sources, imported: slices, targets, nowMs: nowMs + ms }));
    assert.deepEqual(readyIn(at(0, imported)), { east: 2, west: 0 });
    assert.equal(at(0, imported).requeueAtMs, nowMs + 2000);
    assert.deepEqual(readyIn(at(2000, imported)), { east: 2, west: 2 });
    const full = written(decideService(state({ workloads, sources })), []);
    assert.deepEqual(readyIn(at(0, full)), { east: 2, west: 2 });
  });

  it("endpoints stay until another cluster has a ready endpoint", () => {
    const targets = lostAt(nowMs - 60_000);
    const only = decideService(
      state({ workloads, sources: [copy("east", 0, 2), copy("west", 2)], targets }),
    );
    assert.deepEqual(readyIn(only), { east: 0, west: 2 });
    const imported = written(only, []);
    const one = [copy("east", 1, 1), copy("west", 2)];
    const then = decideService(state({ workloads, sources: one, imported, targets }));
    assert.deepEqual(readyIn(then), { east: 1, west: 0 });
  });
});

describe("endpoints of a cluster that the Service is not assigned to", () => {
  it("endpoints of an unassigned cluster are ignored, and do not displace those of other clusters", () => {
    const workloads = part("east", 2);
    const sources = [copy("east", 2), copy("west", 3), copy("north.1x7k2m9d4q", 1)];
    const decision = decideService(state({ workloads, sources }));
    assert.deepEqual(readyIn(decision), { east: 2 });
    // The assigned cluster is not observed: endpoints of an unassigned cluster do not replace its
    // endpoints.
    const targets = new Map([
      ["east", target("east", false, nowMs - 60_000)],
      ["west", target("west")],
    ]);
    assert.deepEqual(readyIn(decideService(state({ workloads, sources, targets }))), { east: 2 });
  });

  it("endpoints are ignored when users have assigned the Service to another cluster, or to none", () => {
    const placed = (labels: Record<string, string>) => ({
      ...service,
      metadata: { ...service.metadata, labels },
    });
    const sources = [copy("east", 2), copy("west", 3)];
    const east = state({ service: placed({ "workload.kcp.io/cluster": "east" }), sources });
    assert.deepEqual(readyIn(decideService(east)), { east: 2 });
    const none = decideService(state({ service: placed({}), workloads: [], sources }));
    assert.deepEqual(readyIn(none), {});
  });
});

describe("terminating endpoints", () => {
  const following: Service = {
    ...service,
    metadata: {
      ...service.metadata,
      labels: { "state.workload.kcp.io/west": "Sync" },
      annotations: { "workload.kcp.io/propagated-to": "west" },
    },
  };
  const targets = new Map([
    ["east", target("east")],
    ["west", target("west", false, nowMs - 30_000)],
  ]);
  const sources = [copy("east", 3), copy("west", 3)];
  const [leaving] = part("east", 3);
  assert.ok(leaving !== undefined);

  it("terminating endpoints do not replace those of an unobserved cluster, which stay", () => {
    for (const east of [part("east", 0), [{ ...leaving, isDeleting: true }]]) {
      const workloads = [...east, ...part("west", 3)];
      const decision = decideService(state({ service: following, workloads, sources, targets }));
      assert.deepEqual(readyIn(decision), { east: 3, west: 3 });
    }
    const staying = decideService(
      state({ workloads: [...part("east", 1), ...part("west", 3)], sources, targets }),
    );
    assert.deepEqual(readyIn(staying), { east: 3, west: 0 });
    // The workloads behind a Service that users have assigned are unknown.
    const labels = { "state.workload.kcp.io/east": "Sync", "state.workload.kcp.io/west": "Sync" };
    const placed = { ...service, metadata: { ...service.metadata, labels } };
    assert.deepEqual(readyIn(decideService(state({ service: placed, sources, targets }))), {
      east: 3,
      west: 0,
    });
  });

  it("endpoints in a slice that is being deleted do not replace those of an unobserved cluster either", () => {
    const workloads = [...part("east", 3), ...part("west", 3)];
    const east = copy("east", 3);
    const deletionTimestamp = timestamp(nowMs);
    const going = { ...east, metadata: { ...east.metadata, deletionTimestamp } };
    const decision = decideService(
      state({ workloads, sources: [going, copy("west", 3)], targets }),
    );
    assert.deepEqual(readyIn(decision), { west: 3 });
  });
});

describe("a workload that migrates to another cluster", () => {
  const sources = (east: number, west: number) => [copy("east", east), copy("west", west)];
  const holds = (more: Partial<ServiceState>) => {
    const { added, released } = decideService(state(more)).holds;
    const said = ({ workload, holders }: (typeof added)[number]) =>
      `${workload.object.metadata.name} ${holders.join()}`;
    return { added: added.map(said), released: released.map(said) };
  };
  const none = { added: [], released: [] };

  it("a traffic hold protects the old copy from the creation of the new one until all endpoints of the new copy are published", () => {
    const moving = [...part("east", 3), ...part("west", 3)];
    assert.deepEqual(holds({ workloads: moving, sources: [copy("east", 3)] }), {
      added: ["web--east traffic/web"],
      released: [],
    });
    const held = [...part("east", 3, { holders: "traffic/web" }), ...part("west", 3)];
    // Until all endpoints of west are published; from then on, west has endpoints to lose, too.
    assert.deepEqual(holds({ workloads: held, sources: sources(3, 2) }), none);
    assert.deepEqual(holds({ workloads: held, sources: sources(3, 3) }), {
      added: [],
      released: ["web--east "],
    });
  });

  it("soft finalizers of other controllers stay", () => {
    const shared = [...part("east", 3, { holders: "dns,traffic/web" }), ...part("west", 3)];
    assert.deepEqual(holds({ workloads: shared, sources: sources(3, 3) }).released, [
      "web--east dns",
    ]);
  });

  it("no traffic hold waits for a cluster that is Unreachable or has failed, nor exists without a reason", () => {
    const workloads = [...part("east", 3), ...part("west", 3)];
    const targets = new Map([
      ["east", target("east")],
      ["west", target("west", false, nowMs - 60_000)],
    ]);
    assert.deepEqual(holds({ workloads, sources: sources(3, 1), targets }), none);
    const [west] = part("west", 3);
    assert.ok(west !== undefined);
    const stuck = [...part("east", 3), { ...west, isStuck: true }];
    assert.deepEqual(holds({ workloads: stuck, sources: sources(3, 1) }), none);
    assert.deepEqual(holds({ workloads, sources: [] }), none);
    assert.deepEqual(holds({ workloads: part("east", 3), sources: [copy("east", 1)] }), none);
  });

  it("the hold continues while the destination cluster is not observed, and ends when that cluster is Unreachable", () => {
    const workloads = [...part("east", 3, { holders: "traffic/web" }), ...part("west", 3)];
    const targets = new Map([
      ["east", target("east")],
      ["west", target("west", false, nowMs)],
    ]);
    const at = (ms: number) => ({ workloads, sources: sources(3, 1), targets, nowMs: nowMs + ms });
    for (const ms of [0, 4999, 5000, 59_999]) assert.deepEqual(holds(at(ms)), none, `${ms} ms`);
    assert.equal(decideService(state(at(5000))).requeueAtMs, nowMs + 60_000);
    assert.deepEqual(holds(at(60_000)).released, ["web--east "]);
  });

  it("the hold returns when the endpoints of the destination are withdrawn, until these are published again", () => {
    const workloads = [...part("east", 3), ...part("west", 3)];
    const seen = (isReady: boolean, changedAtMs: number) =>
      new Map([
        ["east", target("east")],
        ["west", target("west", isReady, changedAtMs)],
      ]);
    const withdrawn = { workloads, sources: sources(3, 3), targets: seen(false, nowMs - 10_000) };
    assert.deepEqual(holds(withdrawn).added, ["web--east traffic/web"]);
    const imported = written(decideService(state(withdrawn)), []);
    const back = { workloads, sources: sources(3, 3), imported, targets: seen(true, nowMs) };
    assert.deepEqual(holds(back).added, ["web--east traffic/web"]);
  });

  it("the hold ends when its Service is deleted", () => {
    const workloads = [...part("east", 3, { holders: "traffic/web" }), ...part("west", 3)];
    assert.deepEqual(holds({ workloads, service: undefined, sources: sources(3, 0) }).released, [
      "web--east ",
    ]);
  });
});
