import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterState } from "./cluster-state.ts";
import type { EvaluatedCluster } from "./decide.ts";
import { placeInSingleCluster } from "./single-cluster.ts";

const tied = { "workload.kcp.io/volume-cluster": "a" };

function evaluated(
  name: string,
  state: ClusterState,
  more: { weight?: number; from?: string } = {},
): EvaluatedCluster {
  const annotations =
    more.from === undefined ? {} : { "workload.kcp.io/migration-source": more.from };
  const object = { metadata: { name: `web--${name}`, annotations }, spec: {} };
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
) {
  const { clusters: kept, migration } = placeInSingleCluster(clusters, annotations, (one) => ({
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
    const begun = [evaluated("b", "Ready", { from: "a" }), evaluated("c", "Ready", { weight: 3 })];
    assert.deepEqual(decided([leaving, ...begun]), [["a", "b", "not c"], "b"]);
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
