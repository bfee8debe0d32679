/** Crowds of watches, with turns played by hand. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Entry, Revision, StorageKey } from "../storage/index.ts";
import { Crowd, type CrowdMember, FanOut, fanOutLimits } from "./fan-out.ts";
import { HubEvent } from "./hub-event.ts";

const { directMax, toldPerTurnMax, backlogEventsMax, backlogBytesMax } = fanOutLimits;

function eventAt(revision: number, bytes = 10): HubEvent {
  const at = revision as Revision;
  const key = "/g/r//a/n/x" as StorageKey;
  const entry: Entry = { key, value: Buffer.alloc(bytes), createdAt: at, modifiedAt: at };
  return new HubEvent({ kind: "put", revision: at, entry, previous: undefined });
}

class Member implements CrowdMember {
  readonly told: number[] = [];
  isLeftBehind = false;
  onEvent({ revision }: HubEvent): void {
    this.told.push(revision);
  }
  onLeftBehind(): void {
    this.isLeftBehind = true;
  }
}

class Scene {
  #asked: (() => void)[] = [];
  readonly fanOut = new FanOut((callback) => this.#asked.push(callback));

  crowd(size: number): { crowd: Crowd; members: Member[] } {
    const crowd = new Crowd();
    const members = Array.from({ length: size }, () => new Member());
    for (const member of members) crowd.members.add(member);
    return { crowd, members };
  }

  /** False when nobody asked for one. */
  turn(): boolean {
    const asked = this.#asked;
    this.#asked = [];
    for (const callback of asked) callback();
    return asked.length > 0;
  }
}

const sum = (members: readonly Member[]) =>
  members.reduce((total, { told }) => total + told.length, 0);

describe("a change", () => {
  it("is told to few watches at once, and to more of them in later turns", () => {
    for (const [size, atOnce] of [
      [directMax, directMax],
      [directMax + 1, 0],
    ] as const) {
      const scene = new Scene();
      const { crowd, members } = scene.crowd(size);
      scene.fanOut.tell(crowd, eventAt(1));
      assert.equal(sum(members), atOnce);
      while (scene.turn());
      assert.ok(members.every(({ told }) => told.length === 1));
    }
  });

  it("is told to no more watches in a turn than is allowed", () => {
    const scene = new Scene();
    const { crowd, members } = scene.crowd(toldPerTurnMax * 3);
    scene.fanOut.tell(crowd, eventAt(1));
    let turns = 0;
    for (let before = 0; scene.turn(); turns++) {
      assert.ok(sum(members) - before <= toldPerTurnMax);
      before = sum(members);
    }
    assert.equal(sum(members), members.length);
    assert.ok(turns >= 3);
  });

  it("does not wait for another crowd's backlog", () => {
    const scene = new Scene();
    const loud = scene.crowd(10_000);
    const quiet = scene.crowd(directMax + 1);
    for (let i = 1; i <= 100; i++) scene.fanOut.tell(loud.crowd, eventAt(i));
    scene.fanOut.tell(quiet.crowd, eventAt(101));
    const few = scene.crowd(1);
    scene.fanOut.tell(few.crowd, eventAt(102));
    assert.equal(sum(few.members), 1);
    scene.turn();
    assert.equal(sum(quiet.members), directMax + 1);
  });

  it("counts also when it is told at once: a burst to few is spread over turns", () => {
    const scene = new Scene();
    const { crowd, members } = scene.crowd(directMax);
    const burst = 100;
    for (let i = 1; i <= burst; i++) scene.fanOut.tell(crowd, eventAt(i));
    assert.ok(sum(members) <= toldPerTurnMax);
    while (scene.turn());
    const all = Array.from({ length: burst }, (_, i) => i + 1);
    for (const { told } of members) assert.deepEqual(told, all);
  });
});

describe("a crowd", () => {
  it("is given up when it is too many changes or bytes behind", () => {
    const cases = [
      [backlogEventsMax, 0],
      [backlogBytesMax / (1 << 20), (1 << 20) - 200],
    ] as const;
    for (const [count, bytes] of cases) {
      const scene = new Scene();
      const { crowd, members } = scene.crowd(directMax + 1);
      for (let i = 1; i <= count; i++) scene.fanOut.tell(crowd, eventAt(i, bytes));
      assert.ok(members.every(({ isLeftBehind }) => !isLeftBehind));
      scene.fanOut.tell(crowd, eventAt(count + 1, bytes));
      assert.ok(members.every(({ isLeftBehind }) => isLeftBehind));
      while (scene.turn());
      assert.equal(sum(members), 0);
    }
  });

  it("hears of every change once and in order, whoever joins, leaves, or comes in between", () => {
    const step = fc.constantFrom("event", "event", "turn", "join", "leave");
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 200 }),
        fc.array(step, { maxLength: 60 }),
        (size, steps) => {
          const scene = new Scene();
          const { crowd, members } = scene.crowd(size);
          const since = new Map(members.map((member) => [member, 0]));
          const gone = new Set<Member>();
          let revision = 0;
          for (const [at, each] of steps.entries()) {
            if (each === "event") scene.fanOut.tell(crowd, eventAt(++revision));
            else if (each === "turn") scene.turn();
            else if (each === "join") {
              const member = new Member();
              since.set(member, revision);
              crowd.members.add(member);
            } else {
              const member = [...crowd.members][at % crowd.members.size] as Member | undefined;
              if (member === undefined || crowd.members.size === 1) continue;
              crowd.members.delete(member);
              gone.add(member);
            }
          }
          while (scene.turn());
          for (const [member, joinedAt] of since) {
            // Those who join know what is older themselves, and say so by its revision.
            const told = member.told.filter((each) => each > joinedAt);
            assert.deepEqual(
              told,
              [...told].sort((a, b) => a - b),
            );
            assert.equal(new Set(told).size, told.length);
            if (!gone.has(member)) assert.equal(told.length, revision - joinedAt);
          }
        },
      ),
      { numRuns: 100 },
    );
  });
});
