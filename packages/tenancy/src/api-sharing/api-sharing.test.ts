/**
 * Goal: an API that one workspace exports and other workspaces bind works from its schema to its
 * objects.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { TestServer } from "../testing/index.ts";
import {
  bind,
  binding,
  cowboy,
  cowboySchema,
  flushPendingWork,
  offer,
} from "./test-support/cowboys.ts";

const apis = (cluster: string, version = "v1alpha2") =>
  `/clusters/${cluster}/apis/apis.kcp.io/${version}`;
const cowboys = (cluster: string) =>
  `/clusters/${cluster}/apis/wildwest.dev/v1alpha1/namespaces/default/cowboys`;

describe("a shared API", () => {
  it("is served in the workspaces that bind it, from the response to the binding on", async () => {
    const test = await TestServer.start();
    await offer(test, "provider");
    const bound = await bind(test, "consumer", "provider");
    assert.equal((bound["status"] as { phase: string }).phase, "Bound");
    await test.requestOk("POST", "/clusters/consumer/api/v1/namespaces", {
      user: "masters",
      body: { metadata: { name: "default" } },
    });
    const made = await test.requestOk("POST", cowboys("consumer"), {
      user: "masters",
      body: cowboy("lucky"),
    });
    assert.equal(made.metadata.annotations?.["kcp.io/cluster"], "consumer");
    const list = await test.requestOk("GET", cowboys("consumer"), { user: "masters" });
    assert.equal(list.items?.length, 1);
    const refused = await test.request("POST", cowboys("consumer"), {
      user: "masters",
      body: { ...cowboy("bad"), spec: { intent: 7 } },
    });
    assert.equal(refused.status, 422);
    const elsewhere = await test.get(cowboys("provider"), { user: "masters" });
    assert.equal(elsewhere.status, 404);
    await test.close();
  });

  it("is in the discovery and the OpenAPI documents of the workspaces that bind it, and of no others", async () => {
    const test = await TestServer.start();
    await offer(test, "provider");
    await bind(test, "consumer", "provider");
    const groups = async (cluster: string) => {
      const list = await test.requestOk("GET", `/clusters/${cluster}/apis`, { user: "masters" });
      return (list["groups"] as { name: string }[]).map(({ name }) => name);
    };
    assert.ok((await groups("consumer")).includes("wildwest.dev"));
    assert.ok(!(await groups("provider")).includes("wildwest.dev"));
    const document = await test.requestOk(
      "GET",
      "/clusters/consumer/openapi/v3/apis/wildwest.dev/v1alpha1",
      { user: "masters" },
    );
    assert.match(JSON.stringify(document), /dev.wildwest.v1alpha1.Cowboy/);
    await test.close();
  });

  it("has an identity, a Secret with its key, and endpoints as soon as a workspace binds it", async () => {
    const test = await TestServer.start();
    await offer(test, "provider");
    const exported = await test.requestOk("GET", `${apis("provider")}/apiexports/cowboys`, {
      user: "masters",
    });
    const { identityHash } = exported["status"] as { identityHash: string };
    assert.match(identityHash, /^[0-9a-f]{64}$/);
    const slice = `${apis("provider", "v1alpha1")}/apiexportendpointslices/cowboys`;
    const endpoints = async () =>
      (
        (await test.requestOk("GET", slice, { user: "masters" }))["status"] as {
          endpoints: unknown[];
        }
      ).endpoints;
    assert.deepEqual(await endpoints(), []);
    await bind(test, "consumer", "provider");
    await flushPendingWork(test);
    assert.equal((await endpoints()).length, 1);
    await test.close();
  });

  it("a binding waits for its export, and is bound when the export is created", async () => {
    const test = await TestServer.start();
    const early = await bind(test, "consumer", "provider");
    assert.equal((early["status"] as { phase: string }).phase, "Binding");
    await offer(test, "provider");
    await flushPendingWork(test);
    const bound = await binding(test, "consumer");
    assert.equal((bound["status"] as { phase: string }).phase, "Bound");
    await test.close();
  });

  it("cannot be bound by two bindings, nor beside a CRD of the same name", async () => {
    const test = await TestServer.start();
    await offer(test, "one");
    await offer(test, "two");
    await bind(test, "consumer", "one");
    const second = await bind(test, "consumer", "two", "second");
    const reason = (object: typeof second) =>
      (object["status"] as { conditions: { type: string; reason?: string }[] }).conditions.find(
        ({ type }) => type === "InitialBindingCompleted",
      )?.reason;
    assert.equal(reason(second), "NamingConflicts");
    await test.requestOk("DELETE", `${apis("consumer")}/apibindings/cowboys`, { user: "masters" });
    await flushPendingWork(test);
    const after = await binding(test, "consumer", "second");
    assert.equal((after["status"] as { phase: string }).phase, "Bound");
    await test.close();
  });

  it("is removed with its objects when the binding is deleted, as soon as no finalizer holds them", async () => {
    const test = await TestServer.start();
    await offer(test, "provider");
    await bind(test, "consumer", "provider");
    await test.requestOk("POST", "/clusters/consumer/api/v1/namespaces", {
      user: "masters",
      body: { metadata: { name: "default" } },
    });
    const held = cowboy("held");
    const metadata = { ...held.metadata, finalizers: ["wildwest.dev/held"] };
    await test.requestOk("POST", cowboys("consumer"), {
      user: "masters",
      body: { ...held, metadata },
    });
    await test.requestOk("DELETE", `${apis("consumer")}/apibindings/cowboys`, { user: "masters" });
    await flushPendingWork(test);
    const during = await binding(test, "consumer");
    const condition = (
      during["status"] as { conditions: { type: string; reason?: string }[] }
    ).conditions.find(({ type }) => type === "BindingResourceDeleteSuccess");
    assert.equal(condition?.reason, "SomeFinalizersRemain");
    const late = await test.request("POST", cowboys("consumer"), {
      user: "masters",
      body: cowboy("late"),
    });
    assert.equal(late.status, 403);
    const freed = await test.patch(
      `${cowboys("consumer")}/held`,
      "merge",
      { metadata: { finalizers: null } },
      { user: "masters" },
    );
    assert.equal(freed.status, 200);
    await flushPendingWork(test);
    assert.equal((await test.get(cowboys("consumer"), { user: "masters" })).status, 404);
    const gone = await test.get(`${apis("consumer")}/apibindings/cowboys`, { user: "masters" });
    assert.equal(gone.status, 404);
    await test.close();
  });

  it("serves exports and bindings in both versions", async () => {
    const test = await TestServer.start();
    await offer(test, "provider");
    await bind(test, "consumer", "provider");
    const old = await test.requestOk("GET", `${apis("provider", "v1alpha1")}/apiexports/cowboys`, {
      user: "masters",
    });
    assert.deepEqual((old["spec"] as { latestResourceSchemas: string[] }).latestResourceSchemas, [
      "today.cowboys.wildwest.dev",
    ]);
    const written = await test.requestOk(
      "PUT",
      `${apis("provider", "v1alpha1")}/apiexports/cowboys`,
      { user: "masters", body: old },
    );
    assert.equal(written.apiVersion, "apis.kcp.io/v1alpha1");
    const again = await test.requestOk("GET", `${apis("provider")}/apiexports/cowboys`, {
      user: "masters",
    });
    assert.deepEqual((again["spec"] as { resources: unknown[] }).resources, [
      {
        name: "cowboys",
        group: "wildwest.dev",
        schema: "today.cowboys.wildwest.dev",
        storage: { crd: {} },
      },
    ]);
    await test.close();
  });

  it("serves bindings in both versions, and loses no field between them", async () => {
    const test = await TestServer.start();
    const claims = [
      { group: "", resource: "configmaps", verbs: ["get", "list"] },
      { group: "", resource: "secrets", verbs: ["*"] },
    ];
    await offer(test, "provider", { permissionClaims: claims });
    const [few, all] = claims as [object, object];
    await bind(test, "consumer", "provider", "cowboys", [
      { ...few, selector: { matchLabels: { a: "b" } }, state: "Accepted" },
      { ...all, selector: { matchAll: true }, state: "Rejected" },
    ]);
    await flushPendingWork(test);
    const masters = { user: "masters" } as const;
    const newPath = `${apis("consumer")}/apibindings/cowboys`;
    const oldPath = `${apis("consumer", "v1alpha1")}/apibindings/cowboys`;
    const before = await test.requestOk("GET", newPath, masters);
    const old = await test.requestOk("GET", oldPath, masters);
    assert.equal(old.apiVersion, "apis.kcp.io/v1alpha1");
    const oldSpec = old["spec"] as { permissionClaims: readonly Record<string, unknown>[] };
    assert.deepEqual(
      oldSpec.permissionClaims.map(({ resource, state, verbs }) => [resource, state, verbs]),
      [
        ["configmaps", "Accepted", undefined],
        ["secrets", "Rejected", undefined],
      ],
      "it speaks of no verbs",
    );
    assert.deepEqual((old["status"] as { phase: string }).phase, "Bound");
    await test.requestOk("PUT", oldPath, { ...masters, body: old });
    await flushPendingWork(test);
    const after = await test.requestOk("GET", newPath, masters);
    assert.deepEqual(after["spec"], before["spec"], "written back in the old version");
    const made = await test.requestOk("POST", `${apis("other", "v1alpha1")}/apibindings`, {
      ...masters,
      body: {
        metadata: { name: "cowboys" },
        spec: {
          reference: { export: { path: "provider", name: "cowboys" } },
          permissionClaims: [{ group: "", resource: "secrets", all: true, state: "Accepted" }],
        },
      },
    });
    assert.equal(made.apiVersion, "apis.kcp.io/v1alpha1");
    const read = await test.requestOk("GET", `${apis("other")}/apibindings/cowboys`, masters);
    const [claim] = (read["spec"] as { permissionClaims: readonly { verbs: object }[] })
      .permissionClaims;
    assert.deepEqual(claim?.verbs, ["*"]);
    await test.close();
  });

  it("has schemas of at most 1 MiB, as definitions are", async () => {
    const test = await TestServer.start();
    const schemas = `${apis("provider", "v1alpha1")}/apiresourceschemas`;
    const create = (characters: number) => {
      const schema = { type: "object", description: "d".repeat(characters) };
      const version = { name: "v1", served: true, storage: true, schema };
      const names = { plural: "larges", kind: "Large" };
      const spec = { group: "example.com", names, scope: "Namespaced", versions: [version] };
      const metadata = { name: `l${characters}.larges.example.com` };
      return test.request("POST", schemas, { user: "masters", body: { metadata, spec } });
    };
    assert.equal((await create(2 ** 20 - 1024)).status, 201);
    const refused = await create(2 ** 20);
    assert.equal(refused.status, 413);
    assert.match(refused.text, /Request entity too large: limit is 1048576 bytes/);
    await test.close();
  });

  it("has immutable schemas", async () => {
    const test = await TestServer.start();
    await offer(test, "provider");
    const path = `${apis("provider", "v1alpha1")}/apiresourceschemas/today.cowboys.wildwest.dev`;
    const answer = await test.patch(
      path,
      "merge",
      { spec: { names: { shortNames: ["cb"] } } },
      { user: "masters" },
    );
    assert.equal(answer.status, 403);
    assert.match(answer.text, /is forbidden: \[spec: Invalid value: .*: is immutable\]/);
    const misnamed = { ...cowboySchema("today"), metadata: { name: "cowboys.wildwest.dev" } };
    const refused = await test.request(
      "POST",
      `${apis("provider", "v1alpha1")}/apiresourceschemas`,
      { user: "masters", body: misnamed },
    );
    assert.match(refused.text, /must end in .cowboys.wildwest.dev/);
    await test.close();
  });
});
