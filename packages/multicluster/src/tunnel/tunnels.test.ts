/**
 * Goal: tunnels show whether an agent is connected: a broken tunnel is distinguished from a closed
 * one, and an old tunnel from the newest.
 */
import assert from "node:assert/strict";
import type { Duplex } from "node:stream";
import { afterEach, describe, it } from "node:test";
import { awakeGraceMs } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { FakeClock } from "@kcp-ts/testkit";
import { Multiplexer, pingMs, pingTimeoutMs } from "./multiplexer.ts";
import { TestConnections } from "./test-support/test-connections.ts";
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
  /** In the order of acceptance. */
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
  const pass = (ms: number) => clock.advanceAndFlush(ms);
  return { tunnels, told, dialled, pass };
}

/** Like a suspended process: received bytes stay unread. */
function freeze({ end }: Agent): void {
  end.pause();
  end.removeAllListeners("data");
}

describe("presence of an agent", () => {
  it("an agent is connected as long as it responds to pings", async () => {
    const { told, dialled, pass } = watched();
    dialled();
    await pass(600_000);
    assert.deepEqual(told, ["opened 0"]);
  });

  it("an agent is lost when it is silent, or its connection breaks", async () => {
    const silent = watched();
    freeze(silent.dialled());
    await silent.pass(knownWithinMs);
    assert.deepEqual(silent.told, ["opened 0", "broken 0"]);
    const killed = watched();
    killed.dialled().end.destroy();
    await killed.pass(0);
    assert.deepEqual(killed.told, ["opened 0", "broken 0"]);
  });

  it("an agent that closes its tunnel is not reported as lost, nor is one that the server disconnects", async () => {
    const { tunnels, told, dialled, pass } = watched();
    dialled().tunnel.close("the agent stops");
    await pass(60_000);
    dialled();
    tunnels.close();
    await pass(60_000);
    assert.deepEqual(told, ["opened 0", "opened 1"]);
  });

  it("an agent that has dialled again is connected, whatever happens to its former tunnel", async () => {
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
