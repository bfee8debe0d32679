/** Objects that take tens of milliseconds to read are read and written in pieces, whatever is done with them. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { definitionsPath, install, RoleWriter, rbacPath, TestServer } from "../testing/index.ts";

const configMaps = "/clusters/a/api/v1/namespaces/default/configmaps";
const widgets = "/clusters/a/apis/example.com/v1/namespaces/default/widgets";

const entries = Object.fromEntries(
  Array.from({ length: 12_000 }, (_, i) => [`key-${i}`, `value ${i}`]),
);

/** A part of a long text, or a long text that is one string. */
const charactersAtOnceMax = 40 << 10;

/** The longest JSON that is read or written in one go from now on. */
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

function assertInPieces({ characters }: { readonly characters: number }): void {
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
  it("is deleted in pieces", async (t) => {
    const server = await started(t);
    await server.must("POST", configMaps, { body: { metadata: { name: "x" }, data: entries } });
    const longest = longestAtOnce(t);
    const { status, object } = await server.request("DELETE", `${configMaps}/x`);
    assert.equal(status, 200);
    assert.equal(object.kind, "Status");
    assertInPieces(longest);
  });

  it("is marked for deletion in pieces", async (t) => {
    const server = await started(t);
    const metadata = { name: "x", finalizers: ["example.com/hold"] };
    await server.must("POST", configMaps, { body: { metadata, data: entries } });
    const longest = longestAtOnce(t);
    const answer = await server.request("DELETE", `${configMaps}/x`);
    t.mock.restoreAll();
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.object["data"], entries);
    assertInPieces(longest);
  });

  it("is deleted with its collection in pieces", async (t) => {
    const server = await started(t);
    for (const name of ["x", "y", "z"])
      await server.must("POST", configMaps, { body: { metadata: { name }, data: entries } });
    const longest = longestAtOnce(t);
    const { status } = await server.request("DELETE", configMaps);
    assert.equal(status, 200);
    assertInPieces(longest);
  });

  it("is changed a little in pieces", async (t) => {
    const server = await started(t);
    await server.must("POST", configMaps, { body: { metadata: { name: "x" }, data: entries } });
    const longest = longestAtOnce(t);
    const answer = await server.patch(`${configMaps}/x`, "merge", { data: { more: "m" } });
    t.mock.restoreAll();
    assert.equal(answer.status, 200);
    assert.deepEqual(answer.object["data"], { ...entries, more: "m" });
    assertInPieces(longest);
  });

  it("that says who may do what is read in pieces, and counts when it is answered", async (t) => {
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
    assertInPieces(longest);
  });

  it("of a custom kind whose definition changed since is deleted in pieces", async (t) => {
    const server = await started(t);
    await install(server, definition);
    const body = {
      apiVersion: "example.com/v1",
      kind: "Widget",
      metadata: { name: "x" },
      spec: entries,
    };
    await server.must("POST", widgets, { body });
    const changed = { metadata: { labels: { changed: "yes" } } };
    await server.patch(`/clusters/a${definitionsPath}/widgets.example.com`, "merge", changed);
    const longest = longestAtOnce(t);
    const { status } = await server.request("DELETE", `${widgets}/x`);
    assert.equal(status, 200);
    assertInPieces(longest);
  });
});
