/** Watcher groups, with simulated turns. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { eventLoopCosts, eventLoopLimits } from "../event-loop/index.ts";
import type { Entry, Revision, StorageKey } from "../storage/index.ts";
import { encodeObject } from "../stored-object/index.ts";
import { segmentLimits } from "./event-log-segment.ts";
import type { EventRange } from "./event-range.ts";
import { FanOut } from "./fan-out.ts";
import { fullObjectEncoding, HubEvent } from "./hub-event.ts";
import { type GroupedWatcher, type WatcherCursor, WatcherGroup } from "./watcher-group.ts";

const fanOutCosts = eventLoopCosts.fanOut;
const { directMax, microsPerTurn, backlogEventsMax, backlogBytesMax, heldEventsMax } =
  eventLoopLimits.fanOut;
/** The watches per turn when every watch has bytes to send. */
const toldPerTurnMax = Math.ceil(microsPerTurn / (fanOutCosts.visit + fanOutCosts.send));

function eventAt(revision: number, bytes = 10): HubEvent {
  const at = revision as Revision;
  const key = "/g/r//a/n/x" as StorageKey;
  const value = encodeObject({ metadata: { name: "x" }, data: "v".repeat(bytes) });
  const entry: Entry = { key, value, createdAt: at, modifiedAt: at };
  return new HubEvent({ kind: "put", revision: at, entry, previous: undefined });
}

class Member implements GroupedWatcher {
  readonly told: number[] = [];
  /** The number of deliveries. */
  tellings = 0;
  isLeftBehind = false;
  isBackpressured = false;
  /** The bytes that the watch reports for each event. */
  bytes = 1;
  onEvent({ revision }: HubEvent): void {
    this.tellings++;
    this.told.push(revision);
  }
  onEventRange({ events }: EventRange): number {
    this.tellings++;
    for (const { revision } of events) this.told.push(revision);
    return events.length * this.bytes;
  }
  onFellBehind(): void {
    this.isLeftBehind = true;
  }
}

class Scene {
  #asked: (() => void)[] = [];
  #later: (() => void)[] = [];
  readonly fanOut = new FanOut({
    scheduleImmediate: (callback) => this.#asked.push(callback),
    scheduleRetry: (callback) => this.#later.push(callback),
  });

  crowd(size: number): { crowd: WatcherGroup; members: Member[]; places: WatcherCursor[] } {
    const watcherGroup = new WatcherGroup();
    const members = Array.from({ length: size }, () => new Member());
    const places = members.map((member) => watcherGroup.add(member));
    return { crowd: watcherGroup, members, places };
  }

