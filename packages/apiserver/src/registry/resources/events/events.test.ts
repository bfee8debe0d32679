/** Events: one collection, two APIs. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type AnyObject, TestServer } from "../../../testing/index.ts";
import { itRejects } from "../rejection-cases.ts";

const core = "/clusters/a/api/v1/namespaces/default/events";
const view = "/clusters/a/apis/events.k8s.io/v1/namespaces/default/events";

let server: TestServer;
before(async () => {
  server = await TestServer.start();
});
after(() => server.close());

const involvedObject = { kind: "ConfigMap", name: "c", namespace: "default" };
const strict = {
  eventTime: "2026-11-15T10:00:00.123456Z",
  reportingController: "example.com/controller",
  reportingInstance: "controller-1",
  action: "Binding",
  reason: "Bound",
  regarding: involvedObject,
  note: "all well",
  type: "Normal",
};

describe("both Event APIs", () => {
  it("serve each other's writes under their own field names", async () => {
    const old = {
      involvedObject,
      message: "said",
      source: { component: "me", host: "here" },
      firstTimestamp: "2026-11-15T10:00:00Z",
      lastTimestamp: "2026-11-15T10:01:00Z",
      count: 3,
      type: "Warning",
      reason: "Why",
    };
    await server.requestOk("POST", core, { body: { metadata: { name: "old" }, ...old } });
    const shown = (await server.get(`${view}/old`)).object;
    const { kind, apiVersion, metadata, ...members } = shown;
    assert.deepEqual([kind, apiVersion, metadata.name], ["Event", "events.k8s.io/v1", "old"]);
    assert.deepEqual(members, {
      regarding: involvedObject,
      note: "said",
      deprecatedSource: old.source,
      deprecatedFirstTimestamp: old.firstTimestamp,
      deprecatedLastTimestamp: old.lastTimestamp,
      deprecatedCount: 3,
      type: "Warning",
      reason: "Why",
    });
    await server.requestOk("POST", view, { body: { metadata: { name: "new" }, ...strict } });
    const { object } = await server.get(`${core}/new`);
    assert.equal(object.apiVersion, "v1");
    assert.deepEqual(
      [object["involvedObject"], object["message"], object["reportingComponent"]],
      [involvedObject, "all well", "example.com/controller"],
    );
    assert.equal(object.metadata.uid, (await server.get(`${view}/new`)).object.metadata.uid);
  });

  it("list, select, and delete the same objects", async () => {
    const named = (name: string) => ({ metadata: { name, labels: { set: "s" } }, ...strict });
    await server.requestOk("POST", view, { body: { ...named("s1"), reason: "Rare" } });
    await server.requestOk("POST", view, { body: named("s2") });
    const selected = async (path: string, query: string) =>
      (await server.get(`${path}?labelSelector=set%3Ds&${query}`)).names;
    assert.deepEqual(await selected(core, ""), ["s1", "s2"]);
    assert.deepEqual(await selected(view, ""), ["s1", "s2"]);
    for (const [path, field] of [
      [core, "involvedObject.name"],
      [view, "regarding.name"],
    ] as const) {
      assert.deepEqual(await selected(path, `fieldSelector=${field}%3Dc,reason%3DRare`), ["s1"]);
      assert.deepEqual(await selected(path, `fieldSelector=${field}%3Dd`), []);
    }
    assert.deepEqual(await selected(core, "fieldSelector=source%3Dexample.com/controller"), [
      "s1",
      "s2",
    ]);
    const unknown = await server.get(`${view}?fieldSelector=involvedObject.name%3Dc`);
    assert.equal(unknown.status, 400);
    assert.equal(unknown.object.message, "field label not supported: involvedObject.name");
    const deleted = await server.request("DELETE", `${view}?labelSelector=set%3Ds`);
    assert.equal(deleted.object.apiVersion, "events.k8s.io/v1");
    assert.deepEqual(await selected(core, ""), []);
  });

  it("watch each other's writes, each in its own version, also as tables", async () => {
    const coreWatch = await server.watch(`${core}?watch=1&fieldSelector=metadata.name%3Dseen`);
    const viewWatch = await server.watch(`${view}?watch=1&fieldSelector=metadata.name%3Dseen`);
    const tables = await server.watch(`${view}?watch=1&fieldSelector=metadata.name%3Dseen`, {
      headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
    });
    await server.requestOk("POST", view, { body: { metadata: { name: "seen" }, ...strict } });
    const [fromCore, fromView] = [await coreWatch.next(), await viewWatch.next()] as [
      { object: AnyObject },
      { object: AnyObject },
    ];
    assert.deepEqual([fromCore.object.apiVersion, fromCore.object["message"]], ["v1", "all well"]);
    assert.deepEqual(
      [fromView.object.apiVersion, fromView.object["note"]],
      ["events.k8s.io/v1", "all well"],
    );
    const table = (await tables.next()) as { object: AnyObject };
    const [row] = table.object["rows"] as { cells: unknown[] }[];
    assert.deepEqual(row?.cells.slice(1, 4), ["Normal", "Bound", "configmap/c"]);
    for (const watch of [coreWatch, viewWatch, tables]) await watch.leave();
  });

  it("patch the stored Event through the view", async () => {
    await server.requestOk("POST", view, { body: { metadata: { name: "series" }, ...strict } });
    const series = { count: 2, lastObservedTime: "2026-11-15T10:05:00.000000Z" };
    const patched = await server.patch(`${view}/series`, "strategic", { series });
    assert.equal(patched.status, 200, patched.text);
    assert.deepEqual((await server.get(`${core}/series`)).object["series"], series);
  });

  it("have the same long list, converted in the view", async () => {
    const note = "x".repeat(1000);
    for (let i = 0; i < 400; i++) {
      await server.requestOk("POST", view, {
        body: { metadata: { name: `many-${i}` }, ...strict, note },
      });
    }
    const listed = await server.get(view);
    const many = listed.items.filter(({ metadata }) => metadata.name?.startsWith("many-"));
    assert.equal(many.length, 400);
    assert.ok(many.every((each) => each["note"] === note && each["message"] === undefined));
  });
});

describe("core Events", () => {
  itRejects(() => server, "POST", core, { metadata: { name: "x" } }, [
    [
      { involvedObject: { namespace: "other" } },
      'involvedObject.namespace: Invalid value: "other": does not match event.namespace',
    ],
    [
      { eventTime: strict.eventTime, involvedObject, reportingComponent: "c" },
      /^\[reportingInstance: Required value, action: Required value, reason: Required value\]$/,
    ],
  ]);

  it("of cluster-scoped objects are in the default namespace", async () => {
    const body = { metadata: { name: "scoped" }, involvedObject: { kind: "Namespace", name: "x" } };
    assert.equal((await server.request("POST", core, { body })).status, 201);
    const elsewhere = "/clusters/a/api/v1/namespaces/kube-system/events";
    await server.requestOk("POST", "/clusters/a/api/v1/namespaces", {
      body: { metadata: { name: "kube-system" } },
    });
    assert.equal((await server.request("POST", elsewhere, { body })).status, 422);
    const timed = {
      ...body,
      eventTime: strict.eventTime,
      reportingComponent: "c",
      reportingInstance: "i",
      action: "a",
      reason: "r",
    };
    assert.equal((await server.request("POST", elsewhere, { body: timed })).status, 201);
  });
});

describe("events.k8s.io Events", () => {
  itRejects(() => server, "POST", view, { metadata: { name: "x" }, ...strict }, [
    [{ eventTime: undefined }, "eventTime: Required value"],
    [{ type: "Odd" }, 'type: Invalid value: "": has invalid value: Odd'],
    [{ deprecatedCount: 1 }, 'count: Invalid value: "": needs to be unset'],
    [{ deprecatedSource: { host: "h" } }, 'source: Invalid value: "": needs to be unset'],
    [
      { deprecatedLastTimestamp: "2026-11-15T10:00:00Z" },
      'lastTimestamp: Invalid value: "": needs to be unset',
    ],
    [{ note: "x".repeat(1025) }, 'message: Invalid value: "": can have at most 1024 characters'],
    [
      { reportingInstance: "x".repeat(129) },
      'reportingInstance: Invalid value: "": can have at most 128 characters',
    ],
    [{ reportingController: "not qualified" }, /^reportingController: Invalid value: "not quali/],
    [
      { series: { count: 1, lastObservedTime: strict.eventTime } },
      'series.count: Invalid value: "": should be at least 2',
    ],
    [{ series: { count: 2 } }, "series.lastObservedTime: Required value"],
    [{ metadata: { name: "Upper" } }, /^metadata\.name: Invalid value: "Upper"/],
  ]);

  it("accept texts up to the length limit", async () => {
    const body = {
      metadata: { name: "longest" },
      ...strict,
      note: "x".repeat(1024),
      reportingInstance: "x".repeat(128),
      action: "x".repeat(128),
      reason: "x".repeat(128),
    };
    const answer = await server.request("POST", view, { body });
    assert.equal(answer.status, 201, answer.text);
  });

  it("are immutable except for their series", async () => {
    await server.requestOk("POST", view, { body: { metadata: { name: "fixed" }, ...strict } });
    for (const [change, says] of [
      [{ note: "other" }, 'message: Invalid value: "other": field is immutable'],
      [{ reason: "Other" }, 'reason: Invalid value: "Other": field is immutable'],
      [{ regarding: { ...involvedObject, name: "d" } }, "involvedObject: Invalid value: "],
    ] as const) {
      const { object } = await server.patch(`${view}/fixed`, "merge", change);
      assert.ok(object.message?.includes(says), object.message);
    }
    const changed = await server.patch(`${core}/fixed`, "merge", { message: "other", count: 2 });
    assert.equal(changed.status, 200, "the core API is not that strict");
  });
});
