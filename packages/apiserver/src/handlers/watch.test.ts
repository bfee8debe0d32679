import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import type { Revision } from "../storage/index.ts";
import {
  type AnyObject,
  openWatches,
  summarizeEvent,
  TestServer,
  type WatchReader,
} from "../testing/index.ts";

const base = "/clusters/a/api/v1";
const configmaps = `${base}/namespaces/default/configmaps`;
const { signal } = new AbortController();

describe("watch", () => {
  let server: TestServer;
  let watches: WatchReader[];
  beforeEach(async () => {
    server = await TestServer.start();
    watches = [];
  });
  afterEach(async () => {
    for (const watch of watches) await watch.leave();
    await server.close();
  });

  const create = (name: string, labels: object = {}): Promise<AnyObject> =>
    server.requestOk("POST", configmaps, { body: { metadata: { name, labels } } });
  const label = (name: string, labels: object) =>
    server.patch(`${configmaps}/${name}`, "merge", { metadata: { labels } });
  const watch = async (query: string, options = {}, path = configmaps): Promise<WatchReader> => {
    const reader = await server.watch(`${path}?watch=1&${query}`, options);
    watches.push(reader);
    return reader;
  };
  const revision = async () => String(await server.storage.currentRevision({ signal }));

  it("without a resourceVersion starts with the current objects, and continues", async () => {
    for (const query of ["", "resourceVersion=0"]) {
      await create(`b${query.length}`);
      const { names } = await server.get(configmaps);
      const reader = await watch(query);
      assert.deepEqual(
        (await reader.take(names.length)).map(summarizeEvent),
        names.map((name) => `ADDED ${name}`),
      );
      await create(`c${query.length}`);
      assert.equal(summarizeEvent(await reader.next()), `ADDED c${query.length}`);
    }
  });

  it("from a resourceVersion delivers the later changes, as complete objects with their kind", async () => {
    const first = await create("a");
    const second = await create("b");
    await label("a", { l: "1" });
    await server.requestOk("DELETE", `${configmaps}/a`);
    const reader = await watch(`resourceVersion=${first.metadata.resourceVersion}`);
    const events = await reader.take(3);
    assert.deepEqual(events.map(summarizeEvent), ["ADDED b", "MODIFIED a", "DELETED a"]);
    assert.deepEqual(events[0]?.object, second);
    for (const { object } of events) {
      assert.equal(object.kind, "ConfigMap");
      assert.equal(object.apiVersion, "v1");
    }
    const versions = events.map(({ object }) => Number(object.metadata.resourceVersion));
    assert.deepEqual(
      versions,
      [...versions].sort((a, b) => a - b),
    );
  });

  it("of a server that has just started delivers history from the store", async () => {
    const first = await create("a");
    for (let i = 0; i < 20; i++) await label("a", { l: String(i) });
    const other = await TestServer.start({ storage: server.storage });
    const reader = await other.watch(
      `${configmaps}?watch=1&resourceVersion=${first.metadata.resourceVersion}`,
    );
    const events = await reader.take(20);
    assert.deepEqual(
      events.map(({ object }) => object.metadata.labels?.["l"]),
      Array.from({ length: 20 }, (_, i) => String(i)),
    );
    await label("a", { l: "live" });
    assert.equal((await reader.next())?.object.metadata.labels?.["l"], "live");
    await reader.leave();
    await other.server.close();
  });

  it("delivers a history of many thousand events completely, however far behind it starts", async () => {
    const first = await create("a");
    const count = 6000;
    for (let i = 0; i < count; i++) await label("a", { l: String(i) });
    const reader = await watch(`resourceVersion=${first.metadata.resourceVersion}`);
    const events = await reader.take(count);
    assert.equal(events.at(-1)?.object.metadata.labels?.["l"], String(count - 1));
    await label("a", { l: "live" });
    assert.equal((await reader.next())?.object.metadata.labels?.["l"], "live");
  });

  it("delivers changes into or out of the selection as ADDED or DELETED", async () => {
    await create("in", { l: "yes" });
    await create("out", { l: "no" });
    const reader = await watch(`labelSelector=l%3Dyes&resourceVersion=${await revision()}`);
    await label("out", { l: "yes" });
    await label("in", { l: "yes", more: "1" });
    const before = await server.requestOk("GET", `${configmaps}/in`);
    const left = await label("in", { l: "no" });
    await label("in", { l: "never" });
    await server.requestOk("DELETE", `${configmaps}/in`);
    await server.requestOk("DELETE", `${configmaps}/out`);
    const events = await reader.take(4);
    assert.deepEqual(events.map(summarizeEvent), [
      "ADDED out",
      "MODIFIED in",
      "DELETED in",
      "DELETED out",
    ]);
    // The object as it last matched, with the resourceVersion of the change.
    const { metadata } = before;
    assert.deepEqual(events[2]?.object, {
      ...before,
      metadata: { ...metadata, resourceVersion: left.object.metadata.resourceVersion },
    });
  });

  it("applies field selectors to both states of a change, too", async () => {
    const path = `${base}/namespaces`;
    await server.requestOk("POST", path, { body: { metadata: { name: "n" } } });
    const query = `fieldSelector=status.phase%3DActive&resourceVersion=${await revision()}`;
    const reader = await watch(query, {}, path);
    await server.requestOk("DELETE", `${path}/n`);
    const event = await reader.next();
    assert.equal(summarizeEvent(event), "DELETED n");
    assert.deepEqual(event?.object["status"], { phase: "Active" });
  });

  it("of one object delivers only that object, by selector or by the old path", async () => {
    await create("x");
    await create("x2");
    const readers = [
      await watch("fieldSelector=metadata.name%3Dx"),
      await watch("fieldSelector=metadata.namespace%3Ddefault,metadata.name%3Dx"),
      await watch("", {}, `${base}/watch/namespaces/default/configmaps/x`),
    ];
    await label("x2", { l: "1" });
    await label("x", { l: "1" });
    await create("x3");
    await server.requestOk("DELETE", `${configmaps}/x`);
    for (const reader of readers) {
      assert.deepEqual((await reader.take(3)).map(summarizeEvent), [
        "ADDED x",
        "MODIFIED x",
        "DELETED x",
      ]);
    }
    const query = "watch=1&fieldSelector=metadata.name%3Dy";
    const mismatch = await server.get(`${base}/watch/namespaces/default/configmaps/x?${query}`);
    assert.equal(mismatch.status, 400);
    assert.equal(
      mismatch.object.message,
      "fieldSelector metadata.name doesn't match requested name",
    );
  });

  it("delivers a bookmark every minute on request, which contains only a resourceVersion", async () => {
    await create("x");
    const asked = await watch(`allowWatchBookmarks=true&resourceVersion=${await revision()}`);
    const plain = await watch(`resourceVersion=${await revision()}`);
    const [bookmark, none] = [asked.next(), plain.next()];
    await settle();
    // A change in another cluster advances the bookmark.
    await server.requestOk("POST", "/clusters/b/api/v1/namespaces", {
      body: { metadata: { name: "n" } },
    });
    server.clock.advance(60_000);
    assert.deepEqual(await bookmark, {
      type: "BOOKMARK",
      object: {
        kind: "ConfigMap",
        apiVersion: "v1",
        metadata: { resourceVersion: await revision() },
      },
    });
    await create("y");
    assert.equal(summarizeEvent(await none), "ADDED y");
  });

  it("with sendInitialEvents ends the initial events with an annotated bookmark", async () => {
    await create("x");
    const version = await revision();
    const query = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1";
    for (const more of ["", "&resourceVersion=0", `&resourceVersion=${version}`]) {
      const reader = await watch(query + more);
      const [first, end] = await reader.take(2);
      assert.equal(summarizeEvent(first), "ADDED x");
      assert.equal(end?.type, "BOOKMARK");
      assert.deepEqual(end?.object.metadata.annotations, { "k8s.io/initial-events-end": "true" });
      assert.equal(end?.object.metadata.resourceVersion, version);
    }
    const empty = await watch(query, {}, `${base}/secrets`);
    assert.equal((await empty.next())?.type, "BOOKMARK");
  });

  it("from the current state annotates the end of the initial events if bookmarks are allowed", async () => {
    await create("x");
    const reader = await watch("allowWatchBookmarks=true");
    const [, end] = await reader.take(2);
    assert.deepEqual(end?.object.metadata.annotations, { "k8s.io/initial-events-end": "true" });
  });

  it("with sendInitialEvents=false starts now, with any resourceVersion", async () => {
    await create("old");
    const query = "sendInitialEvents=false&resourceVersionMatch=NotOlderThan";
    for (const version of ["", "0"]) {
      const reader = await watch(`${query}&resourceVersion=${version}`);
      await create(`new${version}`);
      assert.equal(summarizeEvent(await reader.next()), `ADDED new${version}`);
    }
  });

  const refusals: [query: string, code: number, message: RegExp][] = [
    [
      "sendInitialEvents=true",
      422,
      /resourceVersionMatch: Forbidden: sendInitialEvents requires setting resourceVersionMatch to NotOlderThan$/,
    ],
    [
      "sendInitialEvents=true&resourceVersionMatch=Exact&resourceVersion=1",
      422,
      /resourceVersionMatch: Unsupported value: "Exact": supported values: "NotOlderThan"\]$/,
    ],
    [
      "resourceVersionMatch=NotOlderThan&resourceVersion=1",
      422,
      /resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided$/,
    ],
    ["resourceVersion=x", 400, /^invalid resource version/],
    ["labelSelector=%3D%3D", 400, /./],
  ];
  for (const [query, code, message] of refusals) {
    it(`${query} is a ${code}`, async () => {
      const answer = await server.get(`${configmaps}?watch=1&${query}`);
      assert.equal(answer.status, code, answer.text);
      assert.match(answer.object.message ?? "", message);
    });
  }

  it("with timeoutSeconds ends without an error, after a last bookmark", async () => {
    await create("x");
    const plain = await watch("timeoutSeconds=5");
    const marked = await watch("timeoutSeconds=5&allowWatchBookmarks=true");
    const endings = [plain.rest(), marked.rest()];
    await settle();
    server.clock.advance(4999);
    await create("y");
    server.clock.advance(1);
    const [first, second] = await Promise.all(endings);
    assert.deepEqual(first?.map(summarizeEvent), ["ADDED x", "ADDED y"]);
    assert.deepEqual(second?.map(summarizeEvent), ["ADDED x", "BOOKMARK", "ADDED y", "BOOKMARK"]);
  });

  it("from a compacted resourceVersion sends an ERROR event with a 410, and ends", async () => {
    await create("x");
    await create("y");
    await server.storage.compact(Number(await revision()) as Revision, { signal });
    const other = await TestServer.start({ storage: server.storage });
    const reader = await other.watch(`${configmaps}?watch=1&resourceVersion=1`);
    const events = await reader.rest();
    assert.equal(events.length, 1);
    assert.equal(events[0]?.type, "ERROR");
    const { object } = events[0] as { object: AnyObject };
    assert.equal(object.code, 410);
    assert.equal(object.reason, "Expired");
    assert.match(object.message ?? "", /^too old resource version: 1 \(\d+\)$/);
    await other.server.close();
  });

  it("of a client that disconnects leaves nothing behind", async () => {
    await create("x");
    const timers = server.clock.pending;
    const reader = await server.watch(`${configmaps}?watch=1`);
    await reader.next();
    assert.equal(await openWatches(server), 1);
    await reader.leave();
    assert.equal(await openWatches(server), 0);
    assert.equal(server.clock.pending, timers);
  });

  it("whose response is never read leaves nothing behind", async () => {
    // The metrics are served with a deadline: its timer, which all requests share, is pending.
    assert.equal(await openWatches(server), 0);
    const timers = server.clock.pending;
    const headers = { authorization: "Bearer token-of-admin" };
    for (const method of ["HEAD", "GET"]) {
      const response = await server.server.handle({
        method,
        target: `${configmaps}?watch=1`,
        headers,
        remoteAddress: "",
        clientCertificate: undefined,
        onClose: () => {},
        readBody: async () => new Uint8Array(),
      });
      assert.equal(response.status, 200);
    }
    assert.equal(await openWatches(server), 0);
    assert.equal(server.clock.pending, timers);
  });

  it("delivers events in the same order to all clients", async () => {
    const readers = await Promise.all(Array.from({ length: 20 }, () => watch("")));
    await Promise.all(Array.from({ length: 50 }, (_, i) => create(`x${i}`)));
    const orders = await Promise.all(
      readers.map(async (reader) => (await reader.take(50)).map(summarizeEvent).join()),
    );
    assert.equal(new Set(orders).size, 1);
  });

  it("as a Table sends columns with the first event only", async () => {
    await create("x");
    const accept = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";
    const reader = await watch("allowWatchBookmarks=1", { headers: { accept } });
    const [first, bookmark] = await reader.take(2);
    type Table = {
      columnDefinitions: { name: string }[];
      rows: { cells: unknown[]; object: AnyObject }[];
    };
    const table = first?.object as unknown as Table & AnyObject;
    assert.equal(table.kind, "Table");
    assert.equal(table.apiVersion, "meta.k8s.io/v1");
    assert.deepEqual(
      table.columnDefinitions.map(({ name }) => name),
      ["Name", "Data", "Age"],
    );
    assert.deepEqual(table.rows[0]?.cells, ["x", 0, "0s"]);
    assert.equal(table.rows[0]?.object.kind, "PartialObjectMetadata");
    const end = bookmark?.object as unknown as Table;
    assert.deepEqual(end.rows[0]?.object.metadata.annotations, {
      "k8s.io/initial-events-end": "true",
    });
    await create("y");
    const second = (await reader.next())?.object as unknown as Table;
    assert.deepEqual(second.columnDefinitions ?? [], []);
    assert.equal(second.rows[0]?.cells[0], "y");
  });

  it("as metadata sends metadata only", async () => {
    const accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    const reader = await watch("allowWatchBookmarks=1", { headers: { accept } });
    assert.equal((await reader.next())?.object.kind, "PartialObjectMetadata");
    const created = await server.requestOk("POST", configmaps, {
      body: { metadata: { name: "x" }, data: { k: "v" } },
    });
    const event = await reader.next();
    assert.deepEqual(event?.object, {
      kind: "PartialObjectMetadata",
      apiVersion: "meta.k8s.io/v1",
      metadata: created.metadata,
    });
  });
});

/** Runs all work that does not wait for the clock. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
