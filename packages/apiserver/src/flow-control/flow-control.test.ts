/**
 * Flow control in a simulation: one virtual thread serves requests one after the other, the test
 * advances the turns of the event loop, and the clock only moves when the test moves it.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import fc from "fast-check";
import { eventLoopLimits, tooBusy } from "../event-loop/index.ts";
import type { ResourceScope, Verb } from "../request/request-scope.ts";
import type { UserInfo } from "../request/user.ts";
import { FakeClock } from "../testing/index.ts";
import {
  FlowControl,
  type FlowControlledRequest,
  type FlowControlOptions,
} from "./flow-control.ts";

const tenant: UserInfo = { username: "someone", groups: ["system:authenticated"] };
const micros = 100;

interface Guest extends FlowControlledRequest {
  readonly outcome: { state: "waits" | "begun" | "refused"; error?: unknown };
  readonly leaving: AbortController;
}

class Simulation {
  readonly clock = new FakeClock();
  readonly rejected: string[] = [];
  readonly fairness: FlowControl;
  #turns: (() => void)[] = [];

  constructor(options: Partial<FlowControlOptions> = {}) {
    this.fairness = new FlowControl({
      clock: this.clock,
      scheduleImmediate: (callback) => this.#turns.push(callback),
      timers: {
        add: (callback, ms) => {
          const timer = this.clock.schedule(ms, callback);
          return () => timer.cancel();
        },
      },
      onRejected: (_, reason) => this.rejected.push(reason),
      ...options,
    });
  }

  guest(
    cluster: string,
    { user = tenant, verb = "get", namespace = "default", isShown = true } = {},
  ): Guest {
    const leaving = new AbortController();
    if (isShown) this.fairness.markClusterExisting(cluster);
    const scope: ResourceScope = {
      kind: "resource",
      cluster: cluster as ClusterName,
      path: "/",
      query: new URLSearchParams(),
      verb: verb as Verb,
      group: "",
      version: "v1",
      resource: "configmaps",
      subresource: "",
      namespace,
      name: "x",
    };
    return {
      ...{ user, scope, leaving, signal: leaving.signal },
      ...{
        flowSchema: undefined,
        tenantKey: "",
        seats: 0,
        queuedRequest: undefined,
        queue: undefined,
        isFinished: false,
        bodyBytes: 0,
      },
      outcome: { state: "waits" },
    };
  }

  arrive(guest: Guest, cost = micros, seats = 1): Guest {
    this.fairness.classify(guest);
    const isExempt = this.fairness.admitExempt(guest);
    const pending = isExempt ? undefined : this.fairness.admit(guest, { seats, micros: cost });
    if (pending === undefined) guest.outcome.state = "begun";
    else
      pending.then(
        () => Object.assign(guest.outcome, { state: "begun" }),
        (error) => Object.assign(guest.outcome, { state: "refused", error }),
      );
    return guest;
  }

  /** Runs the turns that are scheduled now, and awaits pending promises. */
  async turn(): Promise<void> {
    const turns = this.#turns;
    this.#turns = [];
    for (const next of turns) next();
    for (let i = 0; i < 5; i++) await undefined;
  }

  get hasTurns(): boolean {
    return this.#turns.length > 0;
  }
}

const inUse = (simulation: Simulation) =>
  simulation.fairness.priorityLevels.reduce((sum, level) => sum + level.seatsInUse, 0);
const waiting = (simulation: Simulation) =>
  simulation.fairness.priorityLevels.reduce((sum, level) => sum + level.queue.size, 0);

