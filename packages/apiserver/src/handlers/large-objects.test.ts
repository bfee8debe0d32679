/**
 * Goal: every handler yields to the event loop while it reads and writes objects that take tens of
 * milliseconds.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { definitionsPath, install, RoleWriter, rbacPath, TestServer } from "../testing/index.ts";

const configMaps = "/clusters/a/api/v1/namespaces/default/configmaps";
const widgets = "/clusters/a/apis/example.com/v1/namespaces/default/widgets";

const entries = Object.fromEntries(
  Array.from({ length: 12_000 }, (_, i) => [`key-${i}`, `value ${i}`]),
);

const entryCount = Object.keys(entries).length;

/** A part of a long JSON text, or a long text that is one string. */
const charactersAtOnceMax = 40 << 10;

/** Records the longest JSON that is parsed or encoded synchronously from now on. */
function longestAtOnce(t: TestContext): { readonly characters: number } {
  const longest = { characters: 0 };
  const { parse, stringify } = JSON;
  t.mock.method(JSON, "parse", (text: string, ...rest: []) => {
    longest.characters = Math.max(longest.characters, text.length);
    return parse(text, ...rest);
  });
  t.mock.method(JSON, "stringify", (value: unknown, ...rest: []) => {
    const text = stringify(value, ...rest) as string | undefined;
    longest.characters = Math.max(longest.characters, text?.length ?? 0);
    return text;
  });
  return longest;
}

function assertYielding({ characters }: { readonly characters: number }): void {
  assert.ok(characters > 0 && characters <= charactersAtOnceMax, `${characters} at once`);
}

async function started(t: TestContext): Promise<TestServer> {
  const server = await TestServer.start();
  t.after(() => server.close());
  return server;
}

const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "widgets.example.com" },
  spec: {
    group: "example.com",
    names: { plural: "widgets", kind: "Widget" },
    scope: "Namespaced",
    versions: [
      {
        name: "v1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: {
            type: "object",
            properties: { spec: { type: "object", additionalProperties: { type: "string" } } },
          },
        },
      },
    ],
  },
};

