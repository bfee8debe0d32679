/**
 * Objects that were stored in another version, or under another schema, are served as the current
 * definition requires.
 */
import assert from "node:assert/strict";
import { after, beforeEach, describe, it } from "node:test";
import type { Entry } from "../storage/index.ts";
import { decodeObject } from "../stored-object/index.ts";
import {
  type AnyObject,
  definitionsPath,
  established,
  install,
  TestServer,
} from "../testing/index.ts";
import { cronTabs } from "./test-support/definitions.ts";

const group = "/clusters/a/apis/stable.example.com";
const crd = `/clusters/a${definitionsPath}/crontabs.stable.example.com`;
const v1 = `${group}/v1/namespaces/default/crontabs`;
const v2 = `${group}/v2/namespaces/default/crontabs`;

let server: TestServer;
beforeEach(async () => {
  await server?.close();
  server = await TestServer.start();
});
after(() => server.close());

function version(name: string, properties: object, more: object = {}): object {
  return {
    name,
    served: true,
    storage: false,
    schema: {
      openAPIV3Schema: { type: "object", properties: { spec: { type: "object", properties } } },
    },
    ...more,
  };
}

const text = { type: "string" };

async function setVersions(versions: readonly object[]): Promise<AnyObject> {
  const object = await server.requestOk("GET", crd);
  const spec = object["spec"] as object;
  return server.requestOk("PUT", crd, { body: { ...object, spec: { ...spec, versions } } });
}

function create(path: string, name: string, spec: object): Promise<AnyObject> {
  return server.requestOk("POST", path, { body: { metadata: { name }, spec } });
}

describe("a schema change", () => {
  it("applies new defaults to objects that were stored before", async () => {
    await install(
      server,
      cronTabs({ spec: { versions: [version("v1", { a: text }, { storage: true })] } }),
    );
    await create(v1, "old", { a: "1" });
    const properties = { a: text, b: { type: "string", default: "filled" } };
    await setVersions([version("v1", properties, { storage: true })]);
    assert.deepEqual((await server.requestOk("GET", `${v1}/old`))["spec"], { a: "1", b: "filled" });
    const { items } = await server.get(v1);
    assert.deepEqual(items[0]?.["spec"], { a: "1", b: "filled" });
    const watch = await server.watch(`${v1}?watch=1`);
    const [event] = await watch.take(1);
    assert.deepEqual(event?.object["spec"], { a: "1", b: "filled" });
    await watch.leave();
    const patched = await server.patch(`${v1}/old`, "merge", { spec: { a: "2" } });
    assert.deepEqual(patched.object["spec"], { a: "2", b: "filled" });
    const applied = await server.request("PATCH", `${v1}/old?fieldManager=m&force=true`, {
      headers: { "content-type": "application/apply-patch+yaml" },
      body: { apiVersion: "stable.example.com/v1", kind: "CronTab", spec: { a: "3" } },
    });
    assert.deepEqual(applied.object["spec"], { a: "3", b: "filled" }, applied.text);
  });

  it("hides fields that were removed from the schema", async () => {
    const both = version("v1", { a: text, b: text }, { storage: true });
    await install(server, cronTabs({ spec: { versions: [both] } }));
    await create(v1, "old", { a: "1", b: "2" });
    await setVersions([version("v1", { a: text }, { storage: true })]);
    assert.deepEqual((await server.requestOk("GET", `${v1}/old`))["spec"], { a: "1" });
    await setVersions([both]);
    assert.deepEqual((await server.requestOk("GET", `${v1}/old`))["spec"], { a: "1", b: "2" });
  });

  it("ends the watches of its objects, and only those", async () => {
    await install(server, cronTabs());
    const names = { plural: "others", singular: "other", kind: "Other", shortNames: [] };
    await install(server, cronTabs({ names }));
    const watch = await server.watch(`${v1}?watch=1`);
    const other = await server.watch(`${group}/v1/others?watch=1`);
    await server.patch(crd, "merge", { metadata: { labels: { a: "b" } } });
    await create(v1, "x", {});
    assert.equal((await watch.take(1))[0]?.type, "ADDED");
    await setVersions([version("v1", { a: text }, { storage: true })]);
    assert.deepEqual(await watch.rest(), []);
    await create(`${group}/v1/namespaces/default/others`, "y", {});
    assert.equal((await other.take(1))[0]?.object.metadata.name, "y");
    await other.leave();
  });

  it("stores an object again on a write that only changes its form", async () => {
    await install(
      server,
      cronTabs({ spec: { versions: [version("v1", { a: text }, { storage: true })] } }),
    );
    const old = await create(v1, "old", { a: "1" });
    await setVersions([
      version("v1", { a: text, b: { ...text, default: "d" } }, { storage: true }),
    ]);
    const read = await server.requestOk("GET", `${v1}/old`);
    assert.equal(read.metadata.resourceVersion, old.metadata.resourceVersion);
    const written = await server.requestOk("PUT", `${v1}/old`, { body: read });
    assert.notEqual(written.metadata.resourceVersion, old.metadata.resourceVersion);
    const again = await server.requestOk("PUT", `${v1}/old`, { body: written });
    assert.equal(again.metadata.resourceVersion, written.metadata.resourceVersion);
  });
});

