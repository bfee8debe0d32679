import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { FairQueue, type QueueItem } from "./fair-queue.ts";

const item = (cluster: string, flow = "u", cost = 100): QueueItem => ({ cluster, flow, cost });

function drain(queue: FairQueue<QueueItem>): QueueItem[] {
  const out: QueueItem[] = [];
  for (let next = queue.select(); next !== undefined; next = queue.select()) {
    queue.take(next);
    out.push(next);
  }
  return out;
}

describe("the fair queue", () => {
  it("serves a new flow before the rest of a long queue", () => {
    const queue = new FairQueue<QueueItem>();
    for (let i = 0; i < 1000; i++) queue.push(item("a"));
    queue.take(queue.select() as QueueItem);
    queue.push(item("b"));
    const order = drain(queue).map(({ cluster }) => cluster);
    assert.ok(order.indexOf("b") <= 2, `b came after ${order.indexOf("b")} of a`);
  });

  it("gives a cluster with many users no more than a cluster with a single user", () => {
    const queue = new FairQueue<QueueItem>();
    for (let i = 0; i < 300; i++) queue.push(item("a", `user-${i}`));
    for (let i = 0; i < 50; i++) queue.push(item("b", "only"));
    const first = drain(queue)
      .slice(0, 100)
      .filter(({ cluster }) => cluster === "b");
    assert.ok(first.length >= 48, `b got ${first.length} of 100`);
  });

  it("serves the users of a cluster in round robin", () => {
    const queue = new FairQueue<QueueItem>();
    for (let i = 0; i < 5; i++) queue.push(item("a", "loud"));
    queue.push(item("a", "quiet"));
    const flows = drain(queue).map(({ flow }) => flow);
    assert.equal(flows.indexOf("quiet"), 1);
  });

  it("keeps the order within a flow, and neither loses nor repeats an item", () => {
    const pushes = fc.array(
      fc.record({
        cluster: fc.constantFrom("a", "b", "c"),
        flow: fc.constantFrom("x", "y"),
        cost: fc.integer({ min: 1, max: 100_000 }),
      }),
      { maxLength: 60 },
    );
    fc.assert(
      fc.property(pushes, (items) => {
        const queue = new FairQueue<QueueItem>();
        for (const each of items) queue.push(each);
        assert.equal(queue.size, items.length);
        const served = drain(queue);
        for (const cluster of ["a", "b", "c"])
          for (const flow of ["x", "y"]) {
            const of = (list: readonly QueueItem[]) =>
              list.filter((each) => each.cluster === cluster && each.flow === flow);
            assert.deepEqual(of(served), of(items));
          }
        assert.equal(queue.size, 0);
        assert.equal(queue.clusterCount, 0);
      }),
    );
  });

  it("serves equal cost to clusters with a backlog, regardless of the cost of each request", () => {
    const costs = fc.record({
      a: fc.integer({ min: 10, max: 5000 }),
      b: fc.integer({ min: 10, max: 5000 }),
    });
    fc.assert(
      fc.property(costs, ({ a, b }) => {
        const queue = new FairQueue<QueueItem>();
        for (let i = 0; i < 2000; i++) {
          queue.push(item("a", "u", a));
          queue.push(item("b", "u", b));
        }
        const served = { a: 0, b: 0 };
        while (queue.clusterCount === 2) {
          const next = queue.select() as QueueItem;
          queue.take(next);
          served[next.cluster as "a" | "b"] += next.cost;
          const apart = Math.abs(served.a - served.b);
          assert.ok(apart <= 2 * Math.max(a, b, 200), `${apart} apart at costs ${a} and ${b}`);
        }
      }),
    );
  });

  it("selects the newest item of the longest queue for eviction", () => {
    const queue = new FairQueue<QueueItem>();
    const long = [item("long"), item("long"), item("long")];
    queue.push(item("short"));
    for (const each of long) queue.push(each);
    assert.equal(queue.newestOfLongest(), long[2]);
  });
});
