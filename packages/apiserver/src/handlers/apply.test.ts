import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { TestServer } from "../testing/index.ts";

const base = "/clusters/a/api/v1";
const path = `${base}/namespaces/default/configmaps/x`;
const configOf = (data: object, metadata: object = {}) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name: "x", ...metadata },
  data,
});

describe("apply", () => {
  let server: TestServer;
  beforeEach(async () => {
    server = await TestServer.start();
  });
  afterEach(() => server.close());

  const apply = (manager: string, config: object, query = "") =>
    server.patch(`${path}?fieldManager=${manager}${query}`, "apply", config);

  it("creates a missing object with 201, and changes nothing the second time", async () => {
    const first = await apply("one", configOf({ a: "1" }));
    assert.equal(first.status, 201, first.text);
    assert.deepEqual(first.object.data, { a: "1" });
    const second = await apply("one", configOf({ a: "1" }));
    assert.equal(second.status, 200, second.text);
    assert.equal(second.object.metadata.resourceVersion, first.object.metadata.resourceVersion);
  });

  it("names the owner and the field of a conflict, and takes the field with force", async () => {
    await apply("one", configOf({ a: "1" }));
    const conflict = await apply("two", configOf({ a: "2" }));
    assert.equal(conflict.status, 409);
    const { message, details } = conflict.object as unknown as {
      message: string;
      details: { causes: { reason: string; field: string }[] };
    };
    assert.equal(message, 'Apply failed with 1 conflict: conflict with "one": .data.a');
    assert.deepEqual(
      details.causes.map(({ reason, field }) => [reason, field]),
      [["FieldManagerConflict", ".data.a"]],
    );
    const forced = await apply("two", configOf({ a: "2" }), "&force=true");
    assert.equal(forced.status, 200, forced.text);
    assert.deepEqual(forced.object.data, { a: "2" });
    assert.deepEqual(managers(forced.object), ["two/Apply"]);
  });

  it("removes a field that its only owner drops, and keeps a field with another owner", async () => {
    await apply("one", configOf({ a: "1", b: "1", c: "1" }));
    await apply("two", configOf({ b: "1" }));
    const dropped = await apply("one", configOf({ c: "1" }));
    assert.deepEqual(dropped.object.data, { b: "1", c: "1" });
  });

  it("an update takes ownership of fields without a conflict", async () => {
    const applied = (await apply("one", configOf({ a: "1" }))).object;
    const updated = await server.request("PUT", `${path}?fieldManager=editor`, {
      body: { ...applied, data: { a: "2" } },
    });
    assert.equal(updated.status, 200, updated.text);
    assert.ok(managers(updated.object).includes("editor/Update"));
    assert.equal((await apply("one", configOf({ a: "1" }))).status, 409);
  });

  it("an update without a change keeps the resourceVersion of the object", async () => {
    const applied = (await apply("one", configOf({ a: "1" }))).object;
    server.clock.advance(60_000);
    const same = await server.request("PUT", `${path}?fieldManager=editor`, { body: applied });
    assert.equal(same.object.metadata.resourceVersion, applied.metadata.resourceVersion);
  });

  it("accepts YAML, and sets the name that the configuration omits", async () => {
    const answer = await server.request("PATCH", `${path}?fieldManager=one`, {
      headers: { "content-type": "application/apply-patch+yaml" },
      body: "apiVersion: v1\nkind: ConfigMap\ndata:\n  a: '1'\n",
    });
    assert.equal(answer.status, 201, answer.text);
    assert.deepEqual(answer.object.data, { a: "1" });
  });

  it("rejects a body that is not a configuration for this path", async () => {
    const cases: readonly (readonly [object, string, number, RegExp])[] = [
      [configOf({}), "", 422, /fieldManager: Required value: is required for apply patch/],
      [
        { ...configOf({}), apiVersion: "v2" },
        "m",
        400,
        /Incorrect version specified in apply patch/,
      ],
      [configOf({}, { managedFields: [] }), "m", 400, /metadata.managedFields must be nil/],
      [configOf({}, { name: "other" }), "m", 400, /does not match the name on the URL/],
      [{ ...configOf({}), nonsense: 1 }, "m", 500, /\.nonsense: field not declared in schema/],
      [configOf({}, { uid: "gone" }), "m", 409, /uid mismatch/],
    ];
    for (const [config, manager, status, text] of cases) {
      const answer = await apply(manager, config);
      assert.equal(answer.status, status, answer.text);
      assert.match((answer.object as unknown as { message: string }).message, text);
    }
    assert.equal((await server.get(path)).status, 404);
  });

  it("a dry run returns the result and stores nothing", async () => {
    const answer = await apply("one", configOf({ a: "1" }), "&dryRun=All");
    assert.equal(answer.status, 201, answer.text);
    assert.equal((await server.get(path)).status, 404);
  });

  it("the annotation with the name of the cluster has no owner, and cannot be changed", async () => {
    const annotations = { "kcp.io/cluster": "b", mine: "1" };
    const applied = await apply("one", configOf({}, { annotations }));
    assert.equal(applied.status, 201, applied.text);
    assert.deepEqual(applied.object.metadata.annotations, { "kcp.io/cluster": "a", mine: "1" });
    const again = await apply("one", configOf({}, { annotations: { mine: "1" } }));
    assert.deepEqual(again.object.metadata.annotations, { "kcp.io/cluster": "a", mine: "1" });
  });

  it("clears the managedFields on request of a client", async () => {
    await apply("one", configOf({ a: "1" }));
    const cleared = await server.patch(path, "merge", { metadata: { managedFields: [{}] } });
    assert.equal(cleared.status, 200, cleared.text);
    assert.deepEqual(managers(cleared.object), []);
  });
});

function managers(object: unknown): string[] {
  const { managedFields = [] } = (
    object as { metadata: { managedFields?: { manager: string; operation: string }[] } }
  ).metadata;
  return managedFields.map(({ manager, operation }) => `${manager}/${operation}`);
}
