import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { FakeClock, SeededRandom } from "../testing/index.ts";
import { LogBackend, type LogBackendOptions } from "./log-backend.ts";
import { WebhookBackend, webhookLimits } from "./webhook-backend.ts";

const directory = mkdtempSync(join(tmpdir(), "kcp-audit-"));
after(() => rmSync(directory, { recursive: true, force: true }));

const event = (id: number): JsonObject => ({ kind: "Event", auditID: `id-${id}` });
const large = (id: number): JsonObject => ({ ...event(id), text: "v".repeat(1_000) });

/** Nested deeper than JSON.stringify can follow. */
let endless: JsonObject = {};
for (let i = 0; i < 100_000; i++) endless = { endless };

const idsIn = (text: string) => [...text.matchAll(/id-(\d+)/g)].map(([, id]) => Number(id));

function logIn(name: string, options: Partial<LogBackendOptions> = {}) {
  const path = join(directory, name, "audit.log");
  const clock = new FakeClock();
  const dropped: number[] = [];
  const errors: unknown[] = [];
  const backend = new LogBackend({
    path,
    clock,
    sizeMaxBytes: 0,
    backupsMax: 0,
    ageMaxDays: 0,
    onDropped: (count) => dropped.push(count),
    onError: (error) => errors.push(error),
    ...options,
  });
  return { backend, path, clock, dropped, errors };
}

describe("the audit log", () => {
  it("has a line for each event, in order", async () => {
    const { backend, path } = logIn("lines");
    for (let i = 0; i < 100; i++) void backend.write(event(i));
    await backend.close();
    const lines = readFileSync(path, "utf8").trimEnd().split("\n");
    assert.deepEqual(idsIn(lines.join("")), [...Array(100).keys()]);
    assert.deepEqual(JSON.parse(lines[3] as string), event(3));
  });

  it("has a line before a blocking write resolves, and later for a write that does not block", async () => {
    const waited = logIn("waited", { isBlocking: true });
    for (let i = 0; i < 3; i++) {
      const all = [waited.backend.write(event(2 * i)), waited.backend.write(event(2 * i + 1))];
      await all[1];
      assert.equal(idsIn(readFileSync(waited.path, "utf8")).length, 2 * i + 2);
    }
    assert.equal(logIn("unwaited").backend.write(event(1)), undefined);
  });

  it("resolves blocking writes of events that it cannot write", async () => {
    const { backend, dropped } = logIn("waited/full", { isBlocking: true, bufferBytesMax: 10 });
    assert.equal(backend.write(event(1)), undefined);
    const { path } = logIn("waited/blocked");
    const blocked = logIn("x", {
      isBlocking: true,
      path: join(path, "..", "..", "waited.txt", "y"),
    });
    writeFileSync(join(path, "..", "..", "waited.txt"), "a file where a folder is to be");
    await blocked.backend.write(event(1));
    assert.deepEqual([dropped, blocked.dropped], [[1], [1]]);
  });

  it("writes more than one chunk, in order, too", async () => {
    const { backend, path, dropped } = logIn("pieces");
    const text = "v".repeat(600_000);
    for (let i = 0; i < 20; i++) void backend.write({ ...event(i), text });
    await backend.close();
    assert.deepEqual(idsIn(readFileSync(path, "utf8")), [...Array(20).keys()]);
    assert.deepEqual(dropped, []);
  });

  it("is rotated when it is full, and backups are deleted by number and by age", async () => {
    const { backend, path, clock } = logIn("rotated", {
      sizeMaxBytes: 40,
      backupsMax: 2,
      ageMaxDays: 1,
    });
    const files = () => readdirSync(join(path, "..")).sort();
    writeFileSync(join(directory, "other"), "");
    for (let i = 0; i < 5; i++) {
      void backend.write(event(i));
      await backend.close();
      clock.advance(1000);
    }
    assert.deepEqual(files(), [
      "audit-2026-11-15T00-00-03.000.log",
      "audit-2026-11-15T00-00-04.000.log",
      "audit.log",
    ]);
    assert.deepEqual(idsIn(readFileSync(path, "utf8")), [4]);
    clock.advance(25 * 3_600_000);
    void backend.write(event(5));
    await backend.close();
    assert.deepEqual(files(), ["audit-2026-11-16T01-00-05.000.log", "audit.log"]);
  });

  it("drops and counts events that exceed its buffer", async () => {
    const line = JSON.stringify(event(0)).length + 1;
    const { backend, path, dropped } = logIn("bounded", { bufferBytesMax: 3 * line });
    for (let i = 0; i < 5; i++) void backend.write(event(i));
    await backend.close();
    assert.deepEqual(dropped, [1, 1]);
    assert.deepEqual(idsIn(readFileSync(path, "utf8")), [0, 1, 2]);
  });

  it("counts events that the disk did not accept, and continues", async () => {
    const { backend, dropped, errors } = logIn("broken", { path: directory });
    void backend.write(event(0));
    void backend.write(event(1));
    await backend.close();
    assert.deepEqual(dropped, [2]);
    assert.equal(errors.length, 1);
  });
});

function webhook(answers: (attempt: number) => boolean, limits = {}) {
  const clock = new FakeClock();
  const sent: string[] = [];
  const attempts: string[] = [];
  const errors: unknown[] = [];
  let dropped = 0;
  const backend = new WebhookBackend({
    clock,
    random: new SeededRandom(1),
    limits,
    send: async (body) => {
      const text = Buffer.from(body).toString("utf8");
      attempts.push(text);
      if (!answers(attempts.length)) throw new Error("away");
      sent.push(text);
    },
    onDropped: (count) => {
      dropped += count;
    },
    onError: (error) => errors.push(error),
  });
  return { backend, clock, sent, attempts, errors, dropped: () => dropped };
}

