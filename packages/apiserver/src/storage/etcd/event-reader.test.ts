/** Fragments and missing previous pairs, which a real etcd sends only in rare cases. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { create, type MessageInitShape } from "@bufbuild/protobuf";
import { StorageError } from "../errors.ts";
import type { StorageKey } from "../key.ts";
import type { Revision } from "../revision.ts";
import type { Change, Entry } from "../storage.ts";
import { EventReader } from "./event-reader.ts";
import { type EventSchema, type WatchResponse, WatchResponseSchema } from "./generated/etcd_pb.ts";
import { KeySpace } from "./key-space.ts";

const { signal } = new AbortController();

describe("reading etcd's events", () => {
  it("a revision that may continue in the next fragment is held back until it is complete", async () => {
    const reader = open();
    const first = await reader.read(
      response([born("a", 5), born("b", 6), born("c", 6)], true),
      signal,
    );
    assert.deepEqual(describeAll(first), ["put /a @5"]);
    assert.ok(reader.holding);
    const second = await reader.read(response([born("d", 6)], true), signal);
    assert.deepEqual(describeAll(second), []);
    const third = await reader.read(response([born("e", 6), born("f", 7)], false), signal);
    assert.deepEqual(describeAll(third), [
      "put /b @6",
      "put /c @6",
      "put /d @6",
      "put /e @6",
      "put /f @7",
    ]);
    assert.equal(reader.holding, false);
    assert.equal(reader.revision, 7);
  });

  it("held events are dropped when a new stream begins, which sends them again", async () => {
    const reader = open();
    await reader.read(response([born("a", 5), born("b", 6)], true), signal);
    assert.equal(reader.revision, 5);
    reader.restart();
    const again = await reader.read(response([born("b", 6), born("c", 6)], false), signal);
    assert.deepEqual(describeAll(again), ["put /b @6", "put /c @6"]);
  });

  it("a previous pair that etcd omitted is read at the revision before", async () => {
    const asked: string[] = [];
    const reader = open(async (key, atRevision) => {
      asked.push(`${key}@${atRevision}`);
      return entry(key, 3);
    });
    const changes = await reader.read(
      response([changed("a", 9), { type: 1, kv: pair("b", 0, 10) }], false),
      signal,
    );
    assert.deepEqual(asked, ["/a@8", "/b@9"]);
    assert.deepEqual(
      changes.map((change) => (change.kind === "progress" ? 0 : change.previous?.modifiedAt)),
      [3, 3],
    );
  });

  it("a compacted previous pair fails with compacted, and is not guessed", async () => {
    const reader = open(async () => {
      throw new StorageError("compacted", "gone");
    });
    await assert.rejects(reader.read(response([changed("a", 9)], false), signal), {
      code: "compacted",
    });
  });

  it("a change of a key that never existed is corrupt", async () => {
    const reader = open(async () => undefined);
    await assert.rejects(reader.read(response([changed("a", 9)], false), signal), {
      code: "corrupt",
    });
  });

  it("a new key has no previous pair and none is read", async () => {
    const [change] = await open().read(response([born("a", 5)], false), signal);
    assert.ok(change?.kind === "put" && change.previous === undefined);
  });
});

type EventInit = MessageInitShape<typeof EventSchema>;

function open(readAt?: (key: StorageKey, atRevision: Revision) => Promise<Entry | undefined>) {
  const unexpected = async () => assert.fail("nothing should be read");
  return new EventReader({ keySpace: new KeySpace("/t"), readAt: readAt ?? unexpected });
}

function response(events: EventInit[], fragment: boolean): WatchResponse {
  return create(WatchResponseSchema, { events, fragment });
}

function born(name: string, revision: number): EventInit {
  return { kv: pair(name, revision, revision) };
}

function changed(name: string, revision: number): EventInit {
  return { kv: pair(name, 2, revision) };
}

function pair(name: string, created: number, modified: number) {
  return {
    key: Buffer.from(`/t/${name}`),
    createRevision: BigInt(created),
    modRevision: BigInt(modified),
  };
}

function entry(key: StorageKey, revision: number): Entry {
  const at = revision as Revision;
  return { key, value: new Uint8Array(), createdAt: at, modifiedAt: at };
}

function describeAll(changes: readonly Change[]): string[] {
  return changes.map((change) =>
    change.kind === "put" ? `put ${change.entry.key} @${change.revision}` : change.kind,
  );
}
