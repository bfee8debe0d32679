/**
 * Goal: default bindings of a type reach existing workspaces if the type maintains them; and copies
 * of schemas stay as long as bindings use them.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { StorageKey } from "@kcp-ts/apiserver/storage";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import type { AnyObject } from "@kcp-ts/apiserver/testing";
import { TestServer } from "../testing/index.ts";
import { copyUnusedMs } from "./schema-copy-collector.ts";
import { copiesPrefix } from "./schema-store.ts";
import {
  apis,
  bind,
  cowboy,
  cowboyExport,
  cowboySchema,
  flushPendingWork,
  offer,
  until,
} from "./test-support/cowboys.ts";

const tenancy = "/clusters/root/apis/tenancy.kcp.io/v1alpha1";
const inDefault = "/apis/wildwest.dev/v1alpha1/namespaces/default/cowboys";
const masters = { user: "masters" } as const;
const bound = [{ path: "provider", export: "cowboys" }];
const claim = { group: "", resource: "configmaps", verbs: ["get", "list"] };
const signal = new AbortController().signal;

async function started(lifecycle: string, defaultAPIBindings: object[]): Promise<TestServer> {
  const test = await TestServer.start();
  await test.server.bootstrap("https://kcp.example.com");
  await offer(test, "provider");
  const spec = {
    extend: { with: [{ name: "universal", path: "root" }] },
    defaultAPIBindingLifecycle: lifecycle,
    defaultAPIBindings,
  };
  const base = { metadata: { name: "western" }, spec };
  await test.requestOk("POST", `${tenancy}/workspacetypes`, { ...masters, body: base });
  // The workspaces are of a type that extends the type that changes.
  const spaghetti = { extend: { with: [{ name: "western", path: "root" }] } };
  const body = { metadata: { name: "spaghetti" }, spec: spaghetti };
  await test.requestOk("POST", `${tenancy}/workspacetypes`, { ...masters, body });
  return test;
}

async function workspace(test: TestServer, name: string): Promise<string> {
  const body = { metadata: { name }, spec: { type: { name: "spaghetti", path: "root" } } };
  const made = await test.requestOk("POST", `${tenancy}/workspaces`, { ...masters, body });
  return (made["spec"] as { cluster: string }).cluster;
}

const bindingsOf = async (test: TestServer, cluster: string): Promise<readonly AnyObject[]> =>
  (await test.requestOk("GET", `${apis(cluster)}/apibindings`, masters)).items ?? [];
const claimsIn = (binding: AnyObject | undefined) =>
  (
    (binding?.["spec"] as { permissionClaims?: { resource: string; state: string }[] })
      ?.permissionClaims ?? []
  ).map(({ resource, state }) => `${resource} ${state}`);
const change = (test: TestServer, path: string, spec: object) =>
  test.patch(path, "merge", { spec }, masters);

describe("default bindings with the lifecycle mode Maintain", () => {
  it("are added to existing workspaces, and restored when they are deleted", async () => {
    const test = await started("Maintain", []);
    const cluster = await workspace(test, "old");
    assert.deepEqual(await bindingsOf(test, cluster), []);
    await change(test, `${tenancy}/workspacetypes/western`, { defaultAPIBindings: bound });
    const isBound = async () =>
      (await bindingsOf(test, cluster)).some(
        ({ status, metadata }) =>
          (status as { phase?: string }).phase === "Bound" &&
          metadata["deletionTimestamp"] === undefined,
      );
    await until(test, "an old workspace is bound", isBound);
    await test.requestOk("POST", `/clusters/${cluster}${inDefault}`, {
      ...masters,
      body: cowboy("x"),
    });
    const [first] = await bindingsOf(test, cluster);
    await test.requestOk("DELETE", `${apis(cluster)}/apibindings/${first?.metadata.name}`, masters);
    await until(test, "the binding is back", async () => {
      const [again] = await bindingsOf(test, cluster);
      return again !== undefined && again.metadata.uid !== first?.metadata.uid;
    });
    await test.requestOk("DELETE", `${tenancy}/workspaces/old`, masters);
    await until(test, "the workspace is gone, its binding with it", async () => {
      const { status } = await test.get(`${tenancy}/workspaces/old`, masters);
      return status === 404 && (await bindingsOf(test, cluster)).length === 0;
    });
    await test.close();
  });

  it("accept the claims that their export adds later, and not the rejected ones", async () => {
    const test = await started("Maintain", bound);
    const cluster = await workspace(test, "team");
    const exported = `${apis("provider")}/apiexports/cowboys`;
    await change(test, exported, { permissionClaims: [claim] });
    const claims = async () => claimsIn((await bindingsOf(test, cluster))[0]);
    await until(test, "the claim is accepted", async () =>
      (await claims()).includes("configmaps Accepted"),
    );
    const [binding] = (await bindingsOf(test, cluster)) as [AnyObject];
    const answered = [{ ...claim, selector: { matchAll: true }, state: "Rejected" }];
    const at = `${apis(cluster)}/apibindings/${binding.metadata.name}`;
    await change(test, at, { permissionClaims: answered });
    const secrets = { ...claim, resource: "secrets" };
    await change(test, exported, { permissionClaims: [claim, secrets] });
    await until(test, "the second claim is accepted", async () =>
      (await claims()).includes("secrets Accepted"),
    );
    assert.deepEqual(await claims(), ["configmaps Rejected", "secrets Accepted"]);
    await test.close();
  });

  it("are reconciled by a server that was down when the type changed", async () => {
    const storage = new MemoryStorage();
    const close = storage.close.bind(storage);
    storage.close = async () => {};
    const first = await TestServer.start({ storage });
    await first.server.bootstrap("https://kcp.example.com");
    await offer(first, "provider");
    const spec = { defaultAPIBindingLifecycle: "Maintain", defaultAPIBindings: [] as object[] };
    const type = { metadata: { name: "spaghetti" }, spec };
    await first.requestOk("POST", `${tenancy}/workspacetypes`, { ...masters, body: type });
    const cluster = await workspace(first, "team");
    const answer = change(first, `${tenancy}/workspacetypes/spaghetti`, {
      defaultAPIBindings: bound,
    });
    // The server stops with the response.
    await Promise.all([answer, answer.then(() => first.close())]);
    const second = await TestServer.start({ storage });
    await until(
      second,
      "it is bound",
      async () => (await bindingsOf(second, cluster)).length === 1,
    );
    await second.close();
    await close();
  });

  it("do not apply to types that only initialize bindings", async () => {
    const test = await started("InitializeOnly", []);
    const cluster = await workspace(test, "old");
    await change(test, `${tenancy}/workspacetypes/western`, { defaultAPIBindings: bound });
    const young = await workspace(test, "young");
    assert.equal((await bindingsOf(test, young)).length, 1);
    for (let turn = 0; turn < 10; turn++) await flushPendingWork(test);
    assert.deepEqual(await bindingsOf(test, cluster), []);
    const [binding] = await bindingsOf(test, young);
    await change(test, `${apis("provider")}/apiexports/cowboys`, { permissionClaims: [claim] });
    await until(test, "the binding has heard of the claim", async () => {
      const [now] = await bindingsOf(test, young);
      const status = now?.["status"] as { exportPermissionClaims?: object[] } | undefined;
      return status?.exportPermissionClaims?.length === 1;
    });
    assert.deepEqual(claimsIn((await bindingsOf(test, young))[0]), claimsIn(binding));
    await test.close();
  });
});

describe("copies of schemas", () => {
  const copies = async ({ storage }: TestServer) =>
    (await storage.list(copiesPrefix, { signal, entriesMax: 100 })).entries.length;
  const unbind = async (test: TestServer, cluster: string) => {
    await test.requestOk("DELETE", `${apis(cluster)}/apibindings/cowboys`, masters);
    await until(test, "it is unbound", async () => {
      const { status } = await test.get(`${apis(cluster)}/apibindings/cowboys`, masters);
      return status === 404;
    });
  };

  it("are deleted some time after the last binding that used them", async () => {
    const test = await TestServer.start();
    await offer(test, "provider");
    await bind(test, "a", "provider");
    await bind(test, "b", "provider");
    assert.equal(await copies(test), 1);
    await unbind(test, "a");
    test.clock.advance(copyUnusedMs + 1);
    await flushPendingWork(test);
    assert.equal(await copies(test), 1);
    await unbind(test, "b");
    test.clock.advance(copyUnusedMs - 1000);
    await flushPendingWork(test);
    assert.equal(await copies(test), 1);
    test.clock.advance(1000);
    await until(test, "the copy is gone", async () => (await copies(test)) === 0);
    await bind(test, "a", "provider");
    assert.equal(await copies(test), 1);
    await test.close();
  });

  it("that an export no longer has are deleted too, and bindings to the new schema stay", async () => {
    const test = await TestServer.start();
    await offer(test, "provider");
    await bind(test, "a", "provider");
    const body = cowboySchema("tomorrow");
    await test.requestOk("POST", `${apis("provider", "v1alpha1")}/apiresourceschemas`, {
      ...masters,
      body,
    });
    await test.patch(
      `${apis("provider")}/apiexports/cowboys`,
      "merge",
      cowboyExport("tomorrow"),
      masters,
    );
    await until(test, "both are there", async () => (await copies(test)) === 2);
    await flushPendingWork(test);
    test.clock.advance(copyUnusedMs + 1);
    await until(test, "one is left", async () => (await copies(test)) === 1);
    await test.requestOk("POST", "/clusters/a/api/v1/namespaces", {
      ...masters,
      body: { metadata: { name: "default" } },
    });
    await test.requestOk("POST", `/clusters/a${inDefault}`, { ...masters, body: cowboy("x") });
    await test.close();
  });

  it("that were unused when a server stopped are collected by the next one; copies in use are restored when they are deleted", async () => {
    const storage = new MemoryStorage();
    const close = storage.close.bind(storage);
    storage.close = async () => {};
    const first = await TestServer.start({ storage });
    await offer(first, "provider");
    await bind(first, "a", "provider");
    const [copy] = (await storage.list(copiesPrefix, { signal, entriesMax: 9 })).entries;
    const key = copy?.key as StorageKey;
    await storage.commit(
      { key, value: "delete", expected: copy?.modifiedAt ?? "absent" },
      { signal },
    );
    await until(first, "the copy is back", async () => (await copies(first)) === 1);
    await unbind(first, "a");
    await first.close();
    const second = await TestServer.start({ storage });
    await flushPendingWork(second);
    assert.equal(await copies(second), 1);
    second.clock.advance(copyUnusedMs + 1);
    await until(second, "the copy is gone", async () => (await copies(second)) === 0);
    await second.close();
    await close();
  });
});
