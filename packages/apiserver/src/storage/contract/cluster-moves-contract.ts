/**
 * The contract of stores between which logical clusters move: the promises of `ClusterMoves`, as
 * tests. A move goes between two stores of the backend, step by step, as a mover does it.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { neverAborted } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { type DataChange, keyOfChange } from "../change-feed.ts";
import { clusterPrefix, objectKey, resourcePrefix, type StorageKey } from "../key.ts";
import { exportChanges, exportState } from "../moves/cluster-export.ts";
import type { ClusterMoves, ExportRecord } from "../moves/cluster-moves.ts";
import type { Revision } from "../revision.ts";
import type { Entry, Storage, Write } from "../storage.ts";
import { call, collect, type OpenedStorage, text } from "./storage-contract.ts";

export type MovableStorage = Storage & { readonly moves: ClusterMoves };

export interface OpenedMovable extends OpenedStorage {
  readonly storage: MovableStorage;
}

const team = "team" as ClusterName;
const other = "other" as ClusterName;
const resource = { group: "", resource: "configmaps", identity: "" };
const secrets = { group: "", resource: "secrets", identity: "" };
const everywhere = resourcePrefix(resource);
const inTeam = clusterPrefix({ ...resource, cluster: team });

interface Pair {
  readonly source: MovableStorage;
  readonly destination: MovableStorage;
}

export function describeClusterMoves(name: string, open: () => Promise<OpenedMovable>): void {
  const test = (title: string, body: (pair: Pair) => Promise<void>) =>
    void it(title, async () => {
      const [from, to] = [await open(), await open()];
      try {
        await body({ source: from.storage, destination: to.storage });
      } finally {
        await from.dispose();
        await to.dispose();
      }
    });

  describe(`contract of moves: ${name}`, () => {
    describeResults(test);
    describeWatches(test);
    describeSteps(test);
  });
}

type Test = (title: string, body: (pair: Pair) => Promise<void>) => void;

function describeResults(test: Test): void {
  test("a moved cluster has the same objects at the same revisions", async (pair) => {
    await writeSome(pair.source);
    await put(pair.destination, other, "here", "1");
    const before = await listOf(pair.source, inTeam);
    await move(pair);
    assert.deepEqual(await listOf(pair.destination, inTeam), before);
    assert.deepEqual(await listOf(pair.source, inTeam), []);
    const [first] = before;
    assert.ok(first !== undefined);
    const got = await pair.destination.get(first.key, call());
    assert.deepEqual([got?.createdAt, got?.modifiedAt], [first.createdAt, first.modifiedAt]);
  });

  test("other clusters of both stores stay as they are", async (pair) => {
    await writeSome(pair.source);
    await put(pair.source, other, "a", "source");
    await put(pair.destination, other, "a", "destination");
    await move(pair);
    const inOther = clusterPrefix({ ...resource, cluster: other });
    assert.deepEqual((await listOf(pair.source, inOther)).map(text), ["source"]);
    assert.deepEqual((await listOf(pair.destination, inOther)).map(text), ["destination"]);
  });

  test("revisions after a move are above all that the source has said", async (pair) => {
    await writeSome(pair.source);
    await move(pair);
    const said = await pair.source.currentRevision(call());
    assert.ok((await put(pair.destination, team, "new", "1")) > said);
  });

  test("an object that arrived is replaced and deleted at its revision, and no other", async (pair) => {
    const { a, b } = await writeSome(pair.source);
    await move(pair);
    const { destination } = pair;
    const stale: Write = { key: key(team, "a"), value: bytes("x"), expected: (a - 1) as Revision };
    await assert.rejects(destination.commit(stale, call()), { code: "conflict", current: a });
    const next = await destination.commit({ ...stale, expected: a }, call());
    const got = await destination.get(key(team, "a"), call());
    assert.deepEqual([text(got), got?.modifiedAt], ["x", next]);
    await destination.commit({ key: key(team, "b"), value: "delete", expected: b }, call());
    assert.equal(await destination.get(key(team, "b"), call()), undefined);
  });

  test("a create of an object that arrived is a conflict", async (pair) => {
    const { a } = await writeSome(pair.source);
    await move(pair);
    const create: Write = { key: key(team, "a"), value: bytes("x"), expected: "absent" };
    await assert.rejects(pair.destination.commit(create, call()), { code: "conflict", current: a });
  });

  test("reads at revisions of the source have the state of then", async (pair) => {
    const { source, destination } = pair;
    const from = await source.currentRevision(call());
    await writeSome(source);
    const to = await source.currentRevision(call());
    const states = new Map<Revision, readonly Entry[]>();
    for (let at: number = from; at <= to; at++)
      states.set(at as Revision, await listOf(source, inTeam, at as Revision));
    await move(pair);
    const a = await destination.get(key(team, "a"), call());
    await put(destination, team, "a", "later", a?.modifiedAt);
    await put(destination, team, "later", "1");
    for (const [at, state] of states) {
      assert.deepEqual(await listOf(destination, inTeam, at), state, `at ${at}`);
      const count = await destination.count(inTeam, { ...call(), atRevision: at });
      assert.equal(count, state.length);
      const one = await destination.get(key(team, "a"), { ...call(), atRevision: at });
      assert.deepEqual(
        one,
        state.find((entry) => entry.key === key(team, "a")),
      );
    }
  });

  test("pages at a revision of the source go on at the destination", async (pair) => {
    for (let i = 0; i < 9; i++) await put(pair.source, team, `n${i}`, "1");
    const atRevision = await pair.source.currentRevision(call());
    await move(pair);
    await put(pair.destination, team, "n99", "1");
    const names: string[] = [];
    let continueAfter: StorageKey | undefined;
    do {
      const options = { ...call(), entriesMax: 4, continueAfter, atRevision };
      const page = await pair.destination.list(inTeam, options);
      names.push(...page.entries.map((entry) => entry.key.slice(-2)));
      continueAfter = page.more ? page.entries.at(-1)?.key : undefined;
    } while (continueAfter !== undefined);
    assert.deepEqual(
      names,
      Array.from({ length: 9 }, (_, i) => `n${i}`),
    );
  });

  test("a cluster that moved back has what was written elsewhere, and all of its history", async (pair) => {
    const { source, destination } = pair;
    const from = await source.currentRevision(call());
    const { a, b } = await writeSome(source);
    await move(pair);
    await put(destination, team, "a", "elsewhere", a);
    await destination.commit({ key: key(team, "b"), value: "delete", expected: b }, call());
    const state = await listOf(destination, inTeam);
    const changes = await changesOf(destination, inTeam, from, 8);
    await move({ source: destination, destination: source });
    assert.deepEqual(await listOf(source, inTeam), state);
    assert.deepEqual(await changesOf(source, inTeam, from, 8), changes);
    const c = state.find((entry) => entry.key === key(team, "c"));
    const next = await put(source, team, "c", "home", c?.modifiedAt);
    const before = (next - 1) as Revision;
    assert.deepEqual(await listOf(source, inTeam, before), state);
    assert.equal(await source.get(key(team, "b"), { ...call(), atRevision: before }), undefined);
  });
}

function describeWatches(test: Test): void {
  test("a watch from any revision of the source has every change once", async (pair) => {
    const { source, destination } = pair;
    const from = await source.currentRevision(call());
    await writeSome(source);
    const all = await changesOf(source, inTeam, from, 6);
    await move(pair);
    await put(destination, team, "later", "1");
    await put(destination, other, "here", "1");
    const [last] = (await changesOf(destination, inTeam, from, 7)).slice(-1);
    assert.equal(last && keyOfChange(last), key(team, "later"));
    for (const [at, { revision }] of all.entries()) {
      const expected = [...all.slice(at + 1), last];
      const found = await changesOf(destination, inTeam, revision, expected.length);
      assert.deepEqual(found, expected);
    }
  });

  test("changes that the copy began with are watched, too", async (pair) => {
    const { source, destination } = pair;
    const from = await source.currentRevision(call());
    await writeSome(source);
    const all = await changesOf(source, inTeam, from, 6);
    const secret = objectKey({ ...secrets, cluster: team, namespace: "", name: "s" });
    await source.commit({ key: secret, value: bytes("1"), expected: "absent" }, call());
    await move(pair);
    assert.deepEqual(await changesOf(destination, inTeam, from, 6), all);
    const inSecrets = clusterPrefix({ ...secrets, cluster: team });
    const [change] = await changesOf(destination, inSecrets, from, 1);
    assert.equal(change && keyOfChange(change), secret);
  });

  test("watches of all clusters get each arrived object once, after the present", async (pair) => {
    const { source, destination } = pair;
    await writeSome(source);
    const entries = await listOf(source, inTeam);
    const present = await put(destination, other, "here", "1");
    await move(pair);
    const next = await put(destination, other, "there", "1");
    const changes = await changesOf(destination, everywhere, present, entries.length + 1);
    assert.deepEqual(
      changes.slice(0, -1).map((change) => change.kind === "put" && change.entry),
      entries,
    );
    for (const change of changes.slice(0, -1)) {
      assert.equal(change.relocation, true);
      assert.equal(change.previous, undefined);
    }
    assert.equal(changes.at(-1)?.revision, next);
    assertRising(changes, present);
  });

  test("watches of all clusters get each object that left as a relocation", async (pair) => {
    const { source } = pair;
    await writeSome(source);
    const entries = await listOf(source, inTeam);
    const present = await put(source, other, "here", "1");
    await move(pair);
    await put(source, other, "there", "1");
    const changes = await changesOf(source, everywhere, present, entries.length + 1);
    for (const [at, entry] of entries.entries()) {
      const change = changes[at];
      assert.deepEqual([change?.kind, change?.relocation], ["delete", true]);
      assert.deepEqual(change?.previous, entry);
    }
    assertRising(changes, present);
  });

  test("an open watch of all clusters learns the raised revision", async (pair) => {
    const { source, destination } = pair;
    const stop = new AbortController();
    const options = { signal: stop.signal, bufferedChangesMax: 1000 };
    const reached = (async () => {
      const from = await destination.currentRevision(call());
      let last = from;
      for await (const change of destination.watch("" as StorageKey, from, options))
        last = change.revision;
      return last;
    })();
    await put(source, team, "a", "1");
    await move(pair);
    const current = await destination.currentRevision(call());
    await put(destination, other, "x", "1");
    await changesOf(destination, clusterPrefix({ ...resource, cluster: other }), current, 1);
    stop.abort();
    assert.ok((await reached) > current);
  });
}

function describeSteps(test: Test): void {
  test("a fenced cluster is read and not written, and other clusters are written", async (pair) => {
    const { source } = pair;
    await writeSome(source);
    await source.moves.startExport(team, "m", call());
    const before = await put(source, team, "d", "1");
    const final = await source.moves.fence(team, call());
    assert.ok(final >= before);
    await assert.rejects(put(source, team, "e", "1"), { code: "moving" });
    assert.equal((await listOf(source, inTeam)).length, 4);
    await put(source, other, "a", "1");
    await source.moves.cancelExport(team, call());
    await put(source, team, "e", "1");
    assert.deepEqual(source.moves.records(), []);
  });

  test("of writes around a fence exactly those up to the final revision succeed", async (pair) => {
    const { source } = pair;
    await source.moves.startExport(team, "m", call());
    const writes = Array.from({ length: 300 }, (_, i) => put(source, team, `n${i}`, "1"));
    const fence = source.moves.fence(team, call());
    const late = Array.from({ length: 300 }, (_, i) => put(source, team, `l${i}`, "1"));
    const results = await Promise.allSettled([...writes, ...late]);
    const final = await fence;
    const succeeded = results.flatMap((one) => (one.status === "fulfilled" ? [one.value] : []));
    for (const result of results)
      if (result.status === "rejected")
        assert.equal((result.reason as { code: string }).code, "moving");
    assert.ok(succeeded.every((revision) => revision <= final));
    assert.equal((await listOf(source, inTeam)).length, succeeded.length);
    assert.equal(await source.currentRevision(call()), final);
  });

  test("an import is not visible before it is sealed, and not written before it is open", async (pair) => {
    const { source, destination } = pair;
    await writeSome(source);
    const from = await destination.currentRevision(call());
    await copy(pair, "m");
    const final = await source.moves.fence(team, call());
    await copyChanges(pair, final);
    assert.deepEqual(await listOf(destination, inTeam), []);
    assert.deepEqual(await listOf(destination, "" as StorageKey), []);
    assert.equal(await destination.count(everywhere, call()), 0);
    assert.equal(await destination.get(key(team, "a"), call()), undefined);
    assert.equal(destination.peek?.(key(team, "a")), undefined);
    assert.equal(await destination.currentRevision(call()), from);
    await assert.rejects(put(destination, team, "d", "1"), { code: "moving" });
    await destination.moves.seal(team, final, call());
    assert.equal((await listOf(destination, inTeam)).length, 3);
    await assert.rejects(put(destination, team, "d", "1"), { code: "moving" });
    await destination.moves.open(team, call());
    await put(destination, team, "d", "1");
  });

  test("an incomplete import cannot be sealed", async (pair) => {
    const { source, destination } = pair;
    await writeSome(source);
    await copy(pair, "m");
    await put(source, team, "d", "1");
    const final = await source.moves.fence(team, call());
    await assert.rejects(destination.moves.seal(team, final, call()), { code: "conflict" });
  });

  for (const sealed of [false, true]) {
    test(`a discarded import that was ${sealed ? "" : "not "}sealed leaves nothing behind`, async (pair) => {
      const { source, destination } = pair;
      await writeSome(source);
      await copy(pair, "m");
      const final = await source.moves.fence(team, call());
      await copyChanges(pair, final);
      if (sealed) {
        await destination.moves.seal(team, final, call());
        await destination.moves.announce(team, call());
      }
      await destination.moves.discardImport(team, call());
      await source.moves.cancelExport(team, call());
      assert.deepEqual(await listOf(destination, "" as StorageKey), []);
      assert.deepEqual(destination.moves.records(), []);
      await put(source, team, "d", "1");
      await move(pair);
      assert.equal((await listOf(destination, inTeam)).length, 4);
    });
  }

  test("steps that are repeated change nothing", async (pair) => {
    const { source, destination } = pair;
    await writeSome(source);
    await copy(pair, "m");
    await copy(pair, "m");
    await put(source, team, "d", "1");
    const final = await source.moves.fence(team, call());
    assert.equal(await source.moves.fence(team, call()), final);
    await copyChanges(pair, final);
    await copyChanges(pair, final);
    for (let i = 0; i < 2; i++) await destination.moves.seal(team, final, call());
    for (let i = 0; i < 2; i++) await source.moves.release(team, call());
    for (let i = 0; i < 2; i++) await destination.moves.open(team, call());
    for (let i = 0; i < 2; i++) await destination.moves.announce(team, call());
    for (let i = 0; i < 2; i++) await source.moves.removeReleased(team, call());
    assert.equal((await listOf(destination, inTeam)).length, 4);
    const announced = await changesOf(destination, everywhere, 0 as Revision, 4);
    assert.equal(new Set(announced.map(keyOfChange)).size, 4);
    await assert.rejects(put(source, team, "e", "1"), { code: "moving" });
  });

  test("a cluster that is on both sides is not imported", async (pair) => {
    await writeSome(pair.source);
    await put(pair.destination, team, "mine", "1");
    await assert.rejects(pair.destination.moves.startImport(team, "m", call()), {
      code: "conflict",
    });
  });

  test("imported history ends with the store's own", async (pair) => {
    const { source, destination } = pair;
    const from = await source.currentRevision(call());
    const { a } = await writeSome(source);
    await move(pair);
    await put(destination, team, "a", "later", a);
    await put(destination, other, "x", "1");
    await destination.compact(await destination.currentRevision(call()), call());
    await assert.rejects(changesOf(destination, inTeam, from, 1), { code: "compacted" });
    await assert.rejects(listOf(destination, inTeam, from), { code: "compacted" });
    assert.equal((await listOf(destination, inTeam)).length, 3);
  });
}

/** Three objects, one of them replaced, and one that was deleted: six changes. */
export async function writeSome(storage: Storage): Promise<{ a: Revision; b: Revision }> {
  const first = await put(storage, team, "a", "1");
  const b = await put(storage, team, "b", "1");
  const a = await put(storage, team, "a", "2", first);
  await put(storage, team, "c", "1");
  const gone = await put(storage, team, "gone", "1");
  await storage.commit({ key: key(team, "gone"), value: "delete", expected: gone }, call());
  return { a, b };
}

