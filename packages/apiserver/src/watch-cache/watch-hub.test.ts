import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Revision, StorageError, StorageKey } from "../storage/index.ts";
import { MemoryStorage } from "../storage/memory/index.ts";
import { FakeClock, FaultyStorage, supervisorFor } from "../testing/index.ts";
import type { HubEvent } from "./hub-event.ts";
import { WatchHub } from "./watch-hub.ts";

const { signal } = new AbortController();
const prefix = "/g/r//a/" as StorageKey;

class Recorder {
  readonly events: string[] = [];
  readonly lost: string[] = [];
  onEvent({ key, revision }: HubEvent): void {
    this.events.push(`${key}@${revision}`);
  }
  onLost({ code }: StorageError): void {
    this.lost.push(code);
  }
}

async function start(options: { ringEventsMax?: number; ringBytesMax?: number } = {}) {
  const storage = new FaultyStorage(new MemoryStorage());
  const clock = new FakeClock();
  const errors: unknown[] = [];
  const hub = new WatchHub({
    storage,
    clock,
    supervisor: supervisorFor(clock),
    onError: (error) => errors.push(error),
    ...options,
  });
  await hub.start();
  const put = async (key: string, bytes = 10): Promise<Revision> => {
    const found = await storage.get(key as StorageKey, { signal });
    const write = {
      key: key as StorageKey,
      value: Buffer.alloc(bytes),
      expected: found?.modifiedAt ?? ("absent" as const),
    };
    return storage.commit(write, { signal });
  };
  return { storage, clock, errors, hub, put };
}

