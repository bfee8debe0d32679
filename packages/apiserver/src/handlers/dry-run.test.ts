/**
 * A dry run responds with the result of the write and stores nothing: the store keeps its revision.
 */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { type AnyObject, TestServer } from "../testing/index.ts";

const base = "/clusters/a/api/v1";
const configmaps = `${base}/namespaces/default/configmaps`;

describe("dryRun=All", () => {
  let server: TestServer;
  let created: AnyObject;
  let revision: number;
  const { signal } = new AbortController();
  beforeEach(async () => {
    server = await TestServer.start();
    created = await server.requestOk("POST", configmaps, {
      body: { metadata: { name: "x" }, data: { k: "v" } },
    });
    revision = await server.storage.currentRevision({ signal });
  });
  afterEach(async () => {
    assert.equal(
      await server.storage.currentRevision({ signal }),
      revision,
      "something was written",
    );
    await server.close();
  });

  it("create responds 201 with a uid and without a resourceVersion", async () => {
    const { status, object } = await server.request("POST", `${configmaps}?dryRun=All`, {
      body: { metadata: { name: "y" } },
    });
    assert.equal(status, 201);
    assert.match(object.metadata.uid ?? "", /^[0-9a-f-]{36}$/);
    assert.ok(!Object.hasOwn(object.metadata, "resourceVersion"));
    assert.equal((await server.get(`${configmaps}/y`)).status, 404);
  });

  it("create in a cluster without a default namespace creates none", async () => {
    const path = "/clusters/fresh/api/v1/namespaces/default/configmaps?dryRun=All";
    const answer = await server.request("POST", path, { body: { metadata: { name: "y" } } });
    assert.equal(answer.status, 201);
    assert.deepEqual((await server.get("/clusters/fresh/api/v1/namespaces")).names, []);
  });

  it("create validates the object", async () => {
    for (const [body, code] of [
      [{ metadata: { name: "x" } }, 409],
      [{ metadata: { name: "Y" } }, 422],
      [{ metadata: { name: "y", resourceVersion: "1" } }, 500],
    ] as const) {
      assert.equal(
        (await server.request("POST", `${configmaps}?dryRun=All`, { body })).status,
        code,
      );
    }
  });

  it("update responds with the result at the current resourceVersion", async () => {
    const { status, object } = await server.request("PUT", `${configmaps}/x?dryRun=All`, {
      body: { metadata: { name: "x" }, data: { k: "new" } },
    });
    assert.equal(status, 200);
    assert.deepEqual(object.data, { k: "new" });
    assert.deepEqual((await server.get(`${configmaps}/x`)).object, created);
    const stale = await server.request("PUT", `${configmaps}/x?dryRun=All`, {
      body: { metadata: { name: "x", resourceVersion: "9999" } },
    });
    assert.equal(stale.status, 409);
  });

  it("patch responds with the result", async () => {
    const answer = await server.patch(`${configmaps}/x?dryRun=All`, "merge", { data: { n: "1" } });
    assert.deepEqual(answer.object.data, { k: "v", n: "1" });
    assert.deepEqual((await server.get(`${configmaps}/x`)).object, created);
  });

  it("delete responds as if the object were deleted, by query or by body", async () => {
    const byQuery = await server.request("DELETE", `${configmaps}/x?dryRun=All`);
    const byBody = await server.request("DELETE", `${configmaps}/x`, { body: { dryRun: ["All"] } });
    const byBoth = await server.request("DELETE", `${configmaps}/x?dryRun=All`, { body: {} });
    for (const answer of [byQuery, byBody, byBoth]) {
      assert.equal(answer.status, 200);
      assert.equal(answer.object["status"], "Success");
    }
    const marked = await server.request("DELETE", `${configmaps}/x?dryRun=All`, {
      body: { propagationPolicy: "Foreground" },
    });
    assert.deepEqual(marked.object.metadata["finalizers"], ["foregroundDeletion"]);
    assert.deepEqual((await server.get(`${configmaps}/x`)).object, created);
  });

  it("deletecollection lists the objects that it would delete", async () => {
    const answer = await server.request("DELETE", `${configmaps}?dryRun=All`);
    assert.deepEqual(answer.names, ["x"]);
    assert.deepEqual((await server.get(configmaps)).names, ["x"]);
  });

  it("delete, status and finalize of namespaces change nothing", async () => {
    const ns = `${base}/namespaces/default`;
    const namespace = await server.requestOk("GET", ns);
    for (const part of ["status", "finalize"]) {
      const answer = await server.request("PUT", `${ns}/${part}?dryRun=All`, {
        body: {
          ...namespace,
          spec: { finalizers: [] },
          status: { phase: "Active", conditions: [] },
        },
      });
      assert.equal(answer.status, 200, answer.text);
    }
    assert.deepEqual(await server.requestOk("GET", ns), namespace);
  });

  it("every verb rejects other values", async () => {
    for (const [method, target, kind] of [
      ["POST", configmaps, "CreateOptions"],
      ["PUT", `${configmaps}/x`, "UpdateOptions"],
      ["PATCH", `${configmaps}/x`, "PatchOptions"],
      ["DELETE", `${configmaps}/x`, "DeleteOptions"],
      ["DELETE", configmaps, "DeleteOptions"],
    ] as const) {
      const body = method === "DELETE" ? undefined : { metadata: { name: "x" } };
      const { status, object } = await server.request(method, `${target}?dryRun=Some`, {
        body,
        headers: {
          "content-type": method === "PATCH" ? "application/merge-patch+json" : "application/json",
        },
      });
      assert.equal(status, 422, method);
      assert.equal(
        object.message,
        `${kind}.meta.k8s.io "" is invalid: dryRun: Unsupported value: ["Some"]: supported values: "All"`,
      );
    }
  });
});
