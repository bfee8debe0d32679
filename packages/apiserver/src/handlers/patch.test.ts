import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { type AnyObject, TestServer } from "../testing/index.ts";

const base = "/clusters/a/api/v1";
const path = `${base}/namespaces/default/configmaps/x`;

describe("patch", () => {
  let server: TestServer;
  let created: AnyObject;
  beforeEach(async () => {
    server = await TestServer.start();
    created = await server.requestOk("POST", `${base}/namespaces/default/configmaps`, {
      body: { metadata: { name: "x", labels: { l: "1" } }, data: { a: "1", b: "2" } },
    });
  });
  afterEach(() => server.close());

  it("each type changes the fields that it names and nothing else", async () => {
    const merge = await server.patch(path, "merge", { data: { a: null, c: "3" } });
    assert.equal(merge.status, 200, merge.text);
    assert.deepEqual(merge.object.data, { b: "2", c: "3" });
    const strategic = await server.patch(path, "strategic", {
      data: { $patch: "replace", d: "4" },
    });
    assert.equal(strategic.status, 200, strategic.text);
    assert.deepEqual(strategic.object.data, { d: "4" });
    const json = await server.patch(path, "json", [
      { op: "test", path: "/data/d", value: "4" },
      { op: "add", path: "/data/e", value: "5" },
      { op: "remove", path: "/data/d" },
    ]);
    assert.equal(json.status, 200, json.text);
    assert.deepEqual(json.object.data, { e: "5" });
    assert.equal(json.object.metadata.uid, created.metadata.uid);
    assert.deepEqual(json.object.metadata.labels, { l: "1" });
  });

  it("an empty patch returns the object with an unchanged resourceVersion", async () => {
    for (const type of ["merge", "strategic"] as const) {
      const answer = await server.patch(path, type, {});
      assert.equal(answer.status, 200);
      assert.deepEqual(answer.object, created);
    }
    assert.deepEqual((await server.patch(path, "json", [])).object, created);
  });

  it("a resourceVersion in the patch is a precondition", async () => {
    const stale = created.metadata.resourceVersion;
    const fresh = await server.patch(path, "merge", {
      metadata: { resourceVersion: stale },
      data: { a: "locked" },
    });
    assert.equal(fresh.status, 200, fresh.text);
    for (const type of ["merge", "strategic"] as const) {
      const answer = await server.patch(path, type, {
        metadata: { resourceVersion: stale },
        data: { a: "late" },
      });
      assert.equal(answer.status, 409);
      assert.match(answer.object.message ?? "", /the object has been modified/);
    }
    const replaced = await server.patch(path, "json", [
      { op: "replace", path: "/metadata/resourceVersion", value: stale },
      { op: "replace", path: "/data/a", value: "late" },
    ]);
    assert.equal(replaced.status, 409, replaced.text);
  });

  it("a JSON patch can test the resourceVersion", async () => {
    const version = created.metadata.resourceVersion;
    const operations = [
      { op: "test", path: "/metadata/resourceVersion", value: version },
      { op: "add", path: "/data/c", value: "3" },
    ];
    assert.equal((await server.patch(path, "json", operations)).status, 200);
    assert.equal((await server.patch(path, "json", operations)).status, 422);
  });

  it("concurrent patches all succeed, each on top of the others", async () => {
    const answers = await Promise.all(
      Array.from({ length: 30 }, (_, i) =>
        server.patch(path, "merge", { data: { [`k${i}`]: String(i) } }),
      ),
    );
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [200]);
    const { data } = (await server.get(path)).object;
    assert.equal(Object.keys(data ?? {}).length, 32);
  });

  it("of concurrent patches with the same resourceVersion, one succeeds", async () => {
    const { resourceVersion } = created.metadata;
    const answers = await Promise.all(
      Array.from({ length: 5 }, (_, i) =>
        server.patch(path, "merge", { metadata: { resourceVersion }, data: { k: String(i) } }),
      ),
    );
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 409, 409, 409, 409]);
  });

  it("of a missing object is a 404", async () => {
    const answer = await server.patch(`${path}-missing`, "merge", {});
    assert.equal(answer.status, 404);
    assert.equal(answer.object.message, 'configmaps "x-missing" not found');
  });

  it("does not change name, namespace, kind or apiVersion", async () => {
    for (const [patch, code] of [
      [{ metadata: { name: "y" } }, 400],
      [{ metadata: { namespace: "other" } }, 400],
    ] as const) {
      assert.equal((await server.patch(path, "merge", patch)).status, code);
    }
    for (const patch of [{ kind: "Secret" }, { apiVersion: "v2" }]) {
      const answer = await server.patch(path, "merge", patch);
      assert.equal(answer.status, 400, answer.text);
    }
    assert.deepEqual((await server.get(path)).object, created);
  });

  it("a failing operation is a 422, a malformed patch a 400", async () => {
    const failing: [type: "json" | "merge", body: unknown, code: number][] = [
      ["json", [{ op: "test", path: "/data/a", value: "no" }], 422],
      ["json", [{ op: "remove", path: "/data/missing" }], 422],
      ["json", [{ op: "add", path: "/nothing/here", value: 1 }], 422],
      ["json", { op: "add" }, 400],
      ["merge", [], 400],
    ];
    for (const [type, body, code] of failing) {
      const answer = await server.patch(path, type, body as object);
      assert.equal(answer.status, code, `${JSON.stringify(body)}: ${answer.text}`);
    }
    const headers = { "content-type": "application/merge-patch+json" };
    const broken = await server.request("PATCH", path, { headers, body: "{" });
    assert.equal(broken.status, 400);
    const refused = await server.patch(path, "json", [{ op: "test", path: "/data/a", value: 1 }]);
    assert.equal(refused.object.reason, "Invalid");
    assert.equal(
      refused.object.message,
      "the server rejected our request due to an error in our request",
    );
  });

  it("a result of the wrong type is a 422 about the patch", async () => {
    const answer = await server.patch(path, "merge", { data: { a: 1 } });
    assert.equal(answer.status, 422, answer.text);
    assert.equal(answer.object.reason, "Invalid");
    assert.match(
      answer.object.message ?? "",
      /^ "" is invalid: patch: Invalid value: ".*": .*json: cannot unmarshal number into Go struct field ConfigMap\.data of type string$/,
    );
  });

  it("a Secret of the wrong type is rejected without its contents in the message", async () => {
    const secrets = `${base}/namespaces/default/secrets`;
    await server.requestOk("POST", secrets, {
      body: { metadata: { name: "s" }, stringData: { stored: "hunter2" } },
    });
    for (const type of ["merge", "strategic"] as const) {
      const answer = await server.patch(`${secrets}/s`, type, { data: { sent: { x: "hunter3" } } });
      assert.equal(answer.status, 422);
      assert.match(answer.text, /<secret contents redacted>/);
      const stored = Buffer.from("hunter2").toString("base64");
      for (const text of ["hunter3", stored]) assert.ok(!answer.text.includes(text), answer.text);
    }
  });

  it("strict validation rejects unknown and duplicate fields of a patch with a 422", async () => {
    const strict = `${path}?fieldValidation=Strict`;
    const unknown = await server.patch(strict, "merge", { foo: 1, metadata: { bar: 2 } });
    assert.equal(unknown.status, 422, unknown.text);
    assert.match(
      unknown.object.message ?? "",
      /^ "" is invalid: patch: Invalid value: ".*": strict decoding error: unknown field "metadata.bar", unknown field "foo"$/,
    );
    const headers = { "content-type": "application/merge-patch+json" };
    const body = '{"data":{"a":"x","a":"y"}}';
    const duplicate = await server.request("PATCH", strict, { headers, body });
    assert.equal(duplicate.status, 422);
    assert.match(
      duplicate.object.message ?? "",
      /strict decoding error: duplicate field "data.a"$/,
    );
    const operation = await server.patch(strict, "json", [
      { op: "replace", path: "/data/a", value: "x", oops: 1 },
    ]);
    assert.equal(operation.status, 422);
    assert.match(operation.object.message ?? "", /json patch unknown field/);
  });

  it("warns of unknown fields by default, and not with fieldValidation=Ignore", async () => {
    const warned = await server.patch(path, "merge", { foo: 1 });
    assert.equal(warned.status, 200);
    assert.deepEqual(warned.warnings, ['299 - "unknown field \\"foo\\""']);
    const ignored = await server.patch(`${path}?fieldValidation=Ignore`, "merge", { foo: 1 });
    assert.deepEqual(ignored.warnings, []);
    assert.equal(ignored.object.metadata.resourceVersion, created.metadata.resourceVersion);
  });

  it("requires a supported patch type, and names the supported types", async () => {
    for (const type of ["application/json", "text/plain", "application/merge-patch"]) {
      const headers = { "content-type": type };
      const answer = await server.request("PATCH", path, { headers, body: {} });
      assert.equal(answer.status, 415, type);
      assert.equal(
        answer.object.message,
        "the body of the request was in an unknown format - accepted media types include: application/json-patch+json, application/merge-patch+json, application/strategic-merge-patch+json, application/apply-patch+yaml",
      );
    }
    const headers = { "content-type": "application/merge-patch+json; charset=utf-8" };
    assert.equal((await server.request("PATCH", path, { headers, body: {} })).status, 200);
  });

  it("force is only valid for apply", async () => {
    const answer = await server.patch(`${path}?force=true`, "merge", {});
    assert.equal(answer.status, 422);
    assert.match(
      answer.object.message ?? "",
      /force: Forbidden: may not be specified for non-apply patch$/,
    );
  });

  it("accepts ten thousand operations and rejects one more", async () => {
    const operations = (count: number) =>
      Array.from({ length: count }, () => ({ op: "test", path: "/data/a", value: "1" }));
    assert.equal((await server.patch(path, "json", operations(10_000))).status, 200);
    const over = await server.patch(path, "json", operations(10_001));
    assert.equal(over.status, 413);
    assert.equal(
      over.object.message,
      "Request entity too large: The allowed maximum operations in a JSON patch is 10000, got 10001",
    );
  });

  it("rejects copy operations that multiply the object's size", async () => {
    const big = await server.patch(path, "merge", { data: { big: "x".repeat(500_000) } });
    assert.equal(big.status, 200);
    const copies = Array.from({ length: 9000 }, (_, i) => ({
      op: "copy",
      from: "/data/big",
      path: `/data/big${i}`,
    }));
    const answer = await server.patch(path, "json", copies);
    assert.ok([413, 422].includes(answer.status), answer.text.slice(0, 200));
  });

  it("removing the last finalizer of a deleted object deletes the object", async () => {
    await server.patch(path, "merge", { metadata: { finalizers: ["example.com/x"] } });
    await server.requestOk("DELETE", path);
    const answer = await server.patch(path, "json", [
      { op: "remove", path: "/metadata/finalizers" },
    ]);
    assert.equal(answer.status, 200);
    assert.equal((await server.get(path)).status, 404);
  });
});
