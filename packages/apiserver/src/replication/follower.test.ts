/**
 * Goal: a standby has every write of its primary up to the moment at which the stream ended, with
 * its revisions, and nothing else. Method: two embedded stores, the bytes between them in the hand
 * of the test.
 */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { neverAborted, systemClock } from "@kcp-ts/machinery/base";
import { eventually, FakeClock } from "@kcp-ts/testkit";
import { encodeBackup } from "../backup/index.ts";
import type { ApiRequest } from "../request/api-request.ts";
import { EmbeddedStorage } from "../storage/embedded/index.ts";
import type { Revision, StorageKey } from "../storage/index.ts";
import { Follower, type Primary, serveReplication, storeHeader } from "./index.ts";

const call = { signal: neverAborted };
const leaseMs = 5000;
const masters = { username: "admin", groups: ["system:masters"], uid: "", extra: {} };
const keyOf = (name: string) => `//configmaps//team/default/${name}` as StorageKey;
const bytes = (text: string) => new Uint8Array(Buffer.from(text));

function requestUntil(signal: AbortSignal): ApiRequest {
  return {
    method: "GET",
    target: "/replication",
    headers: {},
    remoteAddress: "",
    clientCertificate: undefined,
    onClose: (callback) => signal.addEventListener("abort", callback),
    readBody: async () => new Uint8Array(),
  };
}

/** What stands between the two: `held` frames do not arrive. */
class Link implements Primary {
  isUp = true;
  isHeld = false;
  storeId = "first";
  copies = 0;
  readonly errors: unknown[] = [];
  readonly #store: EmbeddedStorage;
  readonly #clock: FakeClock;

  constructor(store: EmbeddedStorage, clock: FakeClock) {
    this.#store = store;
    this.#clock = clock;
  }

