import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { Client, responseBody, type Transport, TransportError } from "@kcp-ts/sdk";
import { FakeClock } from "@kcp-ts/testkit";
import type { SyncTarget } from "../api/index.ts";
import { diagnose } from "./diagnose.ts";
import { linkDefaults, TargetLink } from "./target-link.ts";
import { targetStatus } from "./target-status.ts";

/** A cluster with three kinds of responses: healthy, not ready, or unreachable. */
class Cluster {
  state: "well" | "unready" | "gone" = "well";
  questions = 0;
  nodes: readonly object[] = [];
  nodeLists = 0;

  readonly transport: Transport = {
    send: async ({ path }) => {
      if (this.state === "gone") throw new TransportError("connect", "connection refused");
      if (path === "/version") {
        this.questions += 1;
        return answer(200, { gitVersion: "v1.36.0" });
      }
      if (path === "/readyz" && this.state === "unready") return answer(500, "[-]etcd failed");
      if (path.startsWith("/api/v1/nodes")) {
        this.nodeLists += 1;
        return answer(200, { kind: "NodeList", metadata: {}, items: this.nodes });
      }
      return answer(
        200,
        path.includes("accessreview") ? { metadata: {}, status: { allowed: true } } : "ok",
      );
    },
    close: async () => {},
  };
}

function answer(status: number, body: unknown) {
  return {
    status,
    headers: {},
    body: responseBody(typeof body === "string" ? body : JSON.stringify(body)),
  };
}

function linkTo(cluster: Cluster) {
  const clock = new FakeClock();
  const { transport } = cluster;
  const client = new Client({ transport, clock });
  let connections = 0;
  const link = new TargetLink({
    connection: { client, transport, namespace: "default", close: async () => {} },
    target: { cluster: "root" as ClusterName, name: "east", uid: "u" },
    resources: () => ["deployments.apps"],
    settings: linkDefaults,
    clock,
    random: { next: () => 0.5 },
    onChange: () => {},
    onConnected: () => {
      connections += 1;
    },
  });
  const ask = async (afterMs: number) => {
    clock.advance(afterMs);
    link.tick();
    // Responses come from memory: a few turns of the event loop deliver all of them.
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    return link.report;
  };
  return { link, ask, clock, connections: () => connections };
}

describe("link to a cluster", () => {
  it("one or two failed probes do not change the state, three do", async () => {
    const cluster = new Cluster();
    const { ask, connections } = linkTo(cluster);
    assert.equal((await ask(0)).health, "True");
    cluster.state = "gone";
    assert.equal((await ask(10_001)).health, "True");
    assert.equal((await ask(1001)).health, "True");
    const report = await ask(2001);
    assert.equal(report.health, "False");
    assert.equal(report.problem?.reason, "ClusterUnreachable");
    cluster.state = "well";
    assert.equal((await ask(60_001)).health, "True");
    assert.equal(connections(), 1);
  });

  it("the state does not change while failures and successes alternate", async () => {
    const cluster = new Cluster();
    const { ask } = linkTo(cluster);
    for (let round = 0; round < 10; round++) {
      cluster.state = "well";
      assert.equal((await ask(10_001)).health, "True");
      cluster.state = "gone";
      assert.equal((await ask(10_001)).health, "True");
    }
  });

  it("a cluster that has never responded is Unknown until enough probes have failed", async () => {
    const cluster = new Cluster();
    cluster.state = "gone";
    const { ask, connections } = linkTo(cluster);
    assert.equal((await ask(0)).health, "Unknown");
    assert.equal((await ask(1001)).health, "Unknown");
    assert.equal((await ask(2001)).health, "False");
    assert.equal(connections(), 0);
  });

  it("a cluster that is not ready and an unreachable cluster have different reasons", async () => {
    const cluster = new Cluster();
    cluster.state = "unready";
    const { ask } = linkTo(cluster);
    const { problem } = await ask(0);
    assert.equal(problem?.reason, "ClusterNotReady");
    assert.match(problem?.message ?? "", /etcd failed/);
  });

  it("a reconcile before the next probe is due sends no probe", async () => {
    const cluster = new Cluster();
    const { ask } = linkTo(cluster);
    for (let look = 0; look < 50; look++) await ask(100);
    assert.equal(cluster.questions, 1);
  });
});

describe("nodes of a cluster", () => {
  const named = (count: number, status: "True" | "Unknown") =>
    Array.from({ length: count }, (_, index) => ({
      metadata: { name: `node-${index}` },
      status: { conditions: [{ type: "Ready", status, lastTransitionTime: "" }] },
    }));

  it("nodes that die are observed with the next probe, not with the next inventory", async () => {
    const cluster = new Cluster();
    cluster.nodes = named(2, "True");
    const { ask } = linkTo(cluster);
    assert.deepEqual((await ask(0)).nodes, { total: 2, notReady: 0 });
    cluster.nodes = named(2, "Unknown");
    assert.deepEqual((await ask(10_001)).nodes, { total: 2, notReady: 2 });
  });

  it("many nodes are read as often as ten nodes a second permit", async () => {
    const cluster = new Cluster();
    cluster.nodes = named(300, "True");
    const { ask } = linkTo(cluster);
    await ask(0);
    for (let probe = 0; probe < 6; probe++) await ask(10_001);
    assert.equal(cluster.nodeLists, 3);
  });
});

