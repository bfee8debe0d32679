/**
 * Goal: every conflict between workspaces that share an API is reported in a condition, loses no
 * object, and is resolved when the cause is removed.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { AnyObject } from "@kcp-ts/apiserver/testing";
import { TestServer } from "../testing/index.ts";
import {
  apis,
  bind,
  binding,
  bindingTo,
  cowboy,
  cowboyExport,
  cowboySchema,
  offer,
  until,
} from "./test-support/cowboys.ts";

const masters = { user: "masters" } as const;
const inDefault = "/apis/wildwest.dev/v1alpha1/namespaces/default/cowboys";
const schemas = `${apis("provider", "v1alpha1")}/apiresourceschemas`;
const exported = `${apis("provider")}/apiexports/cowboys`;

async function started(): Promise<TestServer> {
  const test = await TestServer.start();
  for (const cluster of ["consumer", "provider"])
    await test.requestOk("POST", `/clusters/${cluster}/api/v1/namespaces`, {
      ...masters,
      body: { metadata: { name: "default" } },
    });
  return test;
}

function conditionIn(object: AnyObject, type: string): string {
  const { conditions = [] } = object["status"] as {
    conditions?: { type: string; status: string; reason?: string }[];
  };
  const found = conditions.find((one) => one.type === type);
  return found === undefined ? "" : `${found.status} ${found.reason ?? ""}`.trim();
}

const says = (test: TestServer, type: string, text: string, name = "cowboys") =>
  until(test, `${type} is ${text}`, async () =>
    conditionIn(await binding(test, "consumer", name), type).startsWith(text),
  );

const definition = {
  apiVersion: "apiextensions.k8s.io/v1",
  kind: "CustomResourceDefinition",
  metadata: { name: "cowboys.wildwest.dev" },
  spec: {
    group: "wildwest.dev",
    names: { plural: "cowboys", singular: "cowboy", kind: "Cowboy", listKind: "CowboyList" },
    scope: "Namespaced",
    versions: [
      {
        name: "v1alpha1",
        served: true,
        storage: true,
        schema: {
          openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
        },
      },
    ],
  },
};
const definitions = "/clusters/consumer/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

describe("a CRD and a binding of one name", () => {
  it("the CRD is older: the binding reports the conflict, binds nothing, and gets the name when it is free", async () => {
    const test = await started();
    await test.requestOk("POST", definitions, { ...masters, body: definition });
    await until(test, "the definition is served", async () => {
      const { status } = await test.get(`/clusters/consumer${inDefault}`, masters);
      return status === 200;
    });
    await test.requestOk("POST", `/clusters/consumer${inDefault}`, {
      ...masters,
      body: cowboy("own"),
    });
    await offer(test, "provider");
    const made = await bind(test, "consumer", "provider");
    assert.equal(conditionIn(made, "InitialBindingCompleted"), "False NamingConflicts");
    assert.equal((await test.get(`/clusters/consumer${inDefault}/own`, masters)).status, 200);
    await test.requestOk("DELETE", `${definitions}/cowboys.wildwest.dev`, masters);
    await says(test, "InitialBindingCompleted", "True");
    const after = await test.requestOk("GET", `/clusters/consumer${inDefault}`, masters);
    assert.deepEqual(after.items, []);
    await test.close();
  });

  it("the binding is older: its API stays served, and the CRD's API is served when the binding is deleted", async () => {
    const test = await started();
    await offer(test, "provider");
    await bind(test, "consumer", "provider");
    await test.requestOk("POST", `/clusters/consumer${inDefault}`, {
      ...masters,
      body: cowboy("bound"),
    });
    await test.requestOk("POST", definitions, { ...masters, body: definition });
    await says(test, "BindingUpToDate", "True");
    const during = await test.requestOk("GET", `/clusters/consumer${inDefault}`, masters);
    assert.deepEqual(
      during.items?.map(({ metadata }) => metadata.name),
      ["bound"],
    );
    await test.requestOk("DELETE", `${apis("consumer")}/apibindings/cowboys`, masters);
    await until(test, "the definition is served", async () => {
      const answer = await test.get(`/clusters/consumer${inDefault}`, masters);
      return answer.status === 200 && answer.items.length === 0;
    });
    await test.requestOk("POST", `/clusters/consumer${inDefault}`, {
      ...masters,
      body: cowboy("own"),
    });
    await test.close();
  });
});

describe("two exports of one group", () => {
  it("with different resources are bound side by side, in one group", async () => {
    const test = await started();
    await offer(test, "provider");
    const horses = cowboySchema("today");
    const body = {
      ...horses,
      metadata: { name: "today.horses.wildwest.dev" },
      spec: {
        ...horses.spec,
        names: { plural: "horses", singular: "horse", kind: "Horse", listKind: "HorseList" },
      },
    };
    const at = (version: string) => apis("stable", version);
    await test.requestOk("POST", `${at("v1alpha1")}/apiresourceschemas`, { ...masters, body });
    const resources = [
      { name: "horses", group: "wildwest.dev", schema: "today.horses.wildwest.dev" },
    ];
    await test.requestOk("POST", `${at("v1alpha2")}/apiexports`, {
      ...masters,
      body: cowboyExport("today", { resources }, "horses"),
    });
    await bind(test, "consumer", "provider");
    const second = {
      ...bindingTo("stable", "horses"),
      spec: { reference: { export: { path: "stable", name: "horses" } } },
    };
    await test.requestOk("POST", `${apis("consumer")}/apibindings`, { ...masters, body: second });
    await says(test, "InitialBindingCompleted", "True", "horses");
    const found = await test.requestOk(
      "GET",
      "/clusters/consumer/apis/wildwest.dev/v1alpha1",
      masters,
    );
    const names = (found["resources"] as { name: string }[]).map(({ name }) => name);
    assert.deepEqual(names.filter((name) => !name.includes("/")).sort(), ["cowboys", "horses"]);
    await test.requestOk("DELETE", `${apis("consumer")}/apibindings/horses`, masters);
    await until(test, "one of them is gone", async () => {
      const { status } = await test.get(
        "/clusters/consumer/apis/wildwest.dev/v1alpha1/horses",
        masters,
      );
      return status === 404;
    });
    assert.equal((await test.get(`/clusters/consumer${inDefault}`, masters)).status, 200);
    await test.close();
  });
});

describe("an export that is deleted before its bindings", () => {
  it("is missing in a condition, its objects stay, and belong to it again when it is recreated with its key", async () => {
    const test = await started();
    await offer(test, "provider");
    await bind(test, "consumer", "provider");
    await test.requestOk("POST", `/clusters/consumer${inDefault}`, {
      ...masters,
      body: cowboy("kept"),
    });
    await test.requestOk("DELETE", exported, masters);
    await says(test, "APIExportValid", "False APIExportNotFound");
    assert.equal(conditionIn(await binding(test, "consumer"), "Ready"), "True");
    assert.equal((await test.get(`/clusters/consumer${inDefault}/kept`, masters)).status, 200);
    const view =
      "/services/apiexport/provider/cowboys/clusters/*/apis/wildwest.dev/v1alpha1/cowboys";
    assert.equal((await test.get(view, masters)).status, 403);
    const again = { ...masters, body: cowboyExport("today") };
    await test.requestOk("POST", `${apis("provider")}/apiexports`, again);
    await says(test, "APIExportValid", "True");
    const seen = await test.requestOk("GET", view, masters);
    assert.equal(seen.items?.[0]?.metadata.name, "kept");
    await test.close();
  });

  it("that lacks a schema removes none: the binding keeps its schemas and reports the missing one", async () => {
    const test = await started();
    await offer(test, "provider");
    await bind(test, "consumer", "provider");
    const { spec } = cowboyExport("tomorrow");
    await test.patch(exported, "merge", { spec }, masters);
    await says(test, "BindingUpToDate", "False APIResourceSchemaInvalid");
    await test.requestOk("POST", `/clusters/consumer${inDefault}`, {
      ...masters,
      body: cowboy("x"),
    });
    await test.requestOk("POST", schemas, { ...masters, body: cowboySchema("tomorrow") });
    await says(test, "BindingUpToDate", "True");
    await test.close();
  });
});

