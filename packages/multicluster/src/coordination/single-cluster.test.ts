import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterState } from "./cluster-state.ts";
import type { EvaluatedCluster } from "./decide.ts";
import type { PlacementRecord } from "./placement-record.ts";
import { assignSingleCluster } from "./single-cluster.ts";
import type { Workload } from "./workload.ts";

const tied = { "workload.kcp.io/volume-cluster": "a" };

function evaluated(
  name: string,
  state: ClusterState,
  more: { weight?: number } = {},
): EvaluatedCluster {
  const object = { metadata: { name: `web--${name}` }, spec: {} };
  const evaluation = { state, untilMs: undefined };
  const share = { name, state, weight: more.weight };
  return {
    name,
    evaluation,
    schedulingResult: undefined,
    object,
    share,
  } as unknown as EvaluatedCluster;
}

function decided(
  clusters: readonly EvaluatedCluster[],
  annotations: Record<string, string> = tied,
  record: PlacementRecord = {},
) {
  const parent = { metadata: { name: "web", annotations }, spec: {} } as unknown as Workload;
  const input = { parent, record };
  const { clusters: kept, migration } = assignSingleCluster(clusters, input, (one) => ({
    ...one,
    name: `not ${one.name}`,
  }));
  return [kept.map(({ name }) => name), migration?.to];
}

describe("workload whose volumes are in one cluster", () => {
  it("a workload with volumes is in the cluster of its volumes and in no other", () => {
    const clusters = [evaluated("a", "Ready"), evaluated("b", "Ready")];
    assert.deepEqual(decided(clusters), [["a", "not b"], undefined]);
    assert.deepEqual(decided(clusters, {}), [["a", "b"], undefined]);
  });

  it("a workload with volumes leaves for one destination cluster, and keeps that destination", () => {
    const others = [evaluated("b", "Ready"), evaluated("c", "Ready", { weight: 3 })];
    const leaving = evaluated("a", "Draining");
    assert.deepEqual(decided([leaving, ...others]), [["a", "not b", "c"], "c"]);
    const begun = { clusters: [{ name: "b", migrationSource: "a" }] };
    assert.deepEqual(decided([leaving, ...others], tied, begun), [["a", "b", "not c"], "b"]);
    assert.deepEqual(decided([evaluated("b", "Ready")]), [["b"], "b"]);
  });

  it("a workload with volumes stays while their cluster is Unreachable, and while no feasible cluster exists", () => {
    assert.deepEqual(decided([evaluated("a", "Unreachable"), evaluated("b", "Ready")]), [
      ["a", "not b"],
      undefined,
    ]);
    assert.deepEqual(decided([evaluated("a", "Draining"), evaluated("b", "Cordoned")]), [
      ["a", "not b"],
      undefined,
    ]);
  });
});