describe("flow control", () => {
  it("starts a request at once when a seat is free", () => {
    const simulation = new Simulation();
    const guest = simulation.arrive(simulation.guest("a"));
    assert.equal(guest.outcome.state, "begun");
    assert.equal(inUse(simulation), 1);
    simulation.fairness.release(guest);
    simulation.fairness.release(guest);
    assert.equal(inUse(simulation), 0);
  });

  it("delays another tenant by one service, not by the queue of the first tenant", async () => {
    const simulation = new Simulation({ seatsTotal: 100, eventLoopBudgetMicros: micros });
    const flood = Array.from({ length: 300 }, () => simulation.arrive(simulation.guest("loud")));
    const victim = simulation.arrive(simulation.guest("quiet"));
    let servedBefore = flood.filter(({ outcome }) => outcome.state === "begun").length;
    while (victim.outcome.state === "waits") {
      for (const guest of flood) if (guest.seats > 0) simulation.fairness.release(guest);
      await simulation.turn();
      servedBefore = flood.filter(({ outcome }) => outcome.state === "begun").length;
    }
    assert.ok(servedBefore <= 4, `${servedBefore} were served before`);
  });

  it("starts no more work in a turn than the budget permits", async () => {
    const simulation = new Simulation({ eventLoopBudgetMicros: 10 * micros });
    const guests = Array.from({ length: 200 }, () => simulation.arrive(simulation.guest("a")));
    const begun = () => guests.filter(({ outcome }) => outcome.state === "begun").length;
    assert.equal(begun(), 10);
    await simulation.turn();
    assert.equal(begun(), 20);
  });

  it("rejects a request beyond the queue length of a flow, with the text and the header of Kubernetes", async () => {
    const simulation = new Simulation({ seatsTotal: 245 });
    const level = simulation.fairness.priorityLevels.find(
      ({ config }) => config.name === "global-default",
    );
    assert.equal(level?.nominalSeats, 20);
    const guests: Guest[] = [];
    while (waiting(simulation) < 300) guests.push(simulation.arrive(simulation.guest("a")));
    assert.equal(level.queue.size, 6 * 50);
    const over = simulation.arrive(simulation.guest("a"));
    await simulation.turn();
    assert.equal(over.outcome.error, tooBusy);
    assert.deepEqual(simulation.rejected, ["queue-full"]);
    assert.ok(guests.every(({ outcome }) => outcome.state !== "refused"));
  });

  it("evicts from the longest queue when a level is full, so that a new tenant is admitted", async () => {
    const simulation = new Simulation({ seatsTotal: 13, eventLoopBudgetMicros: 1 });
    const level = simulation.fairness.priorityLevels.find(
      ({ config }) => config.name === "global-default",
    );
    assert.ok(level !== undefined);
    // Many users of one tenant, each within its own limit.
    for (let i = 0; level.queue.size < level.lengthMax; i++) {
      const user = { username: `user-${i % 100}`, groups: ["system:authenticated"] };
      simulation.arrive(simulation.guest("many", { user }));
    }
    const victim = simulation.arrive(simulation.guest("quiet"));
    assert.equal(level.queue.size, level.lengthMax);
    await simulation.turn();
    assert.notEqual(victim.outcome.state, "refused");
    assert.deepEqual(simulation.rejected, ["queue-full"]);
  });

  it("rejects a request that has waited too long", async () => {
    const simulation = new Simulation({ eventLoopBudgetMicros: 1, queueWaitMaxMs: 15_000 });
    simulation.arrive(simulation.guest("a"));
    const guest = simulation.arrive(simulation.guest("a"));
    simulation.clock.advance(14_999);
    await undefined;
    assert.equal(guest.outcome.state, "waits");
    simulation.clock.advance(1);
    for (let i = 0; i < 5; i++) await undefined;
    assert.equal(guest.outcome.error, tooBusy);
    assert.equal(simulation.clock.pending, 0);
  });

  it("borrows unused seats of other levels, and not the seats that they reserve", () => {
    const simulation = new Simulation({ seatsTotal: 245, eventLoopBudgetMicros: 1e9 });
    const guests: Guest[] = [];
    for (let i = 0; i < 400; i++) guests.push(simulation.arrive(simulation.guest(`c${i}`)));
    const begun = guests.filter(({ outcome }) => outcome.state === "begun").length;
    const kept = simulation.fairness.priorityLevels
      .filter(({ config }) => config.name !== "global-default")
      .reduce((sum, { reservedSeats }) => sum + reservedSeats, 0);
    assert.equal(begun, 245 - kept);
    // A level with seats of its own gets them at once, even if other levels have borrowed many of
    // them.
    const leader: UserInfo = { username: "system:kube-scheduler", groups: [] };
    assert.equal(simulation.arrive(simulation.guest("x", { user: leader })).outcome.state, "begun");
  });

  it("makes no seats borrowable that exempt requests use, and as many of the exempt level's seats as its lendablePercent permits", () => {
    const begunBeside = (exempt: number, share: JsonObject = {}) => {
      const simulation = new Simulation({ seatsTotal: 245, eventLoopBudgetMicros: 1e9 });
      const spec = { type: "Exempt", exempt: share };
      simulation.fairness.configure([], [{ metadata: { name: "exempt", uid: "u" }, spec }]);
      const user: UserInfo = { username: "root", groups: ["system:masters"] };
      for (let i = 0; i < exempt; i++) simulation.arrive(simulation.guest("x", { user }));
      const guests: Guest[] = [];
      for (let i = 0; i < 400; i++) guests.push(simulation.arrive(simulation.guest(`c${i}`)));
      return guests.filter(({ outcome }) => outcome.state === "begun").length;
    };
    const alone = begunBeside(0);
    assert.equal(begunBeside(40), alone - 40);
    // The exempt level now has half of 490 shares: 123 seats, of which it reserves those that it
    // does not lend.
    const kept = begunBeside(0, { nominalConcurrencyShares: 245 });
    const lent = begunBeside(0, { nominalConcurrencyShares: 245, lendablePercent: 100 });
    assert.equal(lent - kept, 123);
  });

  it("gives a level that may not borrow its own seats and no more", () => {
    const simulation = new Simulation({ seatsTotal: 245, eventLoopBudgetMicros: 1e9 });
    const limited = {
      nominalConcurrencyShares: 20,
      borrowingLimitPercent: 0,
      limitResponse: { type: "Queue", queuing: {} },
    };
    const metadata = { name: "global-default", uid: "u" };
    simulation.fairness.configure([], [{ metadata, spec: { type: "Limited", limited } }]);
    const guests: Guest[] = [];
    for (let i = 0; i < 60; i++) guests.push(simulation.arrive(simulation.guest(`c${i}`)));
    assert.equal(guests.filter(({ outcome }) => outcome.state === "begun").length, 20);
  });

  it("never makes exempt requests wait", () => {
    const simulation = new Simulation({ seatsTotal: 8, eventLoopBudgetMicros: 1 });
    for (let i = 0; i < 50; i++) simulation.arrive(simulation.guest("a"));
    const user: UserInfo = { username: "root", groups: ["system:masters"] };
    assert.equal(simulation.arrive(simulation.guest("a", { user })).outcome.state, "begun");
  });

  it("never leaks a seat or a place in a queue, in any order of requests", async () => {
    const step = fc.oneof(
      fc.record({
        do: fc.constant("arrive" as const),
        cluster: fc.constantFrom("a", "b", "c"),
        seats: fc.integer({ min: 1, max: 10 }),
        cost: fc.integer({ min: 1, max: 8000 }),
      }),
      fc.record({ do: fc.constantFrom("finish", "abort", "turn", "wait"), at: fc.nat(30) }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 80 }), async (steps) => {
        const simulation = new Simulation({ seatsTotal: 26, eventLoopBudgetMicros: 300 });
        const guests: Guest[] = [];
        for (const each of steps) {
          if (each.do === "arrive")
            guests.push(simulation.arrive(simulation.guest(each.cluster), each.cost, each.seats));
          else if (each.do === "turn") await simulation.turn();
          else if (each.do === "wait") simulation.clock.advance(1000);
          else if (each.do === "finish" && guests[each.at] !== undefined)
            simulation.fairness.release(guests[each.at] as Guest);
          else if (each.do === "abort") guests[each.at]?.leaving.abort(new Error("gone"));
          const held = guests.reduce((sum, { seats }) => sum + seats, 0);
          assert.equal(inUse(simulation), held);
          assert.ok(held <= 26, `${held} seats of 26`);
          assert.equal(
            waiting(simulation),
            guests.filter(({ queuedRequest }) => queuedRequest).length,
          );
        }
        for (const guest of guests) simulation.fairness.release(guest);
        simulation.clock.advance(1000);
        for (let i = 0; i < 200 && simulation.hasTurns; i++) await simulation.turn();
        assert.equal(inUse(simulation), 0);
        assert.equal(waiting(simulation), 0);
        assert.equal(simulation.clock.pending, 0);
      }),
    );
  });

  it("starts every waiting request within the turns that the work ahead of its fair share takes", async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 6 }),
        fc.integer({ min: 1, max: 100 }),
        async (tenants, each) => {
          const simulation = new Simulation({ seatsTotal: 600, eventLoopBudgetMicros: micros });
          simulation.arrive(simulation.guest("other"));
          for (let t = 0; t < tenants; t++)
            for (let i = 0; i < each; i++) simulation.arrive(simulation.guest(`loud-${t}`));
          const victim = simulation.arrive(simulation.guest("quiet"));
          let turns = 0;
          for (; victim.outcome.state === "waits"; turns++) await simulation.turn();
          // A quantum is two services: each other tenant has one visit before the tenant under
          // test.
          assert.ok(turns <= 2 * tenants + 2, `${turns} turns beside ${tenants} tenants`);
        },
      ),
    );
  });

  it("admits large requests one after the other, and small requests beside them", async () => {
    const simulation = new Simulation();
    const heavy = ["a", "a", "b"].map((cluster) =>
      simulation.arrive(simulation.guest(cluster), 10_000),
    ) as [Guest, Guest, Guest];
    await simulation.turn();
    await simulation.turn();
    const states = () => heavy.map(({ outcome }) => outcome.state);
    assert.deepEqual(states(), ["begun", "waits", "waits"]);
    assert.equal(simulation.arrive(simulation.guest("b")).outcome.state, "begun");
    simulation.clock.advance(30);
    simulation.fairness.release(heavy[0]);
    simulation.clock.advance(59);
    await simulation.turn();
    assert.deepEqual(states(), ["begun", "waits", "waits"], "it rests twice as long as it took");
    simulation.clock.advance(1);
    await simulation.turn();
    assert.deepEqual(states(), ["begun", "begun", "waits"]);
    // No other tenant sent a request in between: the queue does not pause.
    simulation.fairness.release(heavy[1]);
    await simulation.turn();
    assert.deepEqual(states(), ["begun", "begun", "begun"]);
  });

  describe("the small-request bypass", () => {
    const { microsMax, microsPerTenant, microsPerTurn } = eventLoopLimits.smallRequestBypass;
    const flooded = (options: Partial<FlowControlOptions> = {}) => {
      const simulation = new Simulation({ seatsTotal: 100, ...options });
      for (let i = 0; i < 200; i++) simulation.arrive(simulation.guest("loud"), 150);
      return simulation;
    };
    const stateOf = (simulation: Simulation, cluster: string, cost: number) =>
      simulation.arrive(simulation.guest(cluster), cost).outcome.state;

    it("starts a small request at once while requests of another cluster wait", () => {
      assert.equal(stateOf(flooded(), "quiet", microsMax), "begun");
      assert.equal(stateOf(flooded(), "quiet", microsMax + 1), "waits");
      assert.equal(stateOf(flooded(), "loud", microsMax), "waits");
    });

    it("limits the bypass of one cluster to its part of a turn", async () => {
      const simulation = flooded();
      const count = Math.floor(microsPerTenant / microsMax);
      for (let i = 0; i < count; i++)
        assert.equal(stateOf(simulation, "quiet", microsMax), "begun", String(i));
      assert.equal(stateOf(simulation, "quiet", microsMax), "waits");
      // The waiting request starts first, and its cluster may not bypass while it waits.
      assert.equal(stateOf(simulation, "quiet", 1), "waits");
      await simulation.turn();
      assert.equal(stateOf(simulation, "quiet", microsMax), "begun");
    });

    it("limits the bypass of all clusters together to a part of a turn", () => {
      const simulation = flooded();
      const count = Math.floor(microsPerTurn / microsMax);
      for (let i = 0; i < count; i++)
        assert.equal(stateOf(simulation, `quiet-${i}`, microsMax), "begun", String(i));
      assert.equal(stateOf(simulation, "one-more", microsMax), "waits");
    });
  });

  it("starts less work in a turn while two clusters are at work, and more again when one is", async () => {
    const simulation = new Simulation({
      ...{
        seatsTotal: 10_000,
        eventLoopBudgetMicros: 10 * micros,
        contendedTurnBudgetMicros: 4 * micros,
      },
    });
    const begunBy = async (cluster: string) => {
      const guests = Array.from({ length: 30 }, () => simulation.arrive(simulation.guest(cluster)));
      const before = guests.filter(({ outcome }) => outcome.state === "begun").length;
      await simulation.turn();
      const begun = guests.filter(({ outcome }) => outcome.state === "begun").length - before;
      while (simulation.hasTurns) await simulation.turn();
      for (const guest of guests) simulation.fairness.release(guest);
      return begun;
    };
    assert.equal(await begunBy("a"), 10);
    assert.equal(await begunBy("b"), 4);
    let calm = 0;
    for (let i = 0; i < 100 && calm !== 10; i++) calm = await begunBy("b");
    assert.equal(calm, 10);
  });

  it("counts all clusters that do not exist as one tenant for each user", async () => {
    const simulation = new Simulation({ seatsTotal: 100, eventLoopBudgetMicros: 1 });
    const inventor: UserInfo = { username: "inventor", groups: ["system:authenticated"] };
    for (let i = 0; i < 200; i++)
      simulation.arrive(
        simulation.guest(`invented-${i}`, { user: inventor, isShown: false }),
        1000,
      );
    const level = simulation.fairness.priorityLevels.find(
      ({ config }) => config.name === "global-default",
    );
    assert.equal(level?.queue.clusterCount, 1);
    const victim = simulation.arrive(simulation.guest("real"), 1000);
    assert.equal(level.queue.clusterCount, 2);
    let turns = 0;
    for (; victim.outcome.state === "waits"; turns++) await simulation.turn();
    // The two tenants alternate.
    assert.ok(turns <= 12, `${turns} turns`);
  });

  it("charges a body to the same tenant when its cluster is proved to exist in between", () => {
    const bodies = { bytesMax: 100, bytesPerTenantMax: 60 };
    const simulation = new Simulation({ bodies });
    const guest = simulation.guest("new", { isShown: false });
    simulation.fairness.classify(guest);
    simulation.fairness.reserveBody(guest, 60);
    simulation.fairness.markClusterExisting("new");
    simulation.fairness.release(guest);
    const next = simulation.guest("new");
    simulation.fairness.classify(next);
    simulation.fairness.reserveBody(next, 60);
    assert.throws(() => simulation.fairness.reserveBody(next, 1));
  });

  it("gives no seat to a request that was answered before its body arrived", async () => {
    const simulation = new Simulation();
    const late = simulation.guest("a");
    simulation.fairness.classify(late);
    simulation.fairness.release(late);
    simulation.arrive(late);
    const exempt = simulation.guest("a", { user: { username: "x", groups: ["system:masters"] } });
    simulation.fairness.classify(exempt);
    simulation.fairness.release(exempt);
    simulation.arrive(exempt);
    await simulation.turn();
    assert.equal(inUse(simulation), 0);
  });

  it("applies the operator's objects, and restores the defaults when they are deleted", () => {
    const simulation = new Simulation();
    const level: JsonObject = {
      metadata: { name: "mine", uid: "level-uid" },
      spec: { type: "Limited", limited: { limitResponse: { type: "Reject" } } },
    };
    const schema: JsonObject = {
      metadata: { name: "mine", uid: "schema-uid" },
      spec: {
        priorityLevelConfiguration: { name: "mine" },
        matchingPrecedence: 50,
        rules: [
          {
            subjects: [{ kind: "User", user: { name: "someone" } }],
            resourceRules: [
              { verbs: ["get"], apiGroups: ["*"], resources: ["configmaps"], namespaces: ["*"] },
            ],
          },
        ],
      },
    };
    simulation.fairness.configure([schema], [level]);
    const one = simulation.guest("a");
    assert.equal(simulation.fairness.classify(one).config.uid, "schema-uid");
    assert.equal(
      simulation.fairness.classify(simulation.guest("a", { verb: "list" })).config.name,
      "global-default",
    );
    simulation.fairness.configure([], []);
    assert.equal(simulation.fairness.classify(one).config.name, "global-default");
  });

  it("does not match the operator's schemas with names that a tenant gives its users", () => {
    const simulation = new Simulation();
    const named = (username: string, groups: string[], extra?: UserInfo["extra"]) => {
      const user = {
        username,
        groups: [...groups, "system:authenticated"],
        ...(extra && { extra }),
      };
      return simulation.fairness.classify(simulation.guest("a", { user })).config.name;
    };
    const scoped = { "authentication.kcp.io/scopes": ["cluster:a"] };
    const ofCluster = { "authentication.kcp.io/cluster-name": ["a"] };
    assert.equal(named("system:kube-scheduler", []), "kube-scheduler");
    assert.equal(named("n", ["system:nodes"]), "system-nodes");
    assert.equal(named("n", ["system:masters"]), "exempt");
    for (const extra of [scoped, ofCluster]) {
      assert.equal(named("system:kube-scheduler", [], extra), "global-default");
      assert.equal(named("system:kube-controller-manager", [], extra), "global-default");
      for (const group of ["system:nodes", "system:masters", "system:kcp:admin"])
        assert.equal(named("n", [group], extra), "global-default", group);
      const account = "system:serviceaccount:n:builder";
      assert.equal(named(account, ["system:serviceaccounts"], extra), "service-accounts");
    }
  });

  it("lets no object replace exempt and catch-all", () => {
    const simulation = new Simulation();
    simulation.fairness.configure(
      [],
      [{ metadata: { name: "exempt", uid: "u" }, spec: { type: "Limited", limited: {} } }],
    );
    const exempt = simulation.fairness.priorityLevels.find(
      ({ config }) => config.name === "exempt",
    );
    assert.equal(exempt?.config.isExempt, true);
  });
});