/** Moves the cluster, each step once. */
async function move(pair: Pair): Promise<void> {
  const { source, destination } = pair;
  await copy(pair, `move from ${await source.currentRevision(call())}`);
  const final = await source.moves.fence(team, call());
  await copyChanges(pair, final);
  await destination.moves.seal(team, final, call());
  await source.moves.release(team, call());
  await destination.moves.open(team, call());
  await destination.moves.announce(team, call());
  await source.moves.removeReleased(team, call());
}

async function copy(pair: Pair, note: string): Promise<void> {
  const { source, destination } = pair;
  await source.moves.startExport(team, note, call());
  await destination.moves.startImport(team, note, call());
  if (!destination.moves.recordOf(team)?.hasState)
    await importAll(destination, exportState(source, team, call()));
  await copyChanges(pair, await source.currentRevision(call()));
}

async function copyChanges({ source, destination }: Pair, upTo: Revision): Promise<void> {
  for (;;) {
    const after = destination.moves.recordOf(team)?.upTo ?? (0 as Revision);
    if (after >= upTo) return;
    const range = { after, upTo, changesMax: 3 };
    await importAll(destination, exportChanges(source, team, range, call()));
  }
}

async function importAll(storage: MovableStorage, records: AsyncIterable<ExportRecord>) {
  let some: ExportRecord[] = [];
  for await (const record of records) {
    some.push(record);
    if (some.length < 2) continue;
    await storage.moves.import(team, some, call());
    some = [];
  }
  await storage.moves.import(team, some, call());
}

function changesOf(
  storage: Storage,
  prefix: StorageKey,
  after: Revision,
  count: number,
): Promise<DataChange[]> {
  return collect(storage, prefix, after, count);
}

async function listOf(
  storage: Storage,
  prefix: StorageKey,
  atRevision?: Revision,
): Promise<readonly Entry[]> {
  const options = { signal: neverAborted, entriesMax: 10_000, atRevision };
  return (await storage.list(prefix, options)).entries.map((entry) => ({
    ...entry,
    value: Uint8Array.from(entry.value),
  }));
}

async function put(
  storage: Storage,
  cluster: ClusterName,
  name: string,
  value: string,
  expected: Revision | "absent" = "absent",
): Promise<Revision> {
  return await storage.commit({ key: key(cluster, name), value: bytes(value), expected }, call());
}

function key(cluster: ClusterName, name: string): StorageKey {
  return objectKey({ ...resource, cluster, namespace: "default", name });
}

function bytes(value: string): Uint8Array {
  return new TextEncoder().encode(value);
}

function assertRising(changes: readonly DataChange[], after: Revision): void {
  let last: number = after;
  for (const { revision } of changes) {
    assert.ok(revision > last);
    last = revision;
  }
}
