/**
 * Goal: the rolling update limits hold for all clusters together, however each cluster uses its
 * part of them.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SeededRandom } from "@kcp-ts/testkit";
import type { RollingUpdateLimits } from "./kind-rollout.ts";
import { type RollingCopy, rolloutTurns } from "./rollout-turns.ts";

const behind = (name: string, pods: number, more: Partial<RollingCopy> = {}): RollingCopy => ({
  name,
  previousPods: pods,
  pods,
  available: pods,
  isReported: true,
  isOutdated: true,
  limits: undefined,
  isUnreachable: false,
  isNotReady: false,
  rank: undefined,
  ...more,
});
const newest = { isOutdated: false };
const oneAtATime = { unavailable: 1, surge: 0 };

const turns = (
  copies: readonly RollingCopy[],
  mode: RollingUpdateLimits | "ClusterByCluster" = oneAtATime,
) => {
  const scheduled = copies.reduce(
    (sum, { pods, isUnreachable }) => sum + (isUnreachable ? 0 : pods),
    0,
  );
  return Object.fromEntries(rolloutTurns({ copies, scheduled, mode }));
};

describe("rollout of a template", () => {
  it("a template goes to one cluster if one Pod may be unavailable", () => {
    assert.deepEqual(turns([behind("a", 1), behind("b", 1)]), { a: oneAtATime });
  });

  it("a template waits while a Pod of another cluster is unavailable", () => {
    assert.deepEqual(turns([behind("a", 2, { ...newest, available: 1 }), behind("b", 2)]), {});
  });

  it("a template waits while another cluster may make a Pod unavailable", () => {
    assert.deepEqual(
      turns([behind("a", 2, { ...newest, limits: oneAtATime }), behind("b", 2)]),
      {},
    );
  });

  it("a template goes to a cluster whose Pods are unavailable already", () => {
    assert.deepEqual(turns([behind("a", 2), behind("b", 2, { available: 1 })]), { b: oneAtATime });
  });

  it("a template goes to all clusters at once when no Pod is available", () => {
    const none = { available: 0 };
    const { a, b } = turns([behind("a", 2, none), behind("b", 2, none)]);
    assert.deepEqual([a?.unavailable, b?.unavailable], [2, 2]);
  });

  it("maxUnavailable and maxSurge are divided among clusters as far as each suffices", () => {
    const quarter = { unavailable: 3, surge: 4 };
    assert.deepEqual(turns([behind("a", 2), behind("b", 2), behind("c", 2)], quarter), {
      a: { unavailable: 2, surge: 2 },
      b: { unavailable: 1, surge: 2 },
    });
  });

  it("a template does not wait for an Unreachable cluster, and skips a NotReady one", () => {
    const unreachable = behind("a", 2, {
      available: 0,
      isReported: false,
      isUnreachable: true,
      isNotReady: true,
    });
    assert.deepEqual(turns([unreachable, behind("b", 2)]), { b: oneAtATime });
    const away = behind("a", 2, { available: 0, isReported: false, isNotReady: true });
    assert.deepEqual(turns([away, behind("b", 2)]), {});
  });

  it("a template goes to the highest ordinals first", () => {
    const [low, high] = [behind("a", 2, { rank: 0 }), behind("b", 2, { rank: 2 })];
    assert.deepEqual(turns([low, high]), { b: oneAtATime });
    assert.deepEqual(turns([low, { ...high, ...newest }]), { a: oneAtATime });
    assert.deepEqual(turns([low, { ...high, ...newest, limits: oneAtATime }]), {});
  });

  it("a template goes cluster by cluster when the replacement within a cluster is unknown", () => {
    const [a, b] = [behind("a", 2), behind("b", 3)];
    assert.deepEqual(Object.keys(turns([a, b], "ClusterByCluster")), ["a"]);
    const rolling = { ...a, ...newest, limits: { unavailable: 2, surge: 0 } };
    assert.deepEqual(Object.keys(turns([rolling, b], "ClusterByCluster")), []);
    assert.deepEqual(Object.keys(turns([{ ...a, ...newest }, b], "ClusterByCluster")), ["b"]);
  });

  it("a template goes to one cluster while a move replaces the Pods of another", () => {
    const copies = [
      behind("a", 1, { previousPods: 2 }),
      behind("b", 3, { available: 2 }),
      behind("c", 2),
    ];
    const given = rolloutTurns({ copies, scheduled: 5, mode: "ClusterByCluster" });
    assert.deepEqual([...given.keys()], ["a"]);
  });

  it("a template waits for a cluster that scales down during its rollout: it may stop more of the remaining Pods", () => {
    const cut = { ...newest, previousPods: 4, available: 2, limits: { unavailable: 2, surge: 0 } };
    assert.deepEqual(turns([behind("a", 2, cut), behind("b", 2)]), {});
  });

  it("a cluster that scales down gets its new limits together with its replicas, and may stop no more Pods", () => {
    const cut = { previousPods: 2, available: 1, limits: oneAtATime };
    assert.deepEqual(turns([behind("a", 1, cut), behind("b", 1, newest)]), {
      a: { unavailable: 1, surge: 0 },
    });
    const short = behind("b", 2, { ...newest, available: 1 });
    assert.deepEqual(turns([behind("a", 1, cut), short]), {});
  });

  it("a template waits for a cluster that scales up: it may stop Pods before it observes the new replicas", () => {
    const more = { ...newest, previousPods: 2, available: 2, limits: oneAtATime };
    const two = { unavailable: 2, surge: 0 };
    assert.deepEqual(turns([behind("a", 3, more), behind("b", 2)], two), {});
  });

  it("a rollout risks no more Pods than its limits permit while replicas change, in 2,000 cases", () => {
    for (let seed = 0; seed < 2000; seed++) {
      const random = new SeededRandom(seed);
      const copies = Array.from({ length: 1 + random.integer(6) }, (_, index) => {
        const pods = random.integer(6);
        const unavailable = random.integer(pods + 1);
        const limits = random.chance(0.3) ? { unavailable, surge: random.integer(3) } : undefined;
        const available = random.chance(0.6) ? pods : random.integer(pods + 1);
        const previousPods = random.chance(0.6) ? pods : random.integer(9);
        return behind(`c${index}`, pods, {
          previousPods,
          available,
          isOutdated: random.chance(0.6),
          limits,
        });
      });
      const mode = { unavailable: random.integer(4), surge: random.integer(4) };
      const scheduled = copies.reduce((sum, { pods }) => sum + pods, 0);
      const given = rolloutTurns({ copies, scheduled, mode });
      const sure = ({ available, pods, limits }: RollingCopy, share: number) =>
        Math.max(0, Math.min(available, pods, limits ? share - limits.unavailable : pods));
      const surely = (copy: RollingCopy) => sure(copy, Math.min(copy.previousPods, copy.pods));
      const before = copies.reduce((sum, copy) => sum + surely(copy), 0);
      const after = copies.reduce((sum, copy) => {
        const limits = given.get(copy.name);
        if (limits === undefined) return sum + surely(copy);
        return sum + Math.min(sure(copy, copy.previousPods), sure({ ...copy, limits }, copy.pods));
      }, 0);
      const least = Math.min(before, scheduled - mode.unavailable);
      assert.ok(
        after >= least,
        `seed ${seed}: ${after} of ${scheduled} are sure, ${before} before it`,
      );
    }
  });
});
