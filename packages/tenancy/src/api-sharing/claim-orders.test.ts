/**
 * Accepted permission claims reach the objects that they select, for every order in which export,
 * schema, binding, acceptance and objects are created.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { objectKey } from "@kcp-ts/apiserver/storage";
import { decodeObject, encodeObject } from "@kcp-ts/apiserver/stored-object";
import type { AnyObject, RequestOptions } from "@kcp-ts/apiserver/testing";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { TestServer } from "../testing/index.ts";
import {
  apis,
  binding,
  bindingTo,
  cowboyExport,
  cowboySchema,
  flushPendingWork,
  until,
} from "./test-support/cowboys.ts";

const masters: RequestOptions = { user: "masters" };
const configMaps = "/clusters/b/api/v1/namespaces/default/configmaps";
const view = "/services/apiexport/a/cowboys/clusters/*/api/v1/configmaps";
const claim = { group: "", resource: "configmaps", verbs: ["*"] };
const accepted = { ...claim, selector: { matchAll: true }, state: "Accepted" };
const rejected = { ...accepted, state: "Rejected" };
const claimLabel = /^claimed\.internal\.apis\.kcp\.io\//;

const post = (test: TestServer, path: string, body: object) =>
  test.requestOk("POST", path, { ...masters, body });

const steps = {
  schema: (test: TestServer) =>
    post(test, `${apis("a", "v1alpha1")}/apiresourceschemas`, cowboySchema("today")),
  export: (test: TestServer) =>
    post(test, `${apis("a")}/apiexports`, cowboyExport("today", { permissionClaims: [claim] })),
  binding: (test: TestServer) =>
    post(test, `${apis("b")}/apibindings`, bindingTo("a", "cowboys", [accepted])),
  object: (test: TestServer) => post(test, configMaps, { metadata: { name: "x" } }),
};

type Step = keyof typeof steps;

function* orders(left: readonly Step[]): Generator<readonly Step[]> {
  if (left.length === 0) yield [];
  for (const first of left)
    for (const rest of orders(left.filter((one) => one !== first))) yield [first, ...rest];
}

async function started(): Promise<TestServer> {
  const test = await TestServer.start();
  await post(test, "/clusters/b/api/v1/namespaces", { metadata: { name: "default" } });
  return test;
}

async function isLabelled(test: TestServer, name = "x"): Promise<boolean> {
  const { metadata } = await test.requestOk("GET", `${configMaps}/${name}`, masters);
  return Object.keys(metadata.labels ?? {}).some((label) => claimLabel.test(label));
}

async function seen(test: TestServer): Promise<readonly (string | undefined)[]> {
  const response = await test.get(view, masters);
  if (response.status !== 200) return [];
  const { items } = response.object as unknown as { items: AnyObject[] };
  return items.map(({ metadata }) => metadata.name);
}

async function condition(test: TestServer): Promise<string | undefined> {
  const { conditions = [] } = (await binding(test, "b"))["status"] as {
    conditions?: { type: string; status: string }[];
  };
  return conditions.find(({ type }) => type === "PermissionClaimsApplied")?.status;
}

function answer(test: TestServer, permissionClaims: object[]): Promise<unknown> {
  const path = `${apis("b")}/apibindings/cowboys`;
  return test.patch(path, "merge", { spec: { permissionClaims } }, masters);
}

function claimed(test: TestServer, permissionClaims: object[]): Promise<unknown> {
  const path = `${apis("a")}/apiexports/cowboys`;
  return test.patch(path, "merge", { spec: { permissionClaims } }, masters);
}

async function applied(test: TestServer): Promise<void> {
  await until(test, "claims are applied", async () => (await condition(test)) === "True");
}

describe("an accepted permission claim reaches an object", () => {
  const all: readonly Step[] = ["schema", "export", "binding", "object"];
  for (const order of orders(all))
    for (const pause of [true, false])
      it(`when ${order.join(", ")} come in this order${pause ? ", each after the one before has had its effect" : ""}`, async () => {
        const test = await started();
        for (const step of order) {
          await steps[step](test);
          if (pause) await flushPendingWork(test);
        }
        await applied(test);
        assert.deepEqual(await seen(test), ["x"]);
        assert.ok(await isLabelled(test));
        await test.close();
      });

  it("whenever the condition PermissionClaimsApplied is True", async () => {
    const test = await started();
    for (const step of all) await steps[step](test);
    for (let turn = 0; turn < 50; turn++) {
      if ((await condition(test)) === "True") assert.ok(await isLabelled(test));
      await new Promise((resolve) => setImmediate(resolve));
    }
    assert.equal(await condition(test), "True");
    await test.close();
  });
});

describe("the label of a permission claim follows", () => {
  async function bound(): Promise<TestServer> {
    const test = await started();
    for (const step of Object.values(steps)) await step(test);
    await applied(test);
    return test;
  }

  it("the acceptance, as often as it changes", async () => {
    const test = await bound();
    for (const claims of [[rejected], [accepted], [], [accepted], [rejected], [accepted]]) {
      await answer(test, claims);
      const isWanted = claims[0] === accepted;
      await until(test, "labels are right", async () => (await isLabelled(test)) === isWanted);
    }
    // No reconcile in between is waited for: the last state counts.
    for (const claims of [[rejected], [accepted], [rejected], [accepted]])
      await answer(test, claims);
    await until(test, "the answer has its effect", async () => isLabelled(test));
    await applied(test);
    assert.ok(await isLabelled(test));
    await test.close();
  });

  it("the claims of the export, as often as they change", async () => {
    const test = await bound();
    for (const claims of [[], [claim], [], [claim]]) {
      await claimed(test, claims);
      await until(test, "right", async () => (await isLabelled(test)) === claims.length > 0);
    }
    await applied(test);
    assert.deepEqual(await seen(test), ["x"]);
    await test.close();
  });

  it("the export that is created again, also on objects that were created while it was missing", async () => {
    const test = await bound();
    await test.requestOk("DELETE", `${apis("a")}/apiexports/cowboys`, masters);
    await flushPendingWork(test);
    await post(test, configMaps, { metadata: { name: "meanwhile" } });
    await flushPendingWork(test);
    await steps.export(test);
    await until(test, "both are seen", async () => (await seen(test)).length === 2);
    await test.close();
  });

  it("the bindings also where a write bypassed admission, or was admitted by an earlier binding", async () => {
    const test = await bound();
    const cluster = "b" as ClusterName;
    const key = objectKey({
      group: "",
      resource: "configmaps",
      identity: "",
      cluster,
      namespace: "default",
      name: "x",
    });
    const signal = new AbortController().signal;
    const entry = await test.storage.get(key, { signal });
    assert.ok(entry !== undefined);
    const object = decodeObject(entry);
    const { labels, ...metadata } = object["metadata"] as { labels?: object };
    assert.notEqual(labels, undefined);
    const value = encodeObject({ ...object, metadata });
    const write = { key, value, expected: entry.modifiedAt };
    await test.storage.commit(write, { signal });
    await until(test, "it is labelled again", () => isLabelled(test));
    await test.close();
  });
});