describe("endpoint slices of an export", () => {
  it("list the endpoint of its consumers under every name and in every workspace, as long as there are consumers", async () => {
    const test = await started();
    await offer(test, "provider");
    const slices = (cluster: string) => `${apis(cluster, "v1alpha1")}/apiexportendpointslices`;
    const spec = { export: { path: "provider", name: "cowboys" } };
    for (const cluster of ["provider", "observer"])
      await test.requestOk("POST", slices(cluster), {
        ...masters,
        body: { metadata: { name: "mine" }, spec },
      });
    const endpoints = async (path: string) => {
      const { status } = await test.requestOk("GET", path, masters);
      return (status as { endpoints?: unknown[] } | undefined)?.endpoints?.length ?? 0;
    };
    const all = [
      `${slices("provider")}/cowboys`,
      `${slices("provider")}/mine`,
      `${slices("observer")}/mine`,
    ];
    const each = (count: number) =>
      until(test, `each has ${count} endpoints`, async () => {
        for (const path of all) if ((await endpoints(path)) !== count) return false;
        return true;
      });
    await each(0);
    await bind(test, "consumer", "provider");
    await each(1);
    await test.requestOk("DELETE", `${apis("consumer")}/apibindings/cowboys`, masters);
    await each(0);
    await test.close();
  });
});

