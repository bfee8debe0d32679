/** Goal: whether an agent is there is told by its tunnels: one that breaks off is told from one that ends, and an old one from the newest. */
import assert from "node:assert/strict";
import type { Duplex } from "node:stream";
import { afterEach, describe, it } from "node:test";
import { awakeGraceMs } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { FakeClock } from "@kcp-ts/testkit";
import { Multiplexer, pingMs, pingTimeoutMs } from "./multiplexer.ts";
import { TestConnections } from "./test-support/wire.ts";
import { Tunnels } from "./tunnels.ts";

const target = { cluster: "a" as ClusterName, name: "east", uid: "t-1" };
const knownWithinMs = pingMs + pingTimeoutMs + awakeGraceMs;

const wires = new TestConnections();
afterEach(() => wires.cutAll());

interface Agent {
  readonly end: Duplex;
  readonly tunnel: Multiplexer;
}

function watched() {
  const clock = new FakeClock();
  /** In the order in which they were accepted. */
  const ids: string[] = [];
  const told: string[] = [];
  const tell = (what: string, id: string) => told.push(`${what} ${ids.indexOf(id)}`);
  const tunnels = new Tunnels({
    clock,
    presence: {
      opened: (_target, id) => {
        ids.push(id);
        tell("opened", id);
      },
      broken: (_target, id) => tell("broken", id),
    },
  });
  const dialled = (): Agent => {
    const [near, end] = wires.make();
    tunnels.accept(target, near);
    return {
      end,
      tunnel: new Multiplexer({ connection: end, role: "client", clock, onClose: () => {} }),
    };
  };
  const pass = (ms: number) => clock.advanceAndSettle(ms);
  return { tunnels, told, dialled, pass };
}

/** As a process that is stopped does: what comes stays unread. */
function freeze({ end }: Agent): void {
  end.pause();
  end.removeAllListeners("data");
}

describe("an agent", () => {
  it("is there as long as it answers", async () => {
    const { told, dialled, pass } = watched();
    dialled();
    await pass(600_000);
    assert.deepEqual(told, ["opened 0"]);
  });

  it("is not there when it is silent, or goes without a word", async () => {
    const silent = watched();
    freeze(silent.dialled());
    await silent.pass(knownWithinMs);
    assert.deepEqual(silent.told, ["opened 0", "broken 0"]);
    const killed = watched();
    killed.dialled().end.destroy();
    await killed.pass(0);
    assert.deepEqual(killed.told, ["opened 0", "broken 0"]);
  });

  it("that says goodbye is not missed, nor is one that is sent away", async () => {
    const { tunnels, told, dialled, pass } = watched();
    dialled().tunnel.close("the agent stops");
    await pass(60_000);
    dialled();
    tunnels.close();
    await pass(60_000);
    assert.deepEqual(told, ["opened 0", "opened 1"]);
  });

  it("that has dialled again is there, whatever becomes of its former tunnel", async () => {
    const { told, dialled, pass } = watched();
    const former = dialled();
    freeze(former);
    const newest = dialled();
    await pass(60_000);
    assert.deepEqual(told, ["opened 0", "opened 1"]);
    freeze(newest);
    await pass(knownWithinMs);
    assert.deepEqual(told, ["opened 0", "opened 1", "broken 1"]);
  });
});