  /** False when no turn was requested. */
  turn(): boolean {
    return called(this.#asked);
  }

  /** Lets the retry time of held groups pass; false when there are none. */
  pass(): boolean {
    return called(this.#later);
  }

  /** Runs until no work remains. */
  settle(): void {
    do while (this.turn());
    while (this.pass());
  }
}

function called(callbacks: (() => void)[]): boolean {
  const taken = callbacks.splice(0);
  for (const callback of taken) callback();
  return taken.length > 0;
}

const sum = (members: readonly Member[]) =>
  members.reduce((total, { told }) => total + told.length, 0);
const tellings = (members: readonly Member[]) =>
  members.reduce((total, { tellings }) => total + tellings, 0);
const upTo = (count: number) => Array.from({ length: count }, (_, i) => i + 1);

describe("an event", () => {
  it("is sent to few watches at once, and to the other watches in later turns", () => {
    for (const [size, atOnce] of [
      [directMax, directMax],
      [directMax + 1, 0],
    ] as const) {
      const scene = new Scene();
      const { crowd: watcherGroup, members } = scene.crowd(size);
      scene.fanOut.publish(watcherGroup, eventAt(1));
      assert.equal(sum(members), atOnce);
      scene.settle();
      assert.ok(members.every(({ told }) => told.length === 1));
    }
  });

  it("is sent to no more watches in a turn than is allowed", () => {
    const scene = new Scene();
    const { crowd: watcherGroup, members } = scene.crowd(toldPerTurnMax * 3);
    scene.fanOut.publish(watcherGroup, eventAt(1));
    let turns = 0;
    for (let before = 0; scene.turn(); turns++) {
      assert.ok(tellings(members) - before <= toldPerTurnMax);
      before = tellings(members);
    }
    assert.equal(sum(members), members.length);
    assert.ok(turns >= 3);
  });

  it("counts by its bytes: a long event is sent to fewer watches in a turn", () => {
    const scene = new Scene();
    const { crowd: watcherGroup, members } = scene.crowd(100);
    for (const member of members) member.bytes = microsPerTurn / fanOutCosts.byte;
    scene.fanOut.publish(watcherGroup, eventAt(1));
    for (let heard = 1; heard <= members.length; heard++) {
      assert.ok(scene.turn());
      assert.equal(sum(members), heard);
    }
  });

  it("does not wait for another watcher group's backlog", () => {
    const scene = new Scene();
    const loud = scene.crowd(10_000);
    const quiet = scene.crowd(directMax + 1);
    for (let i = 1; i <= 100; i++) scene.fanOut.publish(loud.crowd, eventAt(i));
    scene.fanOut.publish(quiet.crowd, eventAt(101));
    const few = scene.crowd(1);
    scene.fanOut.publish(few.crowd, eventAt(102));
    assert.equal(sum(few.members), 1);
    scene.turn();
    scene.turn();
    assert.equal(sum(quiet.members), directMax + 1);
  });

  it("counts also when it is sent at once: a burst to few watches is spread over turns", () => {
    const scene = new Scene();
    const { crowd: watcherGroup, members } = scene.crowd(directMax);
    const burst = 100;
    for (let i = 1; i <= burst; i++) scene.fanOut.publish(watcherGroup, eventAt(i));
    assert.ok(sum(members) <= microsPerTurn / fanOutCosts.direct + directMax);
    scene.settle();
    for (const { told } of members) assert.deepEqual(told, upTo(burst));
  });
});

describe("a watcher group", () => {
  it("that is behind sends many events in one pass", () => {
    const scene = new Scene();
    const { crowd: watcherGroup, members } = scene.crowd(1000);
    const burst = segmentLimits.eventsMax;
    for (let i = 1; i <= burst; i++) scene.fanOut.publish(watcherGroup, eventAt(i));
    scene.settle();
    for (const { told } of members) assert.deepEqual(told, upTo(burst));
    assert.equal(tellings(members), members.length);
    assert.equal(watcherGroup.size, 0);
  });

  it("shares the bytes that its watches send", () => {
    const seen = new Set<Buffer>();
    class Reader extends Member {
      override onEventRange(run: EventRange): number {
        seen.add(run.encoded(fullObjectEncoding));
        return super.onEventRange(run);
      }
    }
    const scene = new Scene();
    const watcherGroup = new WatcherGroup();
    for (let i = 0; i < 500; i++) watcherGroup.add(new Reader());
    for (let i = 1; i <= 5; i++) scene.fanOut.publish(watcherGroup, eventAt(i));
    scene.turn();
    // An event in the middle of a pass is sent at once to the watches that are still to be visited,
    // and in the next pass to the others.
    scene.fanOut.publish(watcherGroup, eventAt(6));
    scene.settle();
    assert.equal(seen.size, 3);
  });

  it("drops watches that are too many events or bytes behind, some in a turn", () => {
    const size = 1 << 20;
    const bytesOfEvent = eventAt(1, size).bytes;
    const cases = [
      [backlogEventsMax, 10],
      [Math.floor(backlogBytesMax / bytesOfEvent), size],
    ] as const;
    for (const [count, bytes] of cases) {
      const scene = new Scene();
      const { crowd: watcherGroup, members } = scene.crowd(1000);
      const event = eventAt(1, bytes);
      for (let i = 1; i <= count; i++) scene.fanOut.publish(watcherGroup, event);
      assert.equal(watcherGroup.size, count);
      scene.fanOut.publish(watcherGroup, event);
      assert.ok(watcherGroup.size < count);
      const lost = () => members.filter(({ isLeftBehind }) => isLeftBehind).length;
      assert.equal(lost(), 0);
      for (let before = 0; scene.turn(); before = lost())
        assert.ok(lost() - before <= Math.ceil(microsPerTurn / fanOutCosts.ending));
      assert.equal(lost(), members.length);
      assert.equal(sum(members), 0);
    }
  });

  it("skips slow readers, and retries them after some time, without a turn in between", () => {
    const scene = new Scene();
    const { crowd: watcherGroup, members } = scene.crowd(100);
    const slow = members.slice(0, 3);
    for (const member of slow) member.isBackpressured = true;
    for (let i = 1; i <= 10; i++) scene.fanOut.publish(watcherGroup, eventAt(i));
    while (scene.turn());
    assert.equal(sum(members), 97 * 10);
    assert.ok(scene.pass());
    while (scene.turn());
    assert.equal(sum(slow), 0);
    for (const member of slow) member.isBackpressured = false;
    scene.settle();
    for (const { told } of members) assert.deepEqual(told, upTo(10));
    assert.equal(watcherGroup.size, 0);
  });

  it("sends to a slow reader nevertheless when it is too far behind: the reader's own buffer is bounded", () => {
    const scene = new Scene();
    const { crowd: watcherGroup, members } = scene.crowd(directMax + 1);
    const [slow] = members as [Member];
    slow.isBackpressured = true;
    for (let i = 1; i <= heldEventsMax; i++) scene.fanOut.publish(watcherGroup, eventAt(i));
    while (scene.turn());
    assert.equal(slow.told.length, 0);
    scene.fanOut.publish(watcherGroup, eventAt(heldEventsMax + 1));
    while (scene.turn());
    assert.ok(slow.told.length > 0);
  });

  it("sends every event once and in order to watches that join, leave, are slow, or arrive in between", () => {
    const step = fc.constantFrom("event", "event", "turn", "join", "leave", "hold", "free", "pass");
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 200 }),
        fc.array(fc.tuple(step, fc.nat(1000)), { maxLength: 80 }),
        (size, steps) => {
          const scene = new Scene();
          const { crowd: watcherGroup, members, places } = scene.crowd(size);
          const since = new Map(members.map((member) => [member, 0]));
          const gone = new Set<Member>();
          let revision = 0;
          for (const [each, at] of steps) {
            const place = places[at % places.length] as WatcherCursor;
            const member = place.watcher as Member;
            if (each === "event") scene.fanOut.publish(watcherGroup, eventAt(++revision, at));
            else if (each === "turn") scene.turn();
            else if (each === "pass") scene.pass();
            else if (each === "hold") member.isBackpressured = true;
            else if (each === "free") member.isBackpressured = false;
            else if (each === "join") {
              const newcomer = new Member();
              since.set(newcomer, revision);
              places.push(watcherGroup.add(newcomer));
            } else if (places.length > 1) {
              watcherGroup.remove(place);
              places.splice(at % places.length, 1);
              gone.add(member);
            }
          }
          for (const member of since.keys()) member.isBackpressured = false;
          scene.settle();
          for (const [member, joinedAt] of since) {
            const heard = gone.has(member) ? member.told.length : revision - joinedAt;
            assert.deepEqual(
              member.told,
              upTo(heard).map((count) => joinedAt + count),
            );
          }
          assert.equal(watcherGroup.size, 0);
        },
      ),
      { numRuns: 200 },
    );
  });
});
