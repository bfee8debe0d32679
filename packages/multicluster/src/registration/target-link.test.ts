import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { Client, responseBody, type Transport, TransportError } from "@kcp-ts/sdk";
import { FakeClock } from "@kcp-ts/testkit";
import type { SyncTarget } from "../api/index.ts";
import { diagnose } from "./diagnose.ts";
import { linkDefaults, TargetLink } from "./target-link.ts";
import { targetStatus } from "./target-status.ts";

/** A cluster of three answers: well, not ready, or not there. */
class Cluster {
  state: "well" | "unready" | "gone" = "well";
  questions = 0;

  readonly transport: Transport = {
    send: async ({ path }) => {
      if (this.state === "gone") throw new TransportError("connect", "connection refused");
      if (path === "/version") {
        this.questions += 1;
        return answer(200, { gitVersion: "v1.36.0" });
      }
      if (path === "/readyz" && this.state === "unready") return answer(500, "[-]etcd failed");
      if (path.startsWith("/api/v1/nodes"))
        return answer(200, { kind: "NodeList", metadata: {}, items: [] });
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
    // Answers come from memory: a few turns of the event loop bring them all.
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    return link.report;
  };
  return { link, ask, clock, connections: () => connections };
}

describe("the link to a cluster", () => {
  it("takes one failure, or two, for no news, and three for one", async () => {
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

  it("stays as it is when failures and answers take turns", async () => {
    const cluster = new Cluster();
    const { ask } = linkTo(cluster);
    for (let round = 0; round < 10; round++) {
      cluster.state = "well";
      assert.equal((await ask(10_001)).health, "True");
      cluster.state = "gone";
      assert.equal((await ask(10_001)).health, "True");
    }
  });

  it("knows nothing of a cluster that has never answered, until it has failed often enough", async () => {
    const cluster = new Cluster();
    cluster.state = "gone";
    const { ask, connections } = linkTo(cluster);
    assert.equal((await ask(0)).health, "Unknown");
    assert.equal((await ask(1001)).health, "Unknown");
    assert.equal((await ask(2001)).health, "False");
    assert.equal(connections(), 0);
  });

  it("tells a cluster that is not ready from one that is not there", async () => {
    const cluster = new Cluster();
    cluster.state = "unready";
    const { ask } = linkTo(cluster);
    const { problem } = await ask(0);
    assert.equal(problem?.reason, "ClusterNotReady");
    assert.match(problem?.message ?? "", /etcd failed/);
  });

  it("does not ask before it is time, however often it is looked at", async () => {
    const cluster = new Cluster();
    const { ask } = linkTo(cluster);
    for (let look = 0; look < 50; look++) await ask(100);
    assert.equal(cluster.questions, 1);
  });
});

describe("the status of a SyncTarget", () => {
  const base = {
    apiVersion: "workload.kcp.io/v1alpha1",
    kind: "SyncTarget",
    metadata: { name: "east" },
  };

  it("is ready only when all that is said of it is", () => {
    const report = {
      health: "True",
      problem: undefined,
      version: "v1",
      capacity: undefined,
      allocatable: undefined,
      missingAccess: [],
      otherClaims: [],
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
  });

  it("is not ready before its APIs were looked at, where somebody does that", () => {
    const report = { health: "True", missingAccess: [], otherClaims: [], skewMs: 0 } as never;
    const link = { kind: "link", report } as const;
    const readyOf = (target: SyncTarget, awaitsImport: boolean) => {
      const [ready] = targetStatus(target, link, 0, { awaitsImport }).conditions ?? [];
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

describe("the diagnosis of an error", () => {
  it("reads what the innermost cause says", () => {
    const cause = Object.assign(new Error("self-signed certificate"), {
      code: "DEPTH_ZERO_SELF_SIGNED_CERT",
    });
    const error = new TransportError("connect", "cannot connect", cause);
    assert.equal(diagnose(error).reason, "CertificateNotTrusted");
    assert.equal(diagnose(new TransportError("timeout", "too slow")).reason, "ClusterUnreachable");
  });
});
