import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { neverAborted } from "@kcp-ts/machinery/base";
import { Client, InProcessTransport } from "@kcp-ts/sdk";
import { FakeClock, SeededRandom } from "@kcp-ts/testkit";
import { areAllNotReady, readInventory } from "./capacity.ts";

const nowMs = Date.UTC(2026, 0, 1, 0, 10);

/** A node with 4 CPUs, which has had this state for some seconds. */
function node(status: string, seconds: number) {
  const lastTransitionTime = new Date(nowMs - seconds * 1000).toISOString();
  const conditions = [{ type: "Ready", status, lastTransitionTime }];
  const amounts = { cpu: "4" };
  return { status: { capacity: amounts, allocatable: amounts, conditions } };
}

async function read(...items: readonly object[]) {
  const body = JSON.stringify({ metadata: {}, items });
  const transport = new InProcessTransport(() => ({ status: 200, body }));
  const client = new Client({ transport, clock: new FakeClock(), random: new SeededRandom(1) });
  const { allocatable, nodes } = await readInventory(client, { nowMs, signal: neverAborted });
  return { cpu: allocatable["cpu"], nodes, isDown: areAllNotReady(nodes) };
}

describe("inventory of nodes", () => {
  it("a node that is NotReady does not count as capacity after a minute", async () => {
    const ready = node("True", 1);
    for (const [status, seconds, cpu] of [
      ["False", 59, "8"],
      ["Unknown", 59, "8"],
      ["False", 60, "4"],
      ["Unknown", 60, "4"],
    ] as const) {
      const nodes = { total: 2, notReady: 1 };
      assert.deepEqual(await read(ready, node(status, seconds)), { cpu, nodes, isDown: false });
    }
  });

  it("a cluster is down when it has nodes and none is Ready", async () => {
    assert.equal((await read(node("Unknown", 1), node("False", 1))).isDown, true);
    assert.equal((await read()).isDown, false);
    assert.equal((await read({ status: { allocatable: { cpu: "4" } } })).isDown, false);
  });
});
