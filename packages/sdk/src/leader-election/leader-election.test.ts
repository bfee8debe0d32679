import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { sleep } from "@kcp-ts/machinery/base";
import { FakeClock, flushEventLoop, SeededRandom } from "@kcp-ts/testkit";
import { Client, type Transport, TransportError, type TransportRequest } from "../client/index.ts";
import { FakeApiServer } from "../fake-server/index.ts";
import { MetricsRegistry } from "../metrics/index.ts";
import {
  type ElectionEvent,
  type ElectionState,
  electionTransitions,
  holdsLease,
} from "./election-machine.ts";
import { fencedTransport, NotLeaderError } from "./fenced-transport.ts";
import { LeaderElector, type Leadership } from "./leader-elector.ts";
import { type LeaseSpec, leases } from "./lease.ts";

const lease = { namespace: "kube-system", name: "controller" };
const resource = "coordination.k8s.io/v1/leases";

function setUp() {
  const clock = new FakeClock();
  const server = new FakeApiServer({ clock });
  const metrics = new MetricsRegistry();
  const candidate = (identity: string, transport: Transport = server.transport()) => {
    const client = new Client({ transport, clock, random: new SeededRandom(identity.length) });
    const elector = new LeaderElector({ client, lease, identity, metrics });
    const controller = new AbortController();
    const terms: Leadership[] = [];
    const done = elector.run(controller.signal, async (leadership) => {
      terms.push(leadership);
      await new Promise<void>((resolve) => {
        leadership.signal.addEventListener("abort", () => resolve());
        controller.signal.addEventListener("abort", () => resolve());
      });
    });
    return { elector, controller, terms, done };
  };
  const stored = () =>
    (server.store.get(`${resource}|root|kube-system|controller`)?.["spec"] ?? {}) as LeaseSpec;
  return { clock, server, metrics, candidate, stored };
}

describe("leader election", () => {
  it("has one leader; the next one leads when it releases the lease", async () => {
    const { clock, candidate, metrics, stored } = setUp();
    const first = candidate("a");
    await clock.advanceAndFlush(100);
    const second = candidate("bb");
    await clock.advanceAndFlush(60_000);
    assert.deepEqual([first.terms.length, second.terms.length], [1, 0]);
    assert.equal(second.elector.holder, "a");
    assert.match(metrics.text(), /leader_election_master_status\{name="controller"\} 1/);
    first.controller.abort();
    await first.done;
    assert.equal(stored().holderIdentity, "");
    await clock.advanceAndFlush(3000);
    assert.equal(second.terms.length, 1);
    assert.ok((second.terms[0]?.fencingToken ?? 0) > (first.terms[0]?.fencingToken ?? 0));
    second.controller.abort();
    await second.done;
    assert.equal(clock.pendingTimers, 0);
  });

  it("waits for the lease of an unresponsive leader to expire, whatever the wall clocks show", async () => {
    const { clock, server, candidate } = setUp();
    server.put(
      { resource, ...lease },
      {
        spec: {
          holderIdentity: "dead",
          leaseDurationSeconds: 15,
          renewTime: "1999-01-01T00:00:00.000000Z",
          leaseTransitions: 4,
        },
      },
    );
    const one = candidate("a");
    await clock.advanceAndFlush(14_000);
    assert.equal(one.terms.length, 0);
    await clock.advanceAndFlush(5000);
    assert.equal(one.terms[0]?.fencingToken, 5);
    one.controller.abort();
    await one.done;
  });

  it("stops leading before its lease expires when the server is unreachable, and competes again", async () => {
    const { clock, server, candidate } = setUp();
    const one = candidate("a");
    await clock.advanceAndFlush(1000);
    server.restart(60_000);
    await clock.advanceAndFlush(8000);
    assert.equal(one.terms[0]?.isHeld(), true);
    await clock.advanceAndFlush(2000);
    assert.equal(one.terms[0]?.isHeld(), false);
    assert.equal(one.terms[0]?.signal.aborted, true);
    await clock.advanceAndFlush(60_000);
    assert.equal(one.terms.length, 2);
    one.controller.abort();
    await one.done;
  });

  it("stops leading at once when another candidate holds the lease", async () => {
    const { clock, server, candidate } = setUp();
    const one = candidate("a");
    await clock.advanceAndFlush(1000);
    const spec = { holderIdentity: "thief", leaseDurationSeconds: 15, leaseTransitions: 1 };
    server.put({ resource, ...lease }, { spec });
    await clock.advanceAndFlush(2000);
    assert.equal(one.terms[0]?.signal.aborted, true);
    one.controller.abort();
    await one.done;
  });

  it("keeps leading when another client changes only the labels of the Lease", async () => {
    const { clock, server, candidate, stored } = setUp();
    const one = candidate("a");
    await clock.advanceAndFlush(1000);
    const spec = stored();
    server.put({ resource, ...lease }, { spec, metadata: { name: "x", labels: { a: "b" } } });
    await clock.advanceAndFlush(20_000);
    assert.equal(one.terms.length, 1);
    assert.equal(one.terms[0]?.isHeld(), true);
    one.controller.abort();
    await one.done;
  });

  it("keeps the lease while the work ends, and releases it then", async () => {
    const { clock, server, stored } = setUp();
    const client = new Client({ transport: server.transport(), clock });
    const elector = new LeaderElector({ client, lease, identity: "a" });
    const controller = new AbortController();
    const done = elector.run(controller.signal, () => sleep(clock, 40_000));
    await clock.advanceAndFlush(1000);
    controller.abort();
    await clock.advanceAndFlush(30_000);
    assert.equal(stored().holderIdentity, "a");
    await clock.advanceAndFlush(10_000);
    await done;
    assert.equal(stored().holderIdentity, "");
  });

  it("releases the lease and rejects when the work fails", async () => {
    const { clock, server, stored } = setUp();
    const client = new Client({ transport: server.transport(), clock });
    const elector = new LeaderElector({ client, lease, identity: "a" });
    const done = elector.run(new AbortController().signal, async () => {
      throw new Error("broken work");
    });
    await assert.rejects(done, /broken work/);
    assert.equal(stored().holderIdentity, "");
    assert.equal(elector.state, "stopped");
  });

  it("rejects durations that cannot work", () => {
    const { server, clock } = setUp();
    const client = new Client({ transport: server.transport(), clock });
    const make = (times: object) => new LeaderElector({ client, lease, identity: "a", ...times });
    assert.throws(() => make({ leaseDurationMs: 10_000, renewDeadlineMs: 10_000 }), /outlast/);
    assert.throws(() => make({ retryPeriodMs: 9000 }), /frequent/);
  });

  it("never has two leaders, for 100 seeds of delays and lost responses", async () => {
    for (let seed = 1; seed <= 100; seed++) {
      try {
        await contend(seed);
      } catch (error) {
        throw new Error(`seed ${seed} fails`, { cause: error });
      }
    }
  });
});

