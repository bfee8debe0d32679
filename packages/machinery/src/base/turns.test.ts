import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { Turns, turnMsMax } from "./turns.ts";

/** An event loop that is turned by hand, and a clock that only work moves. */
class HandTurned {
  now = 0;
  #callbacks: (() => void)[] = [];

  readonly turns: Turns = new Turns({
    monotonic: () => this.now,
    nextTurn: (callback) => {
      this.#callbacks.push(callback);
    },
  });

  /**
   * Calls back whatever was asked for before, as the event loop does: promises go on in between.
   */
  async turn(): Promise<void> {
    const callbacks = this.#callbacks;
    this.#callbacks = [];
    for (const callback of callbacks) {
      callback();
      await Promise.resolve();
      await Promise.resolve();
    }
  }

  get isQuiet(): boolean {
    return this.#callbacks.length === 0;
  }
}

describe("turns of the event loop", () => {
  it("have room for some milliseconds of all work together, not for some of each", async () => {
    const loop = new HandTurned();
    const doneIn: number[] = [];
    let turn = 0;
    for (let i = 0; i < 40; i++) {
      void loop.turns.wait().then(() => {
        loop.now += 1;
        doneIn.push(turn);
      });
    }
    for (turn = 1; doneIn.length < 40; turn++) {
      const before = loop.now;
      await loop.turn();
      assert.ok(loop.now - before <= turnMsMax, `turn ${turn} took ${loop.now - before} ms`);
      assert.ok(turn < 100, "somebody waits for ever");
    }
  });

  it("are granted in the order of waiting: the task that has waited longest is next", async () => {
    const loop = new HandTurned();
    const order: string[] = [];
    const work = async (name: string) => {
      for (let piece = 0; piece < 3; piece++) {
        await loop.turns.wait();
        loop.now += turnMsMax;
        order.push(name);
      }
    };
    for (const name of ["a", "b", "c"]) void work(name);
    for (let turn = 0; order.length < 9; turn++) {
      await loop.turn();
      assert.ok(turn < 100, "somebody waits for ever");
    }
    assert.deepEqual(order, ["a", "b", "c", "a", "b", "c", "a", "b", "c"]);
  });

  it("are over for work that begins in them, once others have had their room", async () => {
    const loop = new HandTurned();
    assert.equal(loop.turns.isOver(loop.now), false);
    loop.turns.noteWork(loop.now);
    loop.now += turnMsMax;
    assert.equal(loop.turns.isOver(loop.now), true);
    await loop.turn();
    assert.equal(loop.turns.isOver(loop.now), false, "the next turn has room again");
  });

  it("leave nothing behind when all is done", async () => {
    const loop = new HandTurned();
    let done = 0;
    for (let i = 0; i < 2500; i++) void loop.turns.wait().then(() => done++);
    for (let turn = 0; turn < 5; turn++) await loop.turn();
    assert.equal(done, 2500);
    assert.ok(loop.isQuiet);
  });
});
