import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { WorkloadStrategySpec } from "../../api/index.ts";
import { decide } from "../decide.ts";
import { newClusterCopy } from "../part.ts";
import type { Strategy } from "../strategy.ts";
import type { Workload } from "../workload.ts";
import { customStrategy } from "./custom.ts";

const nowMs = Date.UTC(2026, 0, 1);
const patience = { graceMs: 60_000, settleMs: 0 };
const target = (name: string) => ({
  name,
  labels: {},
  isReady: true,
  changedAtMs: 0,
  isUnschedulable: false,
  evictAfterMs: undefined,
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
    healthy: "parts.map(p, p.status.healthy).sum()",
    where: "parts.map(p, p.cluster).join(', ')",
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

const whole: Workload = {
  apiVersion: "db.example.com/v1",
  kind: "Postgres",
  metadata: { name: "main", namespace: "demo", uid: "whole", generation: 1 },
  spec: { image: "pg:17", cluster: { size: 5, zone: "a" } },
};

function partIn(strategy: Strategy, cluster: string, replicas: number, status: object): Workload {
  const wish = { strategy, parent: whole, cluster, share: { replicas }, askedReplicas: 5 };
  const { metadata, spec: its } = newClusterCopy(wish);
  const { apiVersion, kind } = whole;
  const name = metadata.name ?? "";
  return { apiVersion, kind, metadata: { ...metadata, name, generation: 1 }, spec: its, status };
}

const decided = (strategy: Strategy, parts: readonly Workload[] = []) =>
  decide({
    strategy,
    parent: whole,
    parts,
    takenNames: new Set(),
    targets: [target("east"), target("west")] as never,
    patience,
    nowMs,
  });

describe("a WorkloadStrategy", () => {
  it("divides what its path leads to, and leaves the rest of the spec as it is", () => {
    const { creations } = decided(strategyFor());
    assert.deepEqual(
      creations.map((part) => part.spec),
      [
        { image: "pg:17", cluster: { size: 3, zone: "a" } },
        { image: "pg:17", cluster: { size: 2, zone: "a" } },
      ],
    );
    assert.equal(creations[0]?.metadata.ownerReferences?.[0]?.apiVersion, "db.example.com/v1");
  });

  it("duplicates, or is in one cluster", () => {
    const { replicasPath: _, ...rest } = spec;
    const count = (strategy: "Duplicate" | "Single") => {
      const found = customStrategy({
        apiVersion: "",
        kind: "",
        metadata: { name: "x" },
        spec: { ...rest, strategy },
      });
      assert.ok(typeof found !== "string");
      return decided(found).creations.map((part) => part.spec);
    };
    assert.deepEqual(count("Duplicate"), [whole.spec, whole.spec]);
    assert.deepEqual(count("Single"), [whole.spec]);
  });

  it("folds statuses by its expressions, and says which of them fails", () => {
    const strategy = strategyFor();
    const parts = [
      partIn(strategy, "east", 3, { healthy: 3, seen: 1 }),
      partIn(strategy, "west", 2, { healthy: 1, seen: 1 }),
    ];
    const status = decided(strategy, parts).status as Record<string, unknown>;
    assert.equal(status["healthy"], 4);
    assert.equal(status["where"], "east, west");
    assert.equal(status["observedGeneration"], 1);
    const without = [partIn(strategy, "east", 5, { seen: 1 })];
    assert.match(JSON.stringify(decided(strategy, without).status), /status.healthy: no such key/);
  });

  it("takes nothing away before its expression says that enough is available elsewhere", () => {
    const strategy = strategyFor();
    const all = partIn(strategy, "east", 5, { healthy: 5, seen: 1 });
    const first = decided(strategy, [all]);
    assert.equal(first.creations.length, 1);
    assert.deepEqual(first.cuts, []);
    const ready = partIn(strategy, "west", 2, { healthy: 2, seen: 1 });
    assert.equal(decided(strategy, [all, ready]).cuts.length, 1);
    const unseen = partIn(strategy, "west", 2, { healthy: 2, seen: 0 });
    assert.deepEqual(decided(strategy, [all, unseen]).cuts, []);
  });

  it("is refused with the place of what is wrong", () => {
    assert.match(String(made({ available: "self.status." })), /^available: /);
    assert.match(String(made({ observed: "1" })), /^observed: must evaluate to bool/);
    assert.match(String(made({ status: { sum: "unknown(parts)" } })), /^status.sum: /);
  });

  it("finds what a whole refers to in its Pod template and by an expression, and writes it on the parts", () => {
    const strategy = strategyFor({
      podTemplatePath: "spec.pods",
      references: '["secrets/" + self.spec.password, "configmaps/settings"]',
    });
    const volumes = [{ persistentVolumeClaim: { claimName: "data" } }];
    const containers = [{ envFrom: [{ configMapRef: { name: "settings" } }] }];
    const pods = { spec: { serviceAccountName: "db", volumes, containers } };
    const parent = { ...whole, spec: { ...whole.spec, password: "p", pods } };
    const expected = "configmaps/settings,persistentvolumeclaims/data,secrets/p,serviceaccounts/db";
    assert.equal(strategy.references?.(parent).join(), expected);
    const share = { replicas: 1 };
    const part = newClusterCopy({ strategy, parent, cluster: "east", share, askedReplicas: 3 });
    assert.equal(part.metadata.annotations?.["workloads.kcp.io/refers-to"], expected);
  });

  const unusable: [text: string, expected: RegExp][] = [
    ["self.spec.none", /no such key|none/],
    ["self.spec.cluster", /no list/],
    ['["nodes/a"]', /"nodes\/a" is no reference/],
    ['["secrets/../a"]', /is no reference/],
  ];
  for (const [references, expected] of unusable) {
    it(`says on the whole that ${references} refers to nothing`, () => {
      const strategy = strategyFor({ references, status: {} });
      assert.deepEqual(strategy.references?.(whole), []);
      const { conditions = [] } = decided(strategy).status as {
        conditions?: { type: string; message?: string }[];
      };
      const said = conditions.find(({ type }) => type === "Folded");
      assert.match(said?.message ?? "", expected);
      assert.match(said?.message ?? "", /^references: /);
    });
  }
});
