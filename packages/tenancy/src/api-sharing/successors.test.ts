/**
 * Goal: objects outlive the binding that created them where another binding serves them unchanged,
 * and are selected by fields that their schema names.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { TestServer } from "../testing/index.ts";
import {
  apis,
  bind,
  binding,
  cowboy,
  cowboyExport,
  cowboySchema,
  flushPendingWork,
  offer,
  until,
} from "./test-support/cowboys.ts";

const masters = { user: "masters" } as const;
const inDefault = "/clusters/b/apis/wildwest.dev/v1alpha1/namespaces/default/cowboys";

async function started(): Promise<TestServer> {
  const test = await TestServer.start();
  await offer(test, "a");
  await test.requestOk("POST", "/clusters/b/api/v1/namespaces", {
    ...masters,
    body: { metadata: { name: "default" } },
  });
  return test;
}

const isGone = (test: TestServer, name: string) =>
  until(test, `${name} is gone`, async () => {
    const { status } = await test.get(`${apis("b")}/apibindings/${name}`, masters);
    return status === 404;
  });

describe("a binding that is deleted", () => {
  it("leaves its objects to another binding of the same export, which serves them unchanged", async () => {
    const test = await started();
    await bind(test, "b", "a", "first");
    await flushPendingWork(test);
    const made = await test.requestOk("POST", inDefault, { ...masters, body: cowboy("kept") });
    await bind(test, "b", "a", "second");
    await flushPendingWork(test);
    await test.requestOk("DELETE", `${apis("b")}/apibindings/first`, masters);
    await isGone(test, "first");
    await until(test, "the second binding is bound", async () => {
      const { status } = await binding(test, "b", "second");
      const { boundResources = [] } = status as { boundResources?: object[] };
      return boundResources.length === 1;
    });
    const kept = await test.requestOk("GET", `${inDefault}/kept`, masters);
    assert.deepEqual(kept.metadata.uid, made.metadata.uid);
    await test.requestOk("DELETE", `${apis("b")}/apibindings/second`, masters);
    await isGone(test, "second");
    await bind(test, "b", "a", "third");
    await flushPendingWork(test);
    assert.deepEqual((await test.get(inDefault, masters)).names, []);
    await test.close();
  });

  it("deletes its objects where another binding has the name from another export, or with another schema", async () => {
    for (const other of ["of another identity", "of another schema"]) {
      const test = await started();
      await bind(test, "b", "a", "first");
      await flushPendingWork(test);
      await test.requestOk("POST", inDefault, { ...masters, body: cowboy("lost") });
      if (other === "of another identity") {
        await offer(test, "c");
        await bind(test, "b", "c", "second");
      } else {
        const schemas = `${apis("a", "v1alpha1")}/apiresourceschemas`;
        await test.requestOk("POST", schemas, { ...masters, body: cowboySchema("later") });
        const { identityHash } = (
          await test.requestOk("GET", `${apis("a")}/apiexports/cowboys`, masters)
        )["status"] as { identityHash: string };
        const identity = { secretRef: { namespace: "kcp-system", name: "cowboys" } };
        const body = cowboyExport("later", { identity }, "later");
        await test.requestOk("POST", `${apis("a")}/apiexports`, { ...masters, body });
        await flushPendingWork(test);
        const later = await test.requestOk("GET", `${apis("a")}/apiexports/later`, masters);
        assert.equal((later["status"] as { identityHash: string }).identityHash, identityHash);
        await test.requestOk("POST", `${apis("b")}/apibindings`, {
          ...masters,
          body: {
            metadata: { name: "second" },
            spec: { reference: { export: { path: "a", name: "later" } } },
          },
        });
      }
      await flushPendingWork(test);
      await test.requestOk("DELETE", `${apis("b")}/apibindings/first`, masters);
      await isGone(test, "first");
      await flushPendingWork(test);
      assert.deepEqual((await test.get(inDefault, masters)).names, [], other);
      await test.close();
    }
  });
});

describe("selectable fields of a schema", () => {
  it("select objects in workspaces that bind it, in lists and watches, and are in the OpenAPI document", async () => {
    const test = await TestServer.start();
    const schema = cowboySchema("today");
    const [version] = schema.spec.versions;
    const spec = {
      ...schema.spec,
      versions: [{ ...version, selectableFields: [{ jsonPath: ".spec.intent" }] }],
    };
    await test.requestOk("POST", `${apis("a", "v1alpha1")}/apiresourceschemas`, {
      ...masters,
      body: { ...schema, spec },
    });
    await test.requestOk("POST", `${apis("a")}/apiexports`, {
      ...masters,
      body: cowboyExport("today"),
    });
    await test.requestOk("POST", "/clusters/b/api/v1/namespaces", {
      ...masters,
      body: { metadata: { name: "default" } },
    });
    await flushPendingWork(test);
    await bind(test, "b", "a");
    await flushPendingWork(test);
    for (const intent of ["ride", "rest"])
      await test.requestOk("POST", inDefault, { ...masters, body: cowboy(intent, { intent }) });
    const selected = await test.get(`${inDefault}?fieldSelector=spec.intent%3Dride`, masters);
    assert.deepEqual(selected.names, ["ride"]);
    const unknown = await test.get(`${inDefault}?fieldSelector=spec.other%3Dx`, masters);
    assert.equal(unknown.status, 400);
    const view = "/services/apiexport/a/cowboys/clusters/*/apis/wildwest.dev/v1alpha1/cowboys";
    const seen = await test.get(`${view}?fieldSelector=spec.intent%3Drest`, masters);
    assert.deepEqual(seen.names, ["rest"]);
    const { text } = await test.get("/clusters/b/openapi/v3/apis/wildwest.dev/v1alpha1", masters);
    assert.match(text, /"x-kubernetes-selectable-fields":\[\{"fieldPath":"spec.intent"\}\]/);
    await test.close();
  });

  it("must exist in the schema, and be of a type that can be selected", async () => {
    const test = await TestServer.start();
    const schema = cowboySchema("today");
    const [version] = schema.spec.versions;
    const spec = {
      ...schema.spec,
      versions: [{ ...version, selectableFields: [{ jsonPath: ".spec" }] }],
    };
    const { status, object } = await test.request(
      "POST",
      `${apis("a", "v1alpha1")}/apiresourceschemas`,
      { ...masters, body: { ...schema, spec } },
    );
    assert.equal(status, 422);
    assert.match(object.message ?? "", /selectableFields\[0\]\.jsonPath: Invalid value/);
    await test.close();
  });
});
