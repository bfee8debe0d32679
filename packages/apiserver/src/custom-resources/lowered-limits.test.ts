/**
 * A definition that was stored under larger limits is served, kept and deleted like any other; it
 * cannot be changed into another one that is too large.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { schemaNodesMax } from "@kcp-ts/machinery/schema";
import { objectKey } from "../storage/index.ts";
import { decodeObject, encodeObject } from "../stored-object/index.ts";
import { type AnyObject, definitionsPath, install, TestServer } from "../testing/index.ts";
import { cronTabs } from "./test-support/definitions.ts";

const name = "crontabs.stable.example.com";
const objects = "/clusters/a/apis/stable.example.com/v1/namespaces/default/crontabs";

const wide = (count: number) => ({
  type: "object",
  properties: Object.fromEntries(
    Array.from({ length: count }, (_, i) => [`f${i}`, { type: "string", maxLength: 3 }]),
  ),
});

/** A server on the storage of another one, with the definition enlarged in between. */
async function restarted(schema: object): Promise<TestServer> {
  const first = await TestServer.start();
  await install(first, cronTabs());
  await first.server.close();
  const { signal } = new AbortController();
  const key = objectKey({
    group: "apiextensions.k8s.io",
    resource: "customresourcedefinitions",
    identity: "",
    cluster: "a" as ClusterName,
    namespace: "",
    name,
  });
  const entry = await first.storage.get(key, { signal });
  assert.ok(entry);
  const stored = decodeObject(entry);
  const spec = stored["spec"] as JsonObject;
  const [version] = spec["versions"] as JsonObject[];
  const versions = [{ ...version, schema: { openAPIV3Schema: schema } }];
  const value = encodeObject({ ...stored, spec: { ...spec, versions } } as JsonObject);
  await first.storage.commit({ key, value, expected: entry.modifiedAt }, { signal });
  return TestServer.start({ storage: first.storage });
}

describe("a definition that exceeds the current limit", () => {
  it("is served, may be written unchanged, and can be deleted", async () => {
    const server = await restarted(wide(schemaNodesMax + 500));
    const path = `/clusters/a${definitionsPath}/${name}`;
    const ok = await server.request("POST", objects, {
      body: { metadata: { name: "x" }, f1: "abc" },
    });
    assert.equal(ok.status, 201, ok.text.slice(0, 300));
    const bad = await server.request("POST", objects, {
      body: { metadata: { name: "y" }, f1: "abcd" },
    });
    assert.equal(bad.status, 422);
    assert.match(bad.text, /f1: Too long: may not be more than 3 bytes/);
    const document = await server.get("/clusters/a/openapi/v3/apis/stable.example.com/v1");
    assert.ok(document.text.includes(`"f${schemaNodesMax + 400}"`));

    const labelled = await server.patch(path, "merge", { metadata: { labels: { a: "b" } } });
    assert.equal(labelled.status, 200, labelled.text.slice(0, 300));
    const larger = await server.patch(path, "json", [
      {
        op: "add",
        path: "/spec/versions/0/schema/openAPIV3Schema/properties/more",
        value: { type: "string" },
      },
    ] as unknown as AnyObject);
    assert.equal(larger.status, 422);
    assert.match(larger.text, /must not have more than 12000 sub-schemas/);

    await server.requestOk("DELETE", path);
    while ((await server.get(path)).status !== 404)
      await new Promise((resolve) => setImmediate(resolve));
    await server.close();
  });
});