  async backup(signal: AbortSignal): Promise<AsyncIterable<Uint8Array>> {
    if (!this.isUp) throw new Error("connection refused");
    this.copies++;
    const snapshot = await this.#store.openSnapshot({ signal });
    return encodeBackup(snapshot, { createdAtMs: this.#clock.now() });
  }

  async changes(after: Revision, signal: AbortSignal) {
    if (!this.isUp) throw new Error("connection refused");
    const query = new URLSearchParams({ afterRevision: String(after) });
    const answer = await serveReplication(
      requestUntil(signal),
      { user: masters, verb: "get", query },
      { snapshots: this.#store, clock: this.#clock, draining: neverAborted },
    );
    assert.ok(typeof answer.headers[storeHeader] === "string");
    const body = answer.body as AsyncIterable<Uint8Array>;
    return { store: this.storeId, frames: this.#passed(body, signal) };
  }

  async *#passed(body: AsyncIterable<Uint8Array>, signal: AbortSignal) {
    for await (const frame of body) {
      if (this.isHeld) await new Promise((resolve) => signal.addEventListener("abort", resolve));
      if (signal.aborted) return;
      if (!this.isUp) throw new Error("connection reset");
      // In two halves, as a network cuts them.
      yield frame.subarray(0, 7);
      yield frame.subarray(7);
    }
  }
}

async function fixture(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), "kcp-standby-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const clock = new FakeClock();
  const open = (name: string) =>
    EmbeddedStorage.open({ directory: join(folder, name), clock: systemClock });
  const store = await open("primary");
  t.after(() => store.close());
  const link = new Link(store, clock);
  let copied: Revision | undefined;
  const stopping = new AbortController();
  t.after(() => stopping.abort());
  const follower = new Follower({
    primary: link,
    openEmpty: async () => {
      await rm(join(folder, "copy"), { recursive: true, force: true });
      return open("copy");
    },
    leaseMs,
    clock,
    onCopied: (revision) => {
      copied = revision;
    },
    onError: (error) => link.errors.push(error),
  });
  const put = async (name: string, text: string, expected: Revision | "absent" = "absent") =>
    store.commit({ key: keyOf(name), value: bytes(text), expected }, call);
  const start = () => follower.follow(stopping.signal);
  const reaches = (revision: Revision) =>
    eventually(() => assert.ok(follower.revision >= revision));
  const lose = async (ended: ReturnType<typeof start>) => {
    link.isUp = false;
    let isOver = false;
    void ended.then(() => {
      isOver = true;
    });
    await eventually(() => {
      clock.advance(1000);
      assert.ok(isOver);
    });
    return ended;
  };
  return {
    ...{ store, link, clock, put, start, reaches, lose, contents, open, follower },
    copied: () => copied,
  };
}

async function contents(storage: EmbeddedStorage) {
  const page = await storage.list("/" as StorageKey, { ...call, entriesMax: 10_000 });
  return page.entries.map(({ value, ...entry }) => ({
    ...entry,
    text: Buffer.from(value).toString(),
  }));
}

describe("a standby", () => {
  it("has the primary's writes, deletions and revisions, those before the copy and those after", async (t) => {
    const { store, put, start, reaches, lose, contents, open, copied } = await fixture(t);
    const first = await put("a", "1");
    await put("b", "1");
    const ended = start();
    await eventually(() => assert.equal(copied(), 2));
    const second = await put("a", "2", first);
    await Promise.all(Array.from({ length: 300 }, (_, i) => put(`many-${i}`, "x".repeat(i))));
    await store.commit({ key: keyOf("b"), value: "delete", expected: 2 as Revision }, call);
    await put("b", "again");
    const last = await put("a", "3", second);
    const before = await contents(store);
    await reaches(last);
    assert.deepEqual(await lose(ended), { revision: last, announced: last });
    const copy = await open("copy");
    t.after(() => copy.close());
    assert.deepEqual(await contents(copy), before);
    assert.equal(await copy.currentRevision(call), last);
    const changes: number[] = [];
    for await (const change of copy.watch("/" as StorageKey, 2 as Revision, {
      ...call,
      bufferedChangesMax: 1000,
    })) {
      if (change.kind === "progress") break;
      changes.push(change.revision);
    }
    assert.equal(changes.length, last - 2, "clients resume their watches after the copy");
  });

  it("loses the acknowledged writes that had not reached it, and none before them", async (t) => {
    const { store, link, put, start, reaches, lose, contents, open, copied } = await fixture(t);
    const ended = start();
    await eventually(() => assert.equal(copied(), 0));
    await put("reached", "1");
    const reached = await put("also-reached", "1");
    await reaches(reached);
    link.isHeld = true;
    const lostWrites = ["x", "y", "z"];
    for (const name of lostWrites) await put(name, "acknowledged");
    const lost = await lose(ended);
    assert.deepEqual(lost, { revision: reached, announced: reached });
    const copy = await open("copy");
    t.after(() => copy.close());
    const names = (await contents(copy)).map(({ key }) => key.split("/").at(-1));
    assert.deepEqual(names, ["also-reached", "reached"]);
    assert.equal((await contents(store)).length, 2 + lostWrites.length);
  });

  it("that was cut off for less than the lease goes on without a copy, and does not take over", async (t) => {
    const { link, clock, put, start, reaches, lose, copied, contents, open, store, follower } =
      await fixture(t);
    const ended = start();
    await eventually(() => assert.equal(copied(), 0));
    await reaches(await put("a", "1"));
    link.isUp = false;
    await put("b", "1");
    await eventually(() => assert.match(String(link.errors[0]), /reset/));
    clock.advance(leaseMs - 2000);
    link.isUp = true;
    const last = await put("c", "1");
    await eventually(() => {
      clock.advance(10);
      assert.equal(follower.revision, last);
    });
    assert.equal(link.copies, 1);
    const lost = await lose(ended);
    assert.equal(lost?.revision, last);
    const copy = await open("copy");
    t.after(() => copy.close());
    assert.deepEqual(await contents(copy), await contents(store));
  });

  it("copies the store again when another process serves it", async (t) => {
    const { link, clock, put, start, reaches, lose, copied } = await fixture(t);
    const ended = start();
    await eventually(() => assert.equal(copied(), 0));
    await reaches(await put("a", "1"));
    link.isUp = false;
    await eventually(() => {
      clock.advance(1000);
      assert.match(String(link.errors[0]), /reset/);
    });
    link.storeId = "second";
    link.isUp = true;
    await eventually(() => {
      clock.advance(300);
      assert.equal(link.copies, 2);
    });
    await eventually(() => assert.equal(copied(), 1));
    assert.equal((await lose(ended))?.revision, 1);
  });

  it("without a complete copy never takes over", async (t) => {
    const { link, clock, start, copied } = await fixture(t);
    link.isUp = false;
    const ended = start();
    let isOver = false;
    void ended.then(() => {
      isOver = true;
    });
    for (let i = 0; i < 20; i++) {
      clock.advance(1000);
      await untilIdle();
    }
    assert.equal(isOver, false);
    link.isUp = true;
    await eventually(() => {
      clock.advance(300);
      assert.equal(copied(), 0);
    });
  });
});

describe("the stream of a standby", () => {
  it("is for members of system:masters alone", async (t) => {
    const { store, clock } = await fixture(t);
    const user = { ...masters, username: "tenant", groups: ["system:authenticated"] };
    for (const verb of ["get", "post"])
      await assert.rejects(
        serveReplication(
          requestUntil(neverAborted),
          { user, verb, query: new URLSearchParams({ afterRevision: "0" }) },
          {
            snapshots: store,
            clock,
            draining: neverAborted,
            onSuperseded: async () => assert.fail(),
          },
        ),
        /cannot (get|post) path "\/replication": only members of system:masters can/,
      );
  });
});

/** Promises and disks of a turn have ended; decides nothing. */
async function untilIdle(): Promise<void> {
  for (let i = 0; i < 20; i++) await new Promise((resolve) => setImmediate(resolve));
}