/**
 * Three candidates behind networks that delay, lose requests, and lose responses of requests that
 * took effect.
 */
async function contend(seed: number): Promise<void> {
  const random = new SeededRandom(seed);
  const { clock, server, candidate } = setUp();
  const candidates = ["a", "bb", "ccc"].map((identity) => {
    const inner = server.transport();
    const dice = random.fork();
    const bad: Transport = {
      async send(request: TransportRequest) {
        await sleep(clock, dice.integer(dice.chance(0.2) ? 14_000 : 300), request.signal);
        if (dice.chance(0.1)) throw new TransportError("connection-lost", "request lost");
        const response = await inner.send(request);
        await sleep(clock, dice.integer(dice.chance(0.2) ? 14_000 : 300), request.signal);
        if (dice.chance(0.1)) throw new TransportError("connection-lost", "answer lost");
        return response;
      },
      close: () => inner.close(),
    };
    return candidate(identity, bad);
  });
  let led = 0;
  for (let tick = 0; tick < 240; tick++) {
    await clock.advanceAndFlush(250);
    if (random.chance(0.01)) server.restart(random.integer(20_000));
    const leaders = candidates.filter(({ terms }) => terms.some((term) => term.isHeld()));
    assert.ok(leaders.length <= 1, `${leaders.length} leaders at ${clock.monotonic()}`);
    led += leaders.length;
  }
  assert.ok(led > 0, "nobody ever led");
  const tokens = candidates.flatMap(({ terms }) => terms.map((term) => term.fencingToken));
  for (const { controller } of candidates) controller.abort();
  await clock.advanceAndFlush(60_000);
  await Promise.all(candidates.map(({ done }) => done));
  assert.ok(tokens.length > 0);
  assert.equal(clock.pendingTimers, 0);
}

describe("the election's state machine", () => {
  const states: ElectionState[] = [
    "idle",
    "campaigning",
    "standby",
    "leading",
    "renewing",
    "releasing",
    "stopped",
  ];
  const all: ElectionEvent[] = [
    "start",
    "stop",
    "won",
    "lost",
    "failed",
    "elapsed",
    "expired",
    "released",
  ];

  it("has a transition for every event in every state", () => {
    assert.deepEqual(Object.keys(electionTransitions).sort(), [...states].sort());
    for (const state of states) {
      assert.deepEqual(Object.keys(electionTransitions[state]).sort(), [...all].sort());
    }
  });

  it("enters leadership only by acquiring the lease, and leaves it on any doubt", () => {
    for (const state of states) {
      for (const event of all) {
        const next = electionTransitions[state][event].state;
        if (!holdsLease(state) && holdsLease(next)) assert.equal(event, "won", state);
        if (holdsLease(state) && ["lost", "expired", "stop"].includes(event)) {
          assert.equal(holdsLease(next), false, `${state} ${event}`);
        }
        if (next === "releasing" && state !== "releasing") assert.ok(holdsLease(state));
      }
    }
  });
});

describe("a fenced transport", () => {
  it("forwards writes only while the lease is held, and reads always", async () => {
    const { clock, server, candidate } = setUp();
    const one = candidate("a");
    await clock.advanceAndFlush(1000);
    const [leadership] = one.terms;
    assert.ok(leadership !== undefined);
    const transport = fencedTransport(server.transport(), leadership);
    const client = new Client({ transport, clock }).resource(leases);
    const other = { metadata: { namespace: "x", name: "other" } };
    await client.create(other);
    // The process is suspended: time passes, and no timer fires.
    const later = { ...leadership, isHeld: () => clock.monotonic() + 3_600_000 < 0 };
    const stuck = new Client({ transport: fencedTransport(server.transport(), later), clock });
    await assert.rejects(stuck.resource(leases).update(other), NotLeaderError);
    await stuck.resource(leases).get({ namespace: "x", name: "other" });
    server.restart(30_000);
    await clock.advanceAndFlush(31_000);
    await flushEventLoop();
    await assert.rejects(client.update(other), NotLeaderError);
    one.controller.abort();
    await one.done;
  });
});