describe("status of a SyncTarget", () => {
  const base = {
    apiVersion: "workload.kcp.io/v1alpha1",
    kind: "SyncTarget",
    metadata: { name: "east" },
  };

  it("a SyncTarget is Ready only when all other conditions are True", () => {
    const report = {
      health: "True",
      problem: undefined,
      version: "v1",
      capacity: undefined,
      allocatable: undefined,
      nodes: { total: 2, notReady: 1 },
      missingAccess: [],
      clusterID: undefined,
      otherSyncTargets: [],
      skewMs: 0,
    } as const;
    const link = { kind: "link", report } as const;
    assert.equal(targetStatus(base, link, 0).conditions?.[0]?.status, "True");
    const syncer = {
      type: "SyncerReady",
      status: "False",
      reason: "Broken",
      message: "m",
      lastTransitionTime: "",
    } as const;
    const ready = targetStatus({ ...base, status: { conditions: [syncer] } }, link, 0)
      .conditions?.[0];
    assert.deepEqual([ready?.status, ready?.reason], ["False", "Broken"]);
    const nodes = { total: 2, notReady: 2 };
    const down = targetStatus(base, { ...link, report: { ...report, nodes } }, 0).conditions?.[0];
    assert.deepEqual([down?.status, down?.reason], ["False", "NodesNotReady"]);
    assert.match(down?.message ?? "", /^the cluster answers, but none of its 2 nodes is Ready: /);
  });

  it("the state is that of a node in a table, with the progress of a drain", () => {
    const report = { health: "True", missingAccess: [], otherSyncTargets: [], skewMs: 0 } as never;
    const stateOf = (target: SyncTarget) => targetStatus(target, { kind: "link", report }, 0).state;
    assert.equal(stateOf(base), "Ready");
    const cordoned = { ...base, spec: { unschedulable: true } };
    assert.equal(stateOf(cordoned), "Ready,SchedulingDisabled");
    const drain = { startedAt: "", total: 8, moved: 3, remaining: 5, remainingReplicas: 5 };
    const draining = { ...base, spec: { unschedulable: true, drain: {} }, status: { drain } };
    assert.equal(stateOf(draining), "Ready,SchedulingDisabled,Draining(3/8)");
    const drained = { type: "Drained", status: "True", reason: "", message: "" } as const;
    const conditions = [{ ...drained, lastTransitionTime: "" }];
    assert.equal(
      stateOf({ ...draining, status: { drain, conditions } }),
      "Ready,SchedulingDisabled,Drained",
    );
    const problem = { reason: "ClusterUnreachable", message: "" } as const;
    assert.equal(targetStatus(base, { kind: "problem", problem }, 0).state, "NotReady");
  });

  it("a SyncTarget is not Ready before its APIs are discovered, where API import is enabled", () => {
    const report = { health: "True", missingAccess: [], otherSyncTargets: [], skewMs: 0 } as never;
    const link = { kind: "link", report } as const;
    const readyOf = (target: SyncTarget, isImported: boolean) => {
      const awaited = isImported ? ["APIImporterReady"] : [];
      const [ready] = targetStatus(target, link, 0, { awaited }).conditions ?? [];
      return [ready?.status, ready?.reason];
    };
    assert.deepEqual(readyOf(base, false), ["True", "ClusterReady"]);
    assert.deepEqual(readyOf(base, true), ["Unknown", "ImportingAPIs"]);
    const importer = (status: "True" | "False"): SyncTarget => ({
      ...base,
      status: {
        conditions: [
          { type: "APIImporterReady", status, reason: "Said", message: "", lastTransitionTime: "" },
        ],
      },
    });
    assert.deepEqual(readyOf(importer("True"), true), ["True", "ClusterReady"]);
    assert.deepEqual(readyOf(importer("False"), true), ["False", "Said"]);
  });
});

describe("diagnosis of an error", () => {
  it("the diagnosis reads the innermost cause", () => {
    const cause = Object.assign(new Error("self-signed certificate"), {
      code: "DEPTH_ZERO_SELF_SIGNED_CERT",
    });
    const error = new TransportError("connect", "cannot connect", cause);
    assert.equal(diagnose(error).reason, "CertificateNotTrusted");
    assert.equal(diagnose(new TransportError("timeout", "too slow")).reason, "ClusterUnreachable");
  });
});