describe("two versions without a webhook", () => {
  const versions = [
    version("v1", { a: text, only1: text }, { storage: true }),
    version("v2", { a: text, b: { ...text, default: "d" } }),
  ];
  beforeEach(() => install(server, cronTabs({ spec: { versions } })));

  it("serve the same objects under their own apiVersion", async () => {
    await create(v1, "x", { a: "1", only1: "z" });
    const read = await server.requestOk("GET", `${v2}/x`);
    assert.equal(read.apiVersion, "stable.example.com/v2");
    assert.deepEqual(read["spec"], { a: "1", b: "d" });
    const { object } = await server.get(v2);
    assert.equal(object.apiVersion, "stable.example.com/v2");
    assert.equal(object.kind, "CronTabList");
    assert.equal(object.items?.[0]?.apiVersion, "stable.example.com/v2");
    const watch = await server.watch(`${v2}?watch=1`);
    assert.equal((await watch.take(1))[0]?.object.apiVersion, "stable.example.com/v2");
    await server.patch(`${v1}/x`, "merge", { spec: { a: "2" } });
    const [changed] = await watch.take(1);
    assert.deepEqual(changed?.object["spec"], { a: "2", b: "d" });
    await watch.leave();
  });

  it("store in the storage version, in whichever version an object was sent", async () => {
    const created = await create(v2, "x", { a: "1", b: "2" });
    // Fields that the storage version does not have are lost, which the response shows at once.
    assert.deepEqual(created["spec"], { a: "1", b: "d" });
    assert.equal(created.apiVersion, "stable.example.com/v2");
    const page = await server.storage.list("/stable.example.com/crontabs/" as never, {
      signal: new AbortController().signal,
      entriesMax: 10,
    });
    const stored = decodeObject(page.entries[0] as Entry);
    assert.equal(stored["apiVersion"], "stable.example.com/v1");
    assert.deepEqual(stored["spec"], { a: "1" });
    const patched = await server.patch(`${v2}/x`, "merge", { spec: { b: "3" } });
    assert.equal(patched.object.apiVersion, "stable.example.com/v2");
  });

  it("record a new storage version, and keep the old one while objects may be stored in it", async () => {
    await create(v1, "old", { a: "1" });
    const object = await setVersions([
      version("v1", { a: text, only1: text }),
      version("v2", { a: text }, { storage: true }),
    ]);
    assert.deepEqual((object["status"] as { storedVersions: string[] }).storedVersions, [
      "v1",
      "v2",
    ]);
    assert.deepEqual((await server.requestOk("GET", `${v2}/old`))["spec"], { a: "1" });
    assert.equal((await server.requestOk("GET", `${v1}/old`)).apiVersion, "stable.example.com/v1");
    const without = await server.requestOk("GET", crd);
    const spec = {
      ...(without["spec"] as object),
      versions: [version("v2", { a: text }, { storage: true })],
    };
    const refused = await server.request("PUT", crd, { body: { ...without, spec } });
    assert.match(
      refused.object.message ?? "",
      /status\.storedVersions\[0\]: Invalid value: "v1": missing from spec\.versions; v1 was previously a storage version, and must remain in spec\.versions until a storage migration ensures no data remains persisted in v1 and removes v1 from status\.storedVersions/,
    );
    await server.patch(`${crd}/status`, "merge", { status: { storedVersions: ["v2"] } });
    const { resourceVersion: _, ...metadata } = without.metadata;
    const fresh = await server.requestOk("GET", crd);
    await server.requestOk("PUT", crd, {
      body: {
        ...without,
        spec,
        metadata: { ...metadata, resourceVersion: fresh.metadata.resourceVersion },
      },
    });
    assert.equal((await server.get(`${v1}/old`)).status, 404);
    assert.deepEqual((await server.requestOk("GET", `${v2}/old`))["spec"], { a: "1" });
  });

  it("are ordered by priority in discovery, without versions that are not served", async () => {
    const preferred = async () =>
      (await server.requestOk("GET", group))["preferredVersion"] as { version: string };
    assert.equal((await preferred()).version, "v2");
    await setVersions([versions[0] as object, version("v2", { a: text }, { served: false })]);
    assert.equal((await preferred()).version, "v1");
    assert.equal((await server.get(`${group}/v2`)).status, 404);
    assert.equal((await server.get(v2)).status, 404);
    const { paths } = (await server.get("/clusters/a/openapi/v3")).object as unknown as {
      paths: Record<string, { serverRelativeURL: string }>;
    };
    assert.ok("apis/stable.example.com/v1" in paths);
    assert.ok(!("apis/stable.example.com/v2" in paths));
  });

  it("warn with every response if deprecated", async () => {
    await setVersions([
      version("v1", { a: text }, { storage: true, deprecated: true }),
      version("v2", { a: text }, { deprecated: true, deprecationWarning: "use something else" }),
    ]);
    assert.deepEqual((await server.get(v1)).warnings, [
      '299 - "stable.example.com/v1 CronTab is deprecated"',
    ]);
    const created = await server.request("POST", v2, { body: { metadata: { name: "d" } } });
    assert.deepEqual(created.warnings, ['299 - "use something else"']);
    const patched = await server.patch(`${v2}/d`, "merge", { spec: { a: "1" } });
    assert.deepEqual(patched.warnings, ['299 - "use something else"']);
  });
});

describe("after a restart", () => {
  it("unfinished work is completed, and existing objects are served", async () => {
    await install(
      server,
      cronTabs({ spec: { versions: [version("v1", { a: text }, { storage: true })] } }),
    );
    await create(v1, "x", { a: "1" });
    await server.server.close();
    const again = await TestServer.start({ storage: server.storage });
    const read = await again.requestOk("GET", `${v1}/x`);
    assert.deepEqual(read["spec"], { a: "1" });
    await again.server.close();
    server = await TestServer.start({ storage: server.storage });
    await established(server, "crontabs.stable.example.com");
  });
});
