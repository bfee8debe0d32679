/** Goal: one budget for all clusters together, whatever each of them does with its share of it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SeededRandom } from "@kcp-ts/testkit";
import type { RollingUpdateLimits } from "./form.ts";
import { type RollingCopy, rolloutTurns } from "./plan-roll-out.ts";

const behind = (name: string, pods: number, more: Partial<RollingCopy> = {}): RollingCopy => ({
  name,
  has: pods,
  pods,
  available: pods,
  isReported: true,
  isBehind: true,
  pace: undefined,
  isOut: false,
  isAway: false,
  rank: undefined,
  ...more,
});
const newest = { isBehind: false };
const oneAtATime = { unavailable: 1, surge: 0 };

const turns = (
  parts: readonly RollingCopy[],
  allowance: RollingUpdateLimits | "clusterwise" = oneAtATime,
) => {
  const placed = parts.reduce((sum, { pods, isOut }) => sum + (isOut ? 0 : pods), 0);
  return Object.fromEntries(rolloutTurns({ parts, placed, allowance }));
};

describe("a template that is rolled out", () => {
  it("goes to one cluster, if one may be unavailable", () => {
    assert.deepEqual(turns([behind("a", 1), behind("b", 1)]), { a: oneAtATime });
  });

  it("waits while one is unavailable elsewhere", () => {
    assert.deepEqual(turns([behind("a", 2, { ...newest, available: 1 }), behind("b", 2)]), {});
  });

  it("waits while another cluster may make one unavailable", () => {
    assert.deepEqual(turns([behind("a", 2, { ...newest, pace: oneAtATime }), behind("b", 2)]), {});
  });

  it("goes where something is unavailable already", () => {
    assert.deepEqual(turns([behind("a", 2), behind("b", 2, { available: 1 })]), { b: oneAtATime });
  });

  it("goes to all at once where nothing is available", () => {
    const none = { available: 0 };
    const { a, b } = turns([behind("a", 2, none), behind("b", 2, none)]);
    assert.deepEqual([a?.unavailable, b?.unavailable], [2, 2]);
  });

  it("is divided: unavailable and surge, each as far as it goes", () => {
    const quarter = { unavailable: 3, surge: 4 };
    assert.deepEqual(turns([behind("a", 2), behind("b", 2), behind("c", 2)], quarter), {
      a: { unavailable: 2, surge: 2 },
      b: { unavailable: 1, surge: 2 },
    });
  });

  it("waits for no lost cluster, and passes one by that cannot be seen", () => {
    const lost = behind("a", 2, { available: 0, isReported: false, isOut: true, isAway: true });
    assert.deepEqual(turns([lost, behind("b", 2)]), { b: oneAtATime });
    const away = behind("a", 2, { available: 0, isReported: false, isAway: true });
    assert.deepEqual(turns([away, behind("b", 2)]), {});
  });

  it("goes from the highest number down, where there are numbers", () => {
    const [low, high] = [behind("a", 2, { rank: 0 }), behind("b", 2, { rank: 2 })];
    assert.deepEqual(turns([low, high]), { b: oneAtATime });
    assert.deepEqual(turns([low, { ...high, ...newest }]), { a: oneAtATime });
    assert.deepEqual(turns([low, { ...high, ...newest, pace: oneAtATime }]), {});
  });

  it("goes cluster by cluster, where nobody knows what happens within one", () => {
    const [a, b] = [behind("a", 2), behind("b", 3)];
    assert.deepEqual(Object.keys(turns([a, b], "clusterwise")), ["a"]);
    const rolling = { ...a, ...newest, pace: { unavailable: 2, surge: 0 } };
    assert.deepEqual(Object.keys(turns([rolling, b], "clusterwise")), []);
    assert.deepEqual(Object.keys(turns([{ ...a, ...newest }, b], "clusterwise")), ["b"]);
  });

  it("goes to one cluster, where a move makes up for another one", () => {
    const parts = [behind("a", 1, { has: 2 }), behind("b", 3, { available: 2 }), behind("c", 2)];
    const given = rolloutTurns({ parts, placed: 5, allowance: "clusterwise" });
    assert.deepEqual([...given.keys()], ["a"]);
  });

  it("waits for a cluster that is to have fewer while it replaces Pods: it may stop more of those that are left", () => {
    const cut = { ...newest, has: 4, available: 2, pace: { unavailable: 2, surge: 0 } };
    assert.deepEqual(turns([behind("a", 2, cut), behind("b", 2)]), {});
  });

  it("gives a cluster no more to stop because it is to have fewer: with its share it hears of its pace", () => {
    const cut = { has: 2, available: 1, pace: oneAtATime };
    assert.deepEqual(turns([behind("a", 1, cut), behind("b", 1, newest)]), {
      a: { unavailable: 1, surge: 0 },
    });
    const short = behind("b", 2, { ...newest, available: 1 });
    assert.deepEqual(turns([behind("a", 1, cut), short]), {});
  });

  it("waits for a cluster that is to have more: it may stop some before it hears of that", () => {
    const more = { ...newest, has: 2, available: 2, pace: oneAtATime };
    const two = { unavailable: 2, surge: 0 };
    assert.deepEqual(turns([behind("a", 3, more), behind("b", 2)], two), {});
  });

  it("puts no more at stake than it may, also while shares change, in 2,000 cases", () => {
    for (let seed = 0; seed < 2000; seed++) {
      const random = new SeededRandom(seed);
      const parts = Array.from({ length: 1 + random.integer(6) }, (_, index) => {
        const pods = random.integer(6);
        const unavailable = random.integer(pods + 1);
        const pace = random.chance(0.3) ? { unavailable, surge: random.integer(3) } : undefined;
        const available = random.chance(0.6) ? pods : random.integer(pods + 1);
        const has = random.chance(0.6) ? pods : random.integer(9);
        return behind(`c${index}`, pods, { has, available, isBehind: random.chance(0.6), pace });
      });
      const allowance = { unavailable: random.integer(4), surge: random.integer(4) };
      const placed = parts.reduce((sum, { pods }) => sum + pods, 0);
      const given = rolloutTurns({ parts, placed, allowance });
      const sure = ({ available, pods, pace }: RollingCopy, share: number) =>
        Math.max(0, Math.min(available, pods, pace ? share - pace.unavailable : pods));
      const surely = (part: RollingCopy) => sure(part, Math.min(part.has, part.pods));
      const before = parts.reduce((sum, part) => sum + surely(part), 0);
      const after = parts.reduce((sum, part) => {
        const pace = given.get(part.name);
        if (pace === undefined) return sum + surely(part);
        return sum + Math.min(sure(part, part.has), sure({ ...part, pace }, part.pods));
      }, 0);
      const least = Math.min(before, placed - allowance.unavailable);
      assert.ok(
        after >= least,
        `seed ${seed}: ${after} of ${placed} are sure, ${before} before it`,
      );
    }
  });
});