describe("the hub", () => {
  it("delivers an event to the listeners of its resource, cluster, namespace and object, and to no other", async () => {
    const { hub, put } = await start();
    const key = "/g/r//a/n/x";
    const near = ["/g/r//", "/g/r//a/", "/g/r//a/n/", key].map(
      (each) => [each, new Recorder()] as const,
    );
    const far = ["/g/", "/g/r//b/", "/g/r//aa/", "/g/r//a/m/", "/g/r//a/n/xx", "/g/s//", ""].map(
      (each) => [each, new Recorder()] as const,
    );
    for (const [each, recorder] of [...near, ...far]) hub.listen(each as StorageKey, recorder);
    const revision = await put(key);
    await hub.waitForRevision(revision, signal);
    for (const [each, { events }] of near) assert.deepEqual(events, [`${key}@1`], each);
    for (const [each, { events }] of far) assert.deepEqual(events, [], each);
    await hub.close();
  });

  it("drops the oldest events beyond its count and its bytes", async () => {
    for (const limits of [{ ringEventsMax: 10 }, { ringBytesMax: 10 * 220 }]) {
      const { hub, put } = await start(limits);
      let newest = 0 as Revision;
      for (let i = 0; i < 100; i++) newest = await put(`/g/r//a/n/x${i}`);
      await hub.waitForRevision(newest, signal);
      const left = [...hub.replay(prefix, hub.ringStart)].length;
      assert.ok(left >= 5 && left <= 13, `${left} events are left`);
      assert.equal(hub.ringStart + left, newest);
      await hub.close();
    }
  });

  it("drops on trimRing the events before its last call, and keeps later ones", async () => {
    const { hub, put } = await start();
    for (let i = 0; i < 5; i++) await hub.waitForRevision(await put(`/g/r//a/n/x${i}`), signal);
    hub.trimRing();
    assert.equal(hub.ringSize, 5);
    const newest = await put("/g/r//a/n/y");
    await hub.waitForRevision(newest, signal);
    hub.trimRing();
    assert.deepEqual(
      [...hub.replay(prefix, hub.ringStart)].map(({ key }) => key),
      ["/g/r//a/n/y"],
    );
    assert.equal(hub.ringStart, newest - 1);
    hub.trimRing();
    assert.deepEqual([hub.ringSize, hub.ringStart], [0, newest]);
    await hub.close();
  });

  it("drops all events on demand, and continues from there", async () => {
    const { hub, put } = await start();
    const heard = new Recorder();
    hub.listen(prefix, heard);
    for (let i = 0; i < 5; i++) await hub.waitForRevision(await put(`/g/r//a/n/x${i}`), signal);
    hub.clearRing();
    assert.deepEqual([hub.ringSize, hub.ringStart], [0, hub.revision]);
    await hub.waitForRevision(await put("/g/r//a/n/y"), signal);
    assert.equal(heard.events.length, 6);
    assert.equal(hub.ringSize, 1);
    await hub.close();
  });

  it("encodes an event once for all listeners, and keeps no copy of it", async () => {
    const { hub, put } = await start();
    let encodings = 0;
    const form = { name: "form", encode: () => Buffer.from(`{"n":${++encodings}}`) };
    const seen: Buffer[] = [];
    for (let i = 0; i < 3; i++) {
      const onEvent = (event: HubEvent) => seen.push(event.encodeShared("ADDED", form));
      hub.listen(prefix, { onEvent, onLost: () => {} });
    }
    await hub.waitForRevision(await put("/g/r//a/n/x"), signal);
    assert.equal(encodings, 1);
    assert.equal(seen[0], seen[2]);
    const [event] = [...hub.replay(prefix, 0 as Revision)];
    assert.equal(event?.encodedCount, 0);
    assert.equal(event?.encode("ADDED", form).toString(), '{"type":"ADDED","object":{"n":2}}\n');
    assert.equal(event?.encodedCount, 0);
    await hub.close();
  });

  it("continues without a gap after the store was unavailable", async () => {
    const { storage, clock, errors, hub, put } = await start();
    const recorder = new Recorder();
    hub.listen(prefix, recorder);
    await hub.waitForRevision(await put("/g/r//a/n/x"), signal);
    storage.fail();
    await settle();
    assert.equal(errors.length, 1);
    clock.advance(100);
    await settle();
    assert.equal(errors.length, 2, "it tries again, and says so");
    storage.recover();
    const revision = await put("/g/r//a/n/y");
    clock.advance(100);
    await hub.waitForRevision(revision, signal);
    assert.deepEqual(recorder.events, ["/g/r//a/n/x@1", "/g/r//a/n/y@2"]);
    assert.deepEqual(recorder.lost, []);
    await hub.close();
  });

  it("notifies listeners that continuity is lost when history was compacted meanwhile", async () => {
    const { storage, clock, hub, put } = await start();
    const recorder = new Recorder();
    hub.listen(prefix, recorder);
    await hub.waitForRevision(await put("/g/r//a/n/x"), signal);
    storage.fail();
    await settle();
    storage.recover();
    for (let i = 0; i < 3; i++) await put(`/g/r//a/n/y${i}`);
    await storage.compact(await storage.currentRevision({ signal }), { signal });
    clock.advance(100);
    await settle();
    clock.advance(100);
    await settle();
    assert.deepEqual(recorder.lost, ["compacted"]);
    assert.equal(hub.revision, 4);
    const later = new Recorder();
    hub.listen(prefix, later);
    await hub.waitForRevision(await put("/g/r//a/n/z"), signal);
    assert.deepEqual(later.events, ["/g/r//a/n/z@5"]);
    assert.deepEqual(recorder.events, ["/g/r//a/n/x@1"]);
    await hub.close();
  });

  it("a wait for a revision ends with its signal, and with the hub", async () => {
    const { hub } = await start();
    const leaving = new AbortController();
    const left = hub.waitForRevision(99 as Revision, leaving.signal);
    const closed = hub.waitForRevision(99 as Revision, signal);
    leaving.abort(new Error("gone"));
    await assert.rejects(left, { message: "gone" });
    const refused = assert.rejects(closed, { code: "closed" });
    await hub.close();
    await refused;
  });

  it("ends all waits before it closes, and rejects new ones", async () => {
    const { hub } = await start();
    const refused = assert.rejects(hub.waitForRevision(99 as Revision, signal), { code: "closed" });
    hub.cancelWaits();
    await refused;
    await assert.rejects(hub.waitForRevision(99 as Revision, signal), { code: "closed" });
    await hub.waitForRevision(hub.revision, signal);
    await hub.close();
  });
});

async function settle(): Promise<void> {
  for (let i = 0; i < 5; i++) await new Promise((resolve) => setImmediate(resolve));
}
