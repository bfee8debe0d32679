import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { EvaluatedCluster } from "./decide.ts";
import { placeInSingleCluster } from "./one-cluster.ts";
import type { ClusterState } from "./standing.ts";

const tied = { "workloads.kcp.io/volumes-in": "a" };

function place(
  name: string,
  standing: ClusterState,
  more: { weight?: number; from?: string } = {},
): EvaluatedCluster {
  const annotations =
    more.from === undefined ? {} : { "workloads.kcp.io/takes-over-from": more.from };
  const object = { metadata: { name: `web--${name}`, annotations }, spec: {} };
  const judgement = { standing, untilMs: undefined };
  const member = { name, standing, weight: more.weight };
  return { name, judgement, prospect: undefined, object, member } as unknown as EvaluatedCluster;
}

function decided(places: readonly EvaluatedCluster[], annotations: Record<string, string> = tied) {
  const { places: kept, takeover } = placeInSingleCluster(places, annotations, (one) => ({
    ...one,
    name: `not ${one.name}`,
  }));
  return [kept.map(({ name }) => name), takeover?.to];
}

describe("a workload whose volumes are in one cluster", () => {
  it("is in that cluster and no other", () => {
    const places = [place("a", "accepting"), place("b", "accepting")];
    assert.deepEqual(decided(places), [["a", "not b"], undefined]);
    assert.deepEqual(decided(places, {}), [["a", "b"], undefined]);
  });

  it("goes to one other cluster when it has to leave, and keeps to it", () => {
    const others = [place("b", "accepting"), place("c", "accepting", { weight: 3 })];
    const leaving = place("a", "leaving");
    assert.deepEqual(decided([leaving, ...others]), [["a", "not b", "c"], "c"]);
    const begun = [place("b", "accepting", { from: "a" }), place("c", "accepting", { weight: 3 })];
    assert.deepEqual(decided([leaving, ...begun]), [["a", "b", "not c"], "b"]);
    assert.deepEqual(decided([place("b", "accepting")]), [["b"], "b"]);
  });

  it("stays where the data is while that cannot be seen, and while there is nowhere to go", () => {
    assert.deepEqual(decided([place("a", "lost"), place("b", "accepting")]), [
      ["a", "not b"],
      undefined,
    ]);
    assert.deepEqual(decided([place("a", "leaving"), place("b", "cordoned")]), [
      ["a", "not b"],
      undefined,
    ]);
  });
});
