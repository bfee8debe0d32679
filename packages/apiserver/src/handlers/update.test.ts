import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { type AnyObject, summarizeEvent, TestServer } from "../testing/index.ts";

const base = "/clusters/a/api/v1";
const configmaps = `${base}/namespaces/default/configmaps`;

describe("update", () => {
  let server: TestServer;
  let created: AnyObject;
  beforeEach(async () => {
    server = await TestServer.start();
    created = await server.requestOk("POST", configmaps, {
      body: { metadata: { name: "x", labels: { l: "1" } }, data: { k: "v" } },
    });
  });
  afterEach(() => server.close());

  const put = (object: object, name = "x") =>
    server.request("PUT", `${configmaps}/${name}`, { body: object });
  const changed = (metadata: object, data: object = { k: "new" }) => ({
    metadata: { name: "x", ...metadata },
    data,
  });

  it("responds 200 with the new object and a larger resourceVersion", async () => {
    const { status, object } = await put({ ...created, data: { k: "new" } });
    assert.equal(status, 200);
    assert.deepEqual(object.data, { k: "new" });
    assert.ok(Number(object.metadata.resourceVersion) > Number(created.metadata.resourceVersion));
    assert.equal(object.metadata.uid, created.metadata.uid);
    assert.deepEqual((await server.get(`${configmaps}/x`)).object, object);
  });

  it("rejects a stale resourceVersion with the text that clients look for", async () => {
    await put(changed({}));
    const { status, object } = await put({ ...created, data: { k: "mine" } });
    assert.equal(status, 409);
    assert.equal(object.reason, "Conflict");
    assert.equal(
      object.message,
      'Operation cannot be fulfilled on configmaps "x": the object has been modified; please apply your changes to the latest version and try again',
    );
    assert.deepEqual(object.details, { name: "x", kind: "configmaps" });
  });

  it("without a resourceVersion, the last write wins", async () => {
    await put(changed({}));
    assert.equal((await put(changed({}, { k: "last" }))).status, 200);
    assert.equal((await put(changed({ resourceVersion: "0" }, { k: "zero" }))).status, 200);
    assert.deepEqual((await server.get(`${configmaps}/x`)).object.data, { k: "zero" });
  });

  it("concurrent updates without a resourceVersion all succeed", async () => {
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, i) => put(changed({}, { k: `v${i}` }))),
    );
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
  });

  it("of concurrent updates with the same resourceVersion, one succeeds", async () => {
    const answers = await Promise.all(
      Array.from({ length: 10 }, (_, i) => put({ ...created, data: { k: `v${i}` } })),
    );
    const codes = answers.map(({ status }) => status).sort();
    assert.deepEqual(codes, [200, ...Array.from({ length: 9 }, () => 409)]);
  });

  it("without a change keeps the resourceVersion and sends no event to watches", async () => {
    const { resourceVersion } = created.metadata;
    const watch = await server.watch(`${configmaps}?watch=1&resourceVersion=${resourceVersion}`);
    for (const same of [created, changed({ labels: { l: "1" } }, { k: "v" })]) {
      const { status, object } = await put(same);
      assert.equal(status, 200);
      assert.equal(object.metadata.resourceVersion, resourceVersion);
    }
    const reordered = await put({ data: created.data, metadata: created.metadata });
    assert.equal(reordered.object.metadata.resourceVersion, resourceVersion);
    await put(changed({ labels: { l: "1" } }, { k: "sentinel" }));
    const event = await watch.next();
    assert.deepEqual(event?.object.data, { k: "sentinel" });
    await watch.leave();
  });

  it("with the same bytes in another order counts as a change only if its values differ", async () => {
    const first = await put(changed({}, { k: "ab", l: "cd" }));
    const { resourceVersion } = first.object.metadata;
    const reordered = await put(changed({}, { l: "cd", k: "ab" }));
    assert.equal(reordered.object.metadata.resourceVersion, resourceVersion);
    for (const data of [
      { k: "ba", l: "cd" },
      { k: "cd", l: "ab" },
    ]) {
      const before = (await put(changed({}, { k: "ab", l: "cd" }))).object.metadata;
      const { object } = await put(changed({}, data));
      assert.deepEqual(object.data, data);
      assert.notEqual(object.metadata.resourceVersion, before.resourceVersion);
    }
  });

  it("uses a uid as a precondition", async () => {
    const { status, object } = await put(changed({ uid: "other" }));
    assert.equal(status, 409);
    assert.match(
      object.message ?? "",
      /^Operation cannot be fulfilled on configmaps "x": StorageError: invalid object, Code: 4, Key: .*, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: other, UID in object meta: [0-9a-f-]{36}$/,
    );
    assert.equal((await put(changed({ uid: created.metadata.uid }))).status, 200);
  });

  it("keeps the fields that clients may not change", async () => {
    const { status, object } = await put(
      changed({ creationTimestamp: "2001-01-01T00:00:00Z", generation: 9, generateName: "g-" }),
    );
    assert.equal(status, 200);
    assert.equal(object.metadata["creationTimestamp"], created.metadata["creationTimestamp"]);
    for (const field of ["generation", "generateName"]) {
      assert.equal(object.metadata[field], undefined, field);
    }
  });

  const refusals: [title: string, object: object, code: number, message: string | RegExp][] = [
    [
      "a time of deletion",
      { metadata: { name: "x", deletionTimestamp: "2001-01-01T00:00:00Z" } },
      422,
      /metadata\.deletionTimestamp: Invalid value: .*: field is immutable$/,
    ],
    [
      "another name",
      { metadata: { name: "y" } },
      400,
      "the name of the object (y) does not match the name on the URL (x)",
    ],
    [
      "no name",
      { metadata: {} },
      400,
      "the name of the object (x based on URL) was undeterminable: name must be provided",
    ],
    [
      "another namespace",
      { metadata: { name: "x", namespace: "other" } },
      400,
      "the namespace of the provided object does not match the namespace sent on the request",
    ],
    ["bad labels", { metadata: { name: "x", labels: { "a b": "" } } }, 422, /metadata.labels/],
  ];
  for (const [title, object, code, message] of refusals) {
    it(`rejects ${title}`, async () => {
      const answer = await put(object);
      assert.equal(answer.status, code, answer.text);
      if (typeof message === "string") assert.equal(answer.object.message, message);
      else assert.match(answer.object.message ?? "", message);
    });
  }

  it("of a missing object is a 404, and creates nothing", async () => {
    const answer = await put({ metadata: { name: "missing" } }, "missing");
    assert.equal(answer.status, 404);
    assert.equal(answer.object.message, 'configmaps "missing" not found');
  });

  it("of a collection is not allowed", async () => {
    const answer = await server.request("PUT", configmaps, { body: created });
    assert.equal(answer.status, 405);
  });

  it("that removes the last finalizer of a deleted object deletes it: one DELETED event", async () => {
    const held = await server.requestOk("POST", configmaps, {
      body: { metadata: { name: "held", finalizers: ["example.com/a", "example.com/b"] } },
    });
    const marked = await server.requestOk("DELETE", `${configmaps}/held`);
    assert.equal(marked.metadata["deletionTimestamp"], "2026-11-15T00:00:00Z");
    assert.equal(marked.metadata["deletionGracePeriodSeconds"], 0);
    const watch = await server.watch(
      `${configmaps}?watch=1&resourceVersion=${marked.metadata.resourceVersion}`,
    );
    const extra = await put(
      { ...marked, metadata: { ...marked.metadata, finalizers: ["example.com/c"] } },
      "held",
    );
    assert.equal(extra.status, 422);
    assert.match(
      extra.object.message ?? "",
      /metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers \[\]string\{"example.com\/c"\}$/,
    );
    const one = await put({ metadata: { name: "held", finalizers: ["example.com/b"] } }, "held");
    assert.equal(one.status, 200);
    const none = await put({ metadata: { name: "held", finalizers: [] } }, "held");
    assert.equal(none.status, 200);
    assert.equal(none.object.metadata.uid, held.metadata.uid);
    const events = await watch.take(2);
    assert.deepEqual(events.map(summarizeEvent), ["MODIFIED held", "DELETED held"]);
    assert.deepEqual(events[1]?.object.metadata["finalizers"], ["example.com/b"]);
    assert.ok(
      Number(events[1]?.object.metadata.resourceVersion) >
        Number(events[0]?.object.metadata.resourceVersion),
    );
    assert.equal((await server.get(`${configmaps}/held`)).status, 404);
    await watch.leave();
  });
});