async function settle(): Promise<void> {
  for (let i = 0; i < 20; i++) await undefined;
}

describe("the audit webhook", () => {
  it("receives a batch when it is full or has waited long enough", async () => {
    const { backend, clock, sent } = webhook(() => true, { batchEventsMax: 3 });
    for (let i = 0; i < 4; i++) backend.write(event(i));
    await settle();
    // Events that arrived during the first request are sent in the same flush.
    assert.deepEqual(sent.flatMap(idsIn), [0, 1, 2, 3]);
    backend.write(event(4));
    clock.advance(webhookLimits.batchWaitMaxMs - 1);
    await settle();
    assert.equal(sent.flatMap(idsIn).length, 4);
    clock.advance(1);
    await settle();
    assert.deepEqual(sent.flatMap(idsIn), [0, 1, 2, 3, 4]);
    assert.equal((JSON.parse(sent[0] as string) as { kind: string }).kind, "EventList");
    await backend.close();
    assert.equal(clock.pending, 0);
  });

  it("is retried with backoff while it is unavailable, and no event is lost", async () => {
    const { backend, clock, sent, attempts, dropped } = webhook((attempt) => attempt > 2, {
      batchEventsMax: 1,
    });
    backend.write(event(0));
    await settle();
    assert.equal(attempts.length, 1);
    clock.advance(webhookLimits.backoffInitialMs - 1);
    await settle();
    assert.equal(attempts.length, 1);
    clock.advance(webhookLimits.backoffInitialMs * 0.2 + 1);
    await settle();
    assert.equal(attempts.length, 2);
    clock.advance(webhookLimits.backoffInitialMs * 1.5 * 1.2);
    await settle();
    assert.deepEqual(sent.flatMap(idsIn), [0]);
    assert.equal(dropped(), 0);
  });

  it("loses a batch after the last attempt and events that exceed the buffer, and counts both", async () => {
    const { backend, clock, dropped } = webhook(() => false, {
      batchEventsMax: 2,
      bufferEventsMax: 4,
    });
    for (let i = 0; i < 5; i++) backend.write(event(i));
    assert.equal(dropped(), 1);
    for (let i = 0; i < webhookLimits.attemptsMax; i++) {
      await settle();
      clock.advance(100_000);
    }
    await settle();
    assert.equal(dropped(), 3);
  });

  it("flushes its buffer when the server stops", async () => {
    const { backend, sent } = webhook(() => true);
    backend.write(event(0));
    await backend.close();
    assert.deepEqual(sent.flatMap(idsIn), [0]);
  });

  it("buffers a limited number of bytes, and drops and counts events beyond it", async () => {
    const eventBytes = JSON.stringify(large(0)).length;
    const limits = { bufferBytesMax: 3 * eventBytes, batchBytesMax: 2 * eventBytes + 100 };
    const { backend, clock, sent, dropped } = webhook(() => true, limits);
    // Characters are not bytes.
    backend.write({ kind: "Event", auditID: "id-0", text: "é".repeat(2 * eventBytes) });
    assert.equal(dropped(), 1);
    for (let i = 1; i <= 4; i++) backend.write(large(i));
    assert.equal(dropped(), 2);
    await settle();
    clock.advance(webhookLimits.batchWaitMaxMs);
    await settle();
    // Two events fit into a batch, and sent events free the buffer.
    assert.deepEqual(sent.map(idsIn), [[1, 2], [3]]);
    for (const body of sent) assert.ok(body.length <= limits.batchBytesMax);
    backend.write(large(5));
    await backend.close();
    assert.deepEqual(sent.map(idsIn), [[1, 2], [3], [5]]);
    assert.equal(dropped(), 2);
  });

  it("sends an event that is larger than a batch by itself", async () => {
    const { backend, sent } = webhook(() => true, { batchBytesMax: 500 });
    for (const each of [event(0), large(1), event(2)]) backend.write(each);
    await backend.close();
    assert.deepEqual(sent.map(idsIn), [[0], [1], [2]]);
  });

  it("survives large events while it is unavailable, and counts every one of them", async () => {
    const { backend, attempts, dropped } = webhook(() => false);
    const big = "v".repeat(1_000_000);
    const objects = (i: number) => ({ requestObject: `${big}${i}`, responseObject: `${i}${big}` });
    // As one string, they would exceed the maximum length of a string.
    for (let i = 0; i < 700; i++) backend.write({ ...event(i), ...objects(i) });
    await settle();
    const held = 700 - dropped();
    assert.ok(held > 0 && held * 2_000_000 <= webhookLimits.bufferBytesMax, `${held} are held`);
    await backend.close();
    assert.equal(dropped(), 700);
    for (const body of attempts) assert.ok(body.length < 2 * webhookLimits.batchBytesMax);
  });

  it("does not send batch after batch while the server stops and the webhook is unavailable", async () => {
    const { backend, attempts, dropped } = webhook(() => false, { batchEventsMax: 1 });
    for (let i = 0; i < 10; i++) backend.write(event(i));
    await backend.close();
    assert.ok(attempts.length <= 2, `${attempts.length} attempts`);
    assert.equal(dropped(), 10);
  });

  it("reports and counts an event that cannot be encoded as JSON", async () => {
    const { backend, sent, dropped, errors } = webhook(() => true);
    backend.write(endless);
    backend.write(event(1));
    await backend.close();
    assert.deepEqual([sent.flatMap(idsIn), dropped(), errors.length], [[1], 1, 1]);
    const log = logIn("unwritable");
    void log.backend.write(endless);
    assert.deepEqual([log.dropped, log.errors.length], [[1], 1]);
  });
});
