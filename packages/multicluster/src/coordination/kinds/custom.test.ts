import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { WorkloadStrategySpec } from "../../api/index.ts";
import { newClusterCopy } from "../cluster-copy.ts";
import { decide } from "../decide.ts";
import type { Strategy } from "../strategy.ts";
import type { Workload } from "../workload.ts";
import { customStrategy } from "./custom.ts";

const nowMs = Date.UTC(2026, 0, 1);
const gracePeriods = { unreachableAfterMs: 60_000, recoveryMs: 0 };
const target = (name: string) => ({
  name,
  labels: {},
  isReady: true,
  changedAtMs: 0,
  isUnschedulable: false,
  isDeleting: false,
  taints: [],
});

const spec: WorkloadStrategySpec = {
  group: "db.example.com",
  version: "v1",
  resource: "postgreses",
  kind: "Postgres",
  strategy: "Divide",
  replicasPath: "spec.cluster.size",
  available: "self.status.healthy",
  observed: "self.status.seen == self.metadata.generation",
  status: {
    healthy: "copies.map(p, p.status.healthy).sum()",
    where: "copies.map(p, p.cluster).join(', ')",
  },
};

const made = (more: Partial<WorkloadStrategySpec> = {}) =>
  customStrategy({
    apiVersion: "workload.kcp.io/v1alpha1",
    kind: "WorkloadStrategy",
    metadata: { name: "postgres" },
    spec: { ...spec, ...more },
  });

function strategyFor(more: Partial<WorkloadStrategySpec> = {}): Strategy {
  const found = made(more);
  assert.ok(typeof found !== "string", String(found));
  return found;
}

const workload: Workload = {
  apiVersion: "db.example.com/v1",
  kind: "Postgres",
  metadata: { name: "main", namespace: "demo", uid: "whole", generation: 1 },
  spec: { image: "pg:17", cluster: { size: 5, zone: "a" } },
};

function partIn(strategy: Strategy, cluster: string, replicas: number, status: object): Workload {
  const request = { strategy, parent: workload, cluster, share: { replicas } };
  const { metadata, spec: its } = newClusterCopy(request);
  const { apiVersion, kind } = workload;
  const name = metadata.name ?? "";
  return { apiVersion, kind, metadata: { ...metadata, name, generation: 1 }, spec: its, status };
}

const decided = (strategy: Strategy, copies: readonly Workload[] = []) =>
  decide({
    strategy,
    parent: workload,
    copies,
    takenNames: new Set(),
    targets: [target("east"), target("west")] as never,
    gracePeriods,
    nowMs,
  });

describe("WorkloadStrategy", () => {
  it("a strategy divides the replicas at its path, and leaves the rest of the spec unchanged", () => {
    const { creations } = decided(strategyFor());
    assert.deepEqual(
      creations.map((copy) => copy.spec),
      [
        { image: "pg:17", cluster: { size: 3, zone: "a" } },
        { image: "pg:17", cluster: { size: 2, zone: "a" } },
      ],
    );
    assert.equal(creations[0]?.metadata.ownerReferences?.[0]?.apiVersion, "db.example.com/v1");
  });

  it("a strategy duplicates a workload, or schedules it to one cluster", () => {
    const { replicasPath: _, ...rest } = spec;
    const count = (strategy: "Duplicate" | "Single") => {
      const found = customStrategy({
        apiVersion: "",
        kind: "",
        metadata: { name: "x" },
        spec: { ...rest, strategy },
      });
      assert.ok(typeof found !== "string");
      return decided(found).creations.map((copy) => copy.spec);
    };
    assert.deepEqual(count("Duplicate"), [workload.spec, workload.spec]);
    assert.deepEqual(count("Single"), [workload.spec]);
  });

  it("a strategy aggregates statuses by its expressions, and reports the expression that fails", () => {
    const strategy = strategyFor();
    const copies = [
      partIn(strategy, "east", 3, { healthy: 3, seen: 1 }),
      partIn(strategy, "west", 2, { healthy: 1, seen: 1 }),
    ];
    const status = decided(strategy, copies).status as Record<string, unknown>;
    assert.equal(status["healthy"], 4);
    assert.equal(status["where"], "east, west");
    assert.equal(status["observedGeneration"], 1);
    const without = [partIn(strategy, "east", 5, { seen: 1 })];
    assert.match(JSON.stringify(decided(strategy, without).status), /status.healthy: no such key/);
  });

  it("a strategy scales nothing down before its expression reports enough available replicas in other clusters", () => {
    const strategy = strategyFor();
    const all = partIn(strategy, "east", 5, { healthy: 5, seen: 1 });
    const first = decided(strategy, [all]);
    assert.equal(first.creations.length, 1);
    assert.deepEqual(first.scaleDowns, []);
    const ready = partIn(strategy, "west", 2, { healthy: 2, seen: 1 });
    assert.equal(decided(strategy, [all, ready]).scaleDowns.length, 1);
    const unseen = partIn(strategy, "west", 2, { healthy: 2, seen: 0 });
    assert.deepEqual(decided(strategy, [all, unseen]).scaleDowns, []);
  });

  it("an invalid strategy is rejected with the field and the position of the error", () => {
    assert.match(String(made({ available: "self.status." })), /^available: /);
    assert.match(String(made({ observed: "1" })), /^observed: must evaluate to bool/);
    assert.match(String(made({ status: { sum: "unknown(copies)" } })), /^status.sum: /);
  });

  it("a strategy finds dependencies in the Pod template and by an expression, and writes them on the copies", () => {
    const strategy = strategyFor({
      podTemplatePath: "spec.pods",
      references: '["secrets/" + self.spec.password, "configmaps/settings"]',
    });
    const volumes = [{ persistentVolumeClaim: { claimName: "data" } }];
    const containers = [{ envFrom: [{ configMapRef: { name: "settings" } }] }];
    const pods = { spec: { serviceAccountName: "db", volumes, containers } };
    const parent = { ...workload, spec: { ...workload.spec, password: "p", pods } };
    const expected = "configmaps/settings,persistentvolumeclaims/data,secrets/p,serviceaccounts/db";
    assert.equal(strategy.dependencies?.(parent).join(), expected);
    const share = { replicas: 1 };
    const copy = newClusterCopy({ strategy, parent, cluster: "east", share });
    assert.equal(copy.metadata.annotations?.["workload.kcp.io/dependencies"], expected);
  });

  const unusable: [text: string, expected: RegExp][] = [
    ["self.spec.none", /no such key|none/],
    ["self.spec.cluster", /no list/],
    ['["nodes/a"]', /"nodes\/a" is no reference/],
    ['["secrets/../a"]', /is no reference/],
  ];
  for (const [references, expected] of unusable) {
    it(`the workload's status reports that ${references} yields no dependency`, () => {
      const strategy = strategyFor({ references, status: {} });
      assert.deepEqual(strategy.dependencies?.(workload), []);
      const { conditions = [] } = decided(strategy).status as {
        conditions?: { type: string; message?: string }[];
      };
      const said = conditions.find(({ type }) => type === "StatusAggregated");
      assert.match(said?.message ?? "", expected);
      assert.match(said?.message ?? "", /^references: /);
    });
  }
});
