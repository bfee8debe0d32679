/**
 * The arithmetic of rollouts, over all sizes: single steps never exceed the limits, and the steps
 * converge.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Deployment, ReplicaSet } from "../api/index.ts";
import { desiredAnnotation, maxAnnotation } from "./revisions.ts";
import {
  newSetReplicas,
  rollingLimitsOf,
  scaleDownOldSets,
  scaleProportionally,
} from "./rollout.ts";

function deployment(
  replicas: number,
  maxSurge: number | string,
  maxUnavailable: number | string,
): Deployment {
  const strategy = { type: "RollingUpdate", rollingUpdate: { maxSurge, maxUnavailable } };
  const spec = { replicas, strategy, selector: {}, template: { spec: { containers: [] } } };
  return { apiVersion: "apps/v1", kind: "Deployment", metadata: { name: "web" }, spec };
}

function set(name: string, replicas: number, available: number, sizedFor = replicas): ReplicaSet {
  const annotations = { [desiredAnnotation]: String(sizedFor), [maxAnnotation]: String(sizedFor) };
  return {
    apiVersion: "apps/v1",
    kind: "ReplicaSet",
    metadata: { name, annotations },
    spec: { replicas, selector: {}, template: { spec: { containers: [] } } },
    status: { replicas, availableReplicas: available },
  };
}

const amounts = fc.oneof(
  fc.integer({ min: 0, max: 12 }),
  fc.integer({ min: 0, max: 100 }).map((percent) => `${percent}%`),
);

describe("limits of a rollout", () => {
  const rows = [
    [10, "25%", "25%", 3, 2],
    [1, "25%", "25%", 1, 0],
    [3, 0, "25%", 0, 1],
    [3, "0%", "0%", 0, 1],
    [4, 1, 9, 1, 4],
    [0, "50%", "50%", 0, 0],
  ] as const;
  for (const [replicas, maxSurge, maxUnavailable, surge, unavailable] of rows) {
    it(`the limits of ${replicas} with ${maxSurge} and ${maxUnavailable} are ${surge} more and ${unavailable} fewer`, () => {
      const bounds = rollingLimitsOf(deployment(replicas, maxSurge, maxUnavailable));
      assert.deepEqual(bounds, { surge, unavailable });
    });
  }
});

describe("step of a rollout", () => {
  it("a step never exceeds replicas + maxSurge, and removes no Pods that are needed", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 20 }),
        amounts,
        amounts,
        fc.array(fc.tuple(fc.nat(10), fc.nat(10)), { minLength: 1, maxLength: 4 }),
        (replicas, maxSurge, maxUnavailable, sizes) => {
          const wanted = deployment(replicas, maxSurge, maxUnavailable);
          const { surge, unavailable } = rollingLimitsOf(wanted);
          const [current, ...old] = sizes.map(([size, ready], index) =>
            set(`s${index}`, size, Math.min(size, ready)),
          ) as [ReplicaSet, ...ReplicaSet[]];
          const before = sizes.reduce((sum, [size]) => sum + size, 0);
          const next = newSetReplicas(wanted, current, old);
          const others = before - (current.spec.replicas ?? 0);
          if (next > (current.spec.replicas ?? 0)) assert.ok(next + others <= replicas + surge);

          let available = [current, ...old].reduce(
            (sum, { status }) => sum + (status?.availableReplicas ?? 0),
            0,
          );
          const had = available;
          for (const { set: each, replicas: size } of scaleDownOldSets(wanted, current, old)) {
            assert.ok(size < (each.spec.replicas ?? 0) && size >= 0);
            available -= Math.max(0, (each.status?.availableReplicas ?? 0) - size);
          }
          assert.ok(available >= Math.min(had, replicas - unavailable));
        },
      ),
    );
  });

  it("the steps converge to the new ReplicaSet alone, from all sizes", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 0, max: 20 }),
        amounts,
        amounts,
        fc.nat(20),
        (replicas, maxSurge, maxUnavailable, oldSize) => {
          const wanted = deployment(replicas, maxSurge, maxUnavailable);
          let [current, old] = [set("new", 0, 0), set("old", oldSize, oldSize)];
          for (let step = 0; step < 200; step++) {
            const size = newSetReplicas(wanted, current, [old]);
            current = set("new", size, size);
            for (const down of scaleDownOldSets(wanted, current, [old]))
              old = set("old", down.replicas, down.replicas);
          }
          assert.equal(current.spec.replicas, replicas);
          assert.equal(old.spec.replicas, 0);
        },
      ),
    );
  });
});

describe("scaling during a rollout", () => {
  it("added replicas are distributed in proportion to the ReplicaSets' sizes, with replicas + maxSurge as their sum", () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: 1, max: 30 }),
        fc.integer({ min: 1, max: 29 }),
        (before, after, share) => {
          const first = Math.min(share, before - 1);
          fc.pre(first > 0);
          const sets = [set("a", first, 0, before), set("b", before - first, 0, before)] as const;
          const wanted = deployment(after, 1, 0);
          const sized = scaleProportionally(wanted, sets[0], [sets[1]]);
          const total = sized.reduce((sum, { replicas }) => sum + replicas, 0);
          assert.equal(total, after + 1);
          assert.ok(sized.every(({ replicas }) => replicas >= 0));
        },
      ),
    );
  });

  it("the only ReplicaSet with Pods is scaled", () => {
    const [current, old] = [set("new", 4, 4, 4), set("old", 0, 0, 4)];
    const sized = scaleProportionally(deployment(9, 1, 0), current, [old]);
    assert.deepEqual(
      sized.map(({ set: { metadata }, replicas }) => [metadata.name, replicas]),
      [["new", 9]],
    );
  });
});
