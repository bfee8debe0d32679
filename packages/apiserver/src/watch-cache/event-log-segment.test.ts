import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Entry, Revision, StorageKey } from "../storage/index.ts";
import { SeededRandom } from "../testing/index.ts";
import { EventLogSegment, segmentLimits } from "./event-log-segment.ts";
import { HubEvent } from "./hub-event.ts";

const form = { name: "whole", encode: ({ value }: Entry) => Buffer.from(value) };

function eventAt(revision: number, bytes: number): HubEvent {
  const at = revision as Revision;
  const value = Buffer.from(`{"revision":${revision},"data":"${"v".repeat(bytes)}"}`);
  const entry: Entry = { key: "/g/r/i/c/ns/x" as StorageKey, value, createdAt: at, modifiedAt: at };
  return new HubEvent({ kind: "put", revision: at, entry, previous: undefined });
}

function sharedAlone(event: HubEvent): string {
  return event.encode("ADDED", form).toString();
}

describe("a segment of a watcher group's log", () => {
  it("encodes any range like its events one by one, while events are appended, and leaves encoded ranges unchanged", () => {
    for (let seed = 0; seed < 50; seed++) {
      const random = new SeededRandom(seed);
      const below = (limit: number) => Math.floor(random.next() * limit);
      const segment = new EventLogSegment(100);
      const told: [Buffer, string][] = [];
      for (let i = 0; i < 60 && segment.add(eventAt(i + 1, below(3000))); i++) {
        if (below(3) === 0) continue;
        const from = 100 + below(segment.events.length);
        const text = segment.events
          .slice(from - 100)
          .map(sharedAlone)
          .join("");
        told.push([segment.encoded(form, from, segment.to), text]);
      }
      assert.ok(told.length > 5);
      for (const [bytes, text] of told) assert.equal(bytes.toString(), text, `seed ${seed}`);
    }
  });

  it("is the same memory for watchers at different cursors in it", () => {
    const segment = new EventLogSegment(0);
    for (let i = 0; i < 100; i++) assert.ok(segment.add(eventAt(i + 1, 100)));
    const memories = new Set<ArrayBufferLike>();
    for (let from = 0; from < 99; from++)
      memories.add(segment.encoded(form, from, segment.to).buffer);
    assert.equal(memories.size, 1);
  });

  it("leaves no copies on the events, which the ring keeps holding", () => {
    const segment = new EventLogSegment(0);
    for (let i = 0; i < 10; i++) segment.add(eventAt(i + 1, 10));
    segment.encoded(form, 3, segment.to);
    assert.deepEqual(
      segment.events.map(({ encodedCount }) => encodedCount),
      segment.events.map(() => 0),
    );
  });

  it("is bounded in events and in bytes, and holds one event of any size", () => {
    const many = new EventLogSegment(0);
    for (let i = 0; i < segmentLimits.eventsMax; i++) assert.ok(many.add(eventAt(1, 1)));
    assert.ok(!many.add(eventAt(1, 1)));
    const large = new EventLogSegment(0);
    assert.ok(large.add(eventAt(1, 2 * segmentLimits.bytesMax)));
    assert.ok(!large.add(eventAt(2, 1)));
  });
});