describe("a schema that stored objects violate", () => {
  it("serves the stored objects as they are, rejects invalid writes of them, and accepts corrected ones", async () => {
    const test = await started();
    await offer(test, "provider");
    await bind(test, "consumer", "provider");
    const at = `/clusters/consumer${inDefault}/old`;
    await test.requestOk("POST", `/clusters/consumer${inDefault}`, {
      ...masters,
      body: cowboy("old"),
    });
    const strict = { intent: { type: "string", enum: ["rest"] } };
    await test.requestOk("POST", schemas, { ...masters, body: cowboySchema("strict", strict) });
    await test.patch(exported, "merge", { spec: cowboyExport("strict").spec }, masters);
    await until(test, "the new schema holds", async () => {
      const { status } = await test.request("POST", `/clusters/consumer${inDefault}?dryRun=All`, {
        ...masters,
        body: cowboy("new"),
      });
      return status === 422;
    });
    const shown = await test.requestOk("GET", at, masters);
    assert.deepEqual(shown["spec"], { intent: "ride" });
    const listed = await test.requestOk("GET", `/clusters/consumer${inDefault}`, masters);
    assert.equal(listed.items?.length, 1);
    // An unchanged invalid field may stay while another field changes.
    const labels = { metadata: { labels: { seen: "yes" } } };
    assert.equal((await test.patch(at, "merge", labels, masters)).status, 200);
    const worse = await test.patch(at, "merge", { spec: { intent: "fight" } }, masters);
    assert.equal(worse.status, 422);
    assert.match(worse.text, /spec.intent/);
    const mended = await test.patch(at, "merge", { spec: { intent: "rest" } }, masters);
    assert.equal(mended.status, 200);
    await test.requestOk("DELETE", at, masters);
    await test.close();
  });
});

describe("the virtual workspace of a terminator", () => {
  it("shows workspaces that are being deleted, lets its controller work there, and releases them when the controller is done", async () => {
    const test = await started();
    await test.server.bootstrap("https://kcp.example.com");
    const tenancy = "/clusters/root/apis/tenancy.kcp.io/v1alpha1";
    for (const name of ["slow", "slower"]) {
      const extended = name === "slow" ? "universal" : "slow";
      const extend = { with: [{ name: extended, path: "root" }] };
      const body = { metadata: { name }, spec: { extend, terminator: true } };
      await test.requestOk("POST", `${tenancy}/workspacetypes`, { ...masters, body });
    }
    const type = { name: "slower", path: "root" };
    const annotations = { "experimental.tenancy.kcp.io/owner": '{"username":"a"}' };
    const made = await test.requestOk("POST", `${tenancy}/workspaces`, {
      ...masters,
      body: { metadata: { name: "team", annotations }, spec: { type } },
    });
    const { cluster } = made["spec"] as { cluster: string };
    const logicalClusters = "/apis/core.kcp.io/v1alpha1/logicalclusters";
    const view = (id: string) => `/services/terminatingworkspaces/root:${id}/clusters`;
    const listed = async (id: string) =>
      (await test.requestOk("GET", `${view(id)}/*${logicalClusters}`, masters)).items?.length;
    assert.equal(await listed("slow"), 0);
    const closed = await test.get(`${view("slow")}/${cluster}/api/v1/namespaces`, masters);
    assert.equal(closed.status, 403);
    const query =
      "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true";
    const watch = await test.watch(`${view("slow")}/*${logicalClusters}?${query}`, masters);
    assert.equal((await watch.next())?.type, "BOOKMARK");
    await test.requestOk("DELETE", `${tenancy}/workspaces/team`, masters);
    assert.equal((await watch.next())?.type, "MODIFIED");
    for (const id of ["slow", "slower"]) assert.equal(await listed(id), 1);
    const inside = `${view("slow")}/${cluster}/api/v1/namespaces/default/configmaps`;
    assert.equal((await test.get(inside, masters)).status, 200);
    assert.equal((await test.get(inside, { user: "a" })).status, 403);
    for (const id of ["slow", "slower"]) {
      const at = `${view(id)}/${cluster}${logicalClusters}/cluster`;
      const object = await test.requestOk("GET", at, masters);
      const status = object["status"] as { terminators: string[] };
      const put = (terminators: string[]) =>
        test.request("PUT", `${at}/status`, {
          ...masters,
          body: { ...object, status: { ...status, terminators } },
        });
      assert.equal((await put([])).status, id === "slow" ? 422 : 200);
      if (id === "slower") continue;
      const left = status.terminators.filter((one) => one !== "root:slow");
      assert.equal((await put(left)).status, 200);
    }
    let last = await watch.next();
    while (last !== undefined && last.type === "MODIFIED") last = await watch.next();
    assert.equal(last?.type, "DELETED");
    await watch.leave();
    await until(test, "the workspace is gone", async () => {
      const { status } = await test.get(`${tenancy}/workspaces/team`, masters);
      return status === 404;
    });
    await test.close();
  });
});