describe("a large object", () => {
  it("is deleted by a handler that yields to the event loop", async (t) => {
    const server = await started(t);
    await server.requestOk("POST", configMaps, {
      body: { metadata: { name: "x" }, data: entries },
    });
    const longest = longestAtOnce(t);
    const { status, object } = await server.request("DELETE", `${configMaps}/x`);
    assert.equal(status, 200);
    assert.equal(object.kind, "Status");
    assertYielding(longest);
  });

  it("is watched as a Table with yields to the event loop, for initial, live and historical events", async (t) => {
    const server = await started(t);
    const bodyOf = (name: string, data: object) => JSON.stringify({ metadata: { name }, data });
    const [x, y, small] = [bodyOf("x", entries), bodyOf("y", entries), bodyOf("small", {})];
    const first = await server.requestOk("POST", configMaps, { body: x });
    const longest = longestAtOnce(t);
    const accept = "application/json;as=Table;v=v1;g=meta.k8s.io";
    const watch = async (query: string) => {
      const reader = await server.watch(`${configMaps}?watch=1&includeObject=None&${query}`, {
        headers: { accept },
      });
      t.after(() => reader.leave());
      return reader;
    };
    const live = await watch("");
    const told = [await live.next()];
    for (const body of [y, small])
      assert.equal((await server.request("POST", configMaps, { body })).status, 201);
    told.push(await live.next(), await live.next());
    const later = await watch(`resourceVersion=${first.metadata.resourceVersion}`);
    told.push(await later.next(), await later.next());
    t.mock.restoreAll();
    type Table = { readonly rows: readonly { readonly cells: readonly unknown[] }[] };
    const names = told.map((event) => {
      const table = event?.object as unknown as Table | undefined;
      return table?.rows[0]?.cells.slice(0, 2);
    });
    const both = [
      ["y", entryCount],
      ["small", 0],
    ];
    assert.deepEqual(names, [["x", entryCount], ...both, ...both]);
    assertYielding(longest);
  });

  it("is marked for deletion by a handler that yields to the event loop", async (t) => {
    const server = await started(t);
    const metadata = { name: "x", finalizers: ["example.com/hold"] };
    await server.requestOk("POST", configMaps, { body: { metadata, data: entries } });
    const longest = longestAtOnce(t);
    const answer = await server.request("DELETE", `${configMaps}/x`);
    t.mock.restoreAll();
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.object["data"], entries);
    assertYielding(longest);
  });

  it("is deleted with its collection by a handler that yields to the event loop", async (t) => {
    const server = await started(t);
    for (const name of ["x", "y", "z"])
      await server.requestOk("POST", configMaps, { body: { metadata: { name }, data: entries } });
    const longest = longestAtOnce(t);
    const { status } = await server.request("DELETE", configMaps);
    assert.equal(status, 200);
    assertYielding(longest);
  });

  it("is patched by a handler that yields to the event loop", async (t) => {
    const server = await started(t);
    await server.requestOk("POST", configMaps, {
      body: { metadata: { name: "x" }, data: entries },
    });
    const longest = longestAtOnce(t);
    const answer = await server.patch(`${configMaps}/x`, "merge", { data: { more: "m" } });
    t.mock.restoreAll();
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.object["data"], { ...entries, more: "m" });
    assertYielding(longest);
  });

  it("with RBAC rules is read with yields to the event loop, and is in effect when the response is sent", async (t) => {
    const server = await started(t);
    const admin = new RoleWriter(server, "a");
    const path = "/api/v1/namespaces/default/configmaps";
    const may = async () => (await admin.as("nobody").get(path)).status === 200;
    const list = { verbs: ["list"], apiGroups: [""], resources: ["configmaps"] };
    await admin.clusterRole("r", [list]);
    assert.equal(await may(), false);
    const subject = (name: string) => ({
      apiGroup: "rbac.authorization.k8s.io",
      kind: "User",
      name,
    });
    const bindings = `/clusters/a${rbacPath}/clusterrolebindings`;
    const body = JSON.stringify({
      metadata: { name: "b" },
      roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name: "r" },
      subjects: [...Array.from({ length: 6000 }, (_, i) => subject(`u${i}`)), subject("nobody")],
    });
    const longest = longestAtOnce(t);
    const sent = await server.request("POST", bindings, { user: "masters", body });
    assert.equal(sent.status, 201);
    assert.equal(await may(), true);
    await server.request("DELETE", `${bindings}/b`, { user: "masters" });
    assert.equal(await may(), false);
    t.mock.restoreAll();
    assertYielding(longest);
  });

  it("that is a definition is parsed with yields to the event loop when a request needs its kind", async (t) => {
    const server = await started(t);
    const field = { type: "string", description: "d".repeat(40) };
    const fields = Object.fromEntries(Array.from({ length: 4000 }, (_, i) => [`f${i}`, field]));
    const [version] = definition.spec.versions;
    const schema = { openAPIV3Schema: { type: "object", properties: fields } };
    const spec = { ...definition.spec, versions: [{ ...version, schema }] };
    const body = JSON.stringify({ ...definition, spec });
    const { parse } = JSON;
    let longest = 0;
    t.mock.method(JSON, "parse", (text: string, ...rest: []) => {
      longest = Math.max(longest, text.length);
      return parse(text, ...rest);
    });
    const sent = await server.request("POST", `/clusters/a${definitionsPath}`, { body });
    assert.equal(sent.status, 201);
    let status = 404;
    while (status === 404) ({ status } = await server.request("GET", widgets));
    t.mock.restoreAll();
    assert.equal(status, 200);
    assertYielding({ characters: longest });
  });

  it("of a custom kind whose definition has changed is deleted with yields to the event loop", async (t) => {
    const server = await started(t);
    await install(server, definition);
    const body = {
      apiVersion: "example.com/v1",
      kind: "Widget",
      metadata: { name: "x" },
      spec: entries,
    };
    await server.requestOk("POST", widgets, { body });
    const changed = { metadata: { labels: { changed: "yes" } } };
    await server.patch(`/clusters/a${definitionsPath}/widgets.example.com`, "merge", changed);
    const longest = longestAtOnce(t);
    const { status } = await server.request("DELETE", `${widgets}/x`);
    assert.equal(status, 200);
    assertYielding(longest);
  });

  it("of another version or an older schema is watched with yields to the event loop", async (t) => {
    const server = await started(t);
    const [first] = definition.spec.versions;
    // A list has one owner: metadata are short, and so is what the reader of events parses.
    const list = { type: "array", items: { type: "string" } };
    const schema = { openAPIV3Schema: { type: "object", properties: { list } } };
    const version = { ...first, schema };
    const versions = [version, { ...version, name: "v2", storage: false }];
    await install(server, { ...definition, spec: { ...definition.spec, versions } });
    const bodyOf = (name: string) =>
      JSON.stringify({
        apiVersion: "example.com/v1",
        kind: "Widget",
        metadata: { name },
        list: Object.values(entries),
      });
    const x = await server.requestOk("POST", widgets, { body: bodyOf("x") });
    const others = widgets.replace("/v1/", "/v2/");
    const y = bodyOf("y");
    const longest = longestAtOnce(t);
    const watch = async (path: string) => {
      const accept = "application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
      const reader = await server.watch(`${path}watch=1`, { headers: { accept } });
      t.after(() => reader.leave());
      return reader;
    };
    const live = await watch(`${others}?`);
    const seen = [await live.next()];
    assert.equal((await server.request("POST", widgets, { body: y })).status, 201);
    seen.push(await live.next());
    const changed = { metadata: { labels: { changed: "yes" } } };
    await server.patch(`/clusters/a${definitionsPath}/widgets.example.com`, "merge", changed);
    const stored = await watch(`${widgets}?`);
    seen.push(await stored.next());
    const after = x.metadata.resourceVersion;
    seen.push(await (await watch(`${widgets}?resourceVersion=${after}&`)).next());
    t.mock.restoreAll();
    assert.deepEqual(
      seen.map((event) => event?.object.metadata.name),
      ["x", "y", "x", "y"],
    );
    assertYielding(longest);
  });
});
