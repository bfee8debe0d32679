/** The part of a flood that is read in a turn, with simulated turns. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { eventLoopLimits, InboundBudget, type InboundLimits } from "../event-loop/index.ts";
import { data, get, headers, ok, Peer, postFields } from "./test-support/peer.ts";

class Turns {
  #asked: (() => void)[] = [];
  readonly next = (callback: () => void): void => {
    this.#asked.push(callback);
  };

  play(): void {
    const asked = this.#asked;
    this.#asked = [];
    for (const callback of asked) callback();
  }

  get isAsked(): boolean {
    return this.#asked.length > 0;
  }
}

function budgetOf(limits: Partial<InboundLimits> = {}) {
  const turns = new Turns();
  return {
    turns,
    inbound: new InboundBudget({ ...eventLoopLimits.inbound, ...limits }, turns.next),
  };
}

const gets = (count: number, first = 1) =>
  Buffer.concat(Array.from({ length: count }, (_, i) => get(first + 2 * i)));

describe("the inbound budget of a turn", () => {
  const { unitsPerConnectionMax, unitsPerTurnMax, unitsFree, atWorkMax, closedPerTurnMax } =
    eventLoopLimits.inbound;

  it("processes a limited number of requests of a connection, and the others in later turns and in order", () => {
    const { turns, inbound } = budgetOf();
    const peer = new Peer({ inbound, onStream: ok("x") });
    peer.send(gets(unitsPerConnectionMax));
    assert.equal(peer.streams.length, unitsPerConnectionMax);
    assert.equal(peer.isHeld, false, "nothing is left to be read");
    turns.play();
    peer.send(gets(unitsPerConnectionMax * 2 + 1, 1001));
    assert.equal(peer.isHeld, true);
    for (const count of [2, 3]) {
      assert.equal(peer.streams.length, unitsPerConnectionMax * count);
      turns.play();
    }
    assert.equal(peer.streams.length, unitsPerConnectionMax * 3 + 1);
    assert.equal(peer.isHeld, false);
    const ids = peer.streams.map(({ id }) => id);
    assert.deepEqual(
      ids,
      [...ids].sort((a, b) => a - b),
    );
  });

  it("always processes a few requests of a connection that arrives when the turn is spent", () => {
    const { inbound, turns } = budgetOf();
    const floods = [1, 2].map(() => new Peer({ inbound, onStream: ok("x") }));
    for (const flood of floods) flood.send(gets(100));
    const taken = floods.reduce((sum, { streams }) => sum + streams.length, 0);
    assert.equal(taken, unitsPerTurnMax);
    const quiet = new Peer({ inbound, onStream: ok("x") });
    quiet.send(gets(unitsFree + 1));
    assert.equal(quiet.streams.length, unitsFree);
    turns.play();
    turns.play();
    assert.equal(quiet.streams.length, unitsFree + 1);
  });

  it("is shared by all connections that are held back, however many there are", () => {
    const { inbound, turns } = budgetOf();
    const floods = Array.from({ length: 40 }, () => new Peer({ inbound, onStream: ok("x") }));
    for (const flood of floods) flood.send(gets(20));
    const total = () => floods.reduce((sum, { streams }) => sum + streams.length, 0);
    for (let before = total(); total() < 40 * 20; before = total()) {
      turns.play();
      assert.ok(total() > before);
      assert.ok(total() - before <= unitsPerTurnMax + 20, `${total() - before} in a turn`);
    }
  });

  it("counts the bytes of bodies", () => {
    const { inbound } = budgetOf({ unitsPerConnectionMax: 3, unitsFree: 3, bytesPerUnit: 1000 });
    const peer = new Peer({ inbound });
    const post = headers(1, postFields, { isEnd: false });
    peer.send(post, data(1, Buffer.alloc(1000)), data(1, Buffer.alloc(1000)), gets(1, 3));
    assert.equal(peer.streams.length, 1);
    assert.equal(peer.isHeld, true);
  });

  it("does not read on while too many requests of a connection are in flight", () => {
    const { turns, inbound } = budgetOf({ unitsPerTurnMax: 1000, unitsPerConnectionMax: 1000 });
    const peer = new Peer({ inbound });
    peer.send(gets(atWorkMax + 2));
    assert.equal(peer.streams.length, atWorkMax);
    turns.play();
    assert.equal(turns.isAsked, false, "it waits for an answer, not for a turn");
    ok("x")(peer.streams[5] as (typeof peer.streams)[number]);
    turns.play();
    assert.equal(peer.streams.length, atWorkMax + 1);
  });

  it("does not count watches", () => {
    const { inbound } = budgetOf({ unitsPerTurnMax: 1000, unitsPerConnectionMax: 1000 });
    const limits = { streamsPerConnectionMax: 1000 };
    const peer = new Peer({ inbound, limits, onStream: (stream) => stream.writeHead(200, {}) });
    peer.send(gets(atWorkMax * 3));
    assert.equal(peer.streams.length, atWorkMax * 3);
    assert.equal(peer.isHeld, false);
  });

  it("bounds the requests in flight of all connections, except a few of each, and reads on when one ends", () => {
    const { turns, inbound } = budgetOf({
      unitsPerTurnMax: 10_000,
      unitsPerConnectionMax: 1000,
      atWorkOfAllMax: 100,
    });
    const peers = [1, 2].map(() => new Peer({ inbound }));
    for (const peer of peers) peer.send(gets(64));
    assert.deepEqual(
      peers.map(({ streams }) => streams.length),
      [64, 36],
    );
    const late = new Peer({ inbound });
    late.send(gets(unitsFree + 1));
    assert.equal(late.streams.length, unitsFree);
    peers[0]?.connection.closed();
    turns.play();
    turns.play();
    assert.equal(peers[1]?.streams.length, 64);
    assert.equal(late.streams.length, unitsFree + 1);
  });

  it("closes the streams of a disconnected client some at a time, and notifies each once", () => {
    const { turns, inbound } = budgetOf({ unitsPerTurnMax: 1000, unitsPerConnectionMax: 1000 });
    let told = 0;
    const onStream = (stream: (typeof peer.streams)[number]) => {
      stream.writeHead(200, {});
      stream.onClose(() => told++);
    };
    const peer = new Peer({ inbound, onStream });
    peer.send(gets(closedPerTurnMax * 2 + 1));
    peer.connection.closed();
    peer.connection.closed();
    assert.ok(told <= 2 * closedPerTurnMax);
    while (turns.isAsked) turns.play();
    assert.equal(told, closedPerTurnMax * 2 + 1);
    assert.equal(peer.connection.openStreams, 0);
  });

  it("loses and reorders nothing, for all limits and all splits of the input", () => {
    const limit = fc.integer({ min: 1, max: 5 });
    fc.assert(
      fc.property(
        fc.record({ unitsPerTurnMax: limit, unitsPerConnectionMax: limit, unitsFree: limit }),
        fc.record({ atWorkMax: limit, executingTotalMax: limit }),
        fc.array(fc.integer({ min: 1, max: 400 }), { maxLength: 20 }),
        (ofTurn, ofWork, cuts) => {
          const { turns, inbound } = budgetOf({ ...ofTurn, ...ofWork });
          const peers = [1, 2].map(() => new Peer({ inbound }));
          const bytes = gets(30);
          let at = 0;
          for (const cut of cuts) {
            for (const peer of peers) peer.send(bytes.subarray(at, at + cut));
            at = Math.min(bytes.length, at + cut);
          }
          for (const peer of peers) peer.send(bytes.subarray(at));
          for (let i = 0; i < 1000 && peers.some(({ streams }) => streams.length < 30); i++) {
            turns.play();
            for (const { streams } of peers)
              for (const stream of streams) if (!stream.hasResponseHead) ok("x")(stream);
          }
          for (const { streams } of peers)
            assert.deepEqual(
              streams.map(({ id }) => id),
              Array.from({ length: 30 }, (_, i) => 1 + 2 * i),
            );
        },
      ),
      { numRuns: 50 },
    );
  });
});
