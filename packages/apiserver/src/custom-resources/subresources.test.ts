/** The status and scale subresources of custom kinds, their columns, selectors and patches. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { install, TestServer } from "../testing/index.ts";
import { cronTabs } from "./test-support/definitions.ts";

const path = "/clusters/a/apis/stable.example.com/v1/namespaces/default/crontabs";
const one = `${path}/one`;

let server: TestServer;
before(async () => {
  server = await TestServer.start();
  const schema = {
    type: "object",
    properties: {
      spec: {
        type: "object",
        properties: {
          replicas: { type: "integer" },
          color: { type: "string", default: "red" },
          items: {
            type: "array",
            items: {
              type: "object",
              properties: { type: { type: "string" }, value: { type: "string" } },
            },
          },
        },
      },
      status: {
        type: "object",
        properties: { replicas: { type: "integer", maximum: 5 }, selector: { type: "string" } },
      },
    },
  };
  const version = {
    subresources: {
      status: {},
      scale: {
        specReplicasPath: ".spec.replicas",
        statusReplicasPath: ".status.replicas",
        labelSelectorPath: ".status.selector",
      },
    },
    selectableFields: [{ jsonPath: ".spec.color" }, { jsonPath: ".spec.replicas" }],
    additionalPrinterColumns: [
      { name: "Replicas", type: "integer", jsonPath: ".spec.replicas" },
      {
        name: "Ready",
        type: "string",
        jsonPath: '.spec.items[?(@.type=="Ready")].value',
        priority: 1,
      },
      { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
    ],
  };
  await install(server, cronTabs({ schema, version }));
  await server.requestOk("POST", path, {
    body: {
      metadata: { name: "one" },
      spec: { replicas: 2, items: [{ type: "Ready", value: "yes" }] },
      status: { replicas: 1 },
    },
  });
});
after(() => server.close());

describe("the status", () => {
  it("is not set by creating, nor by updating the object", async () => {
    const created = await server.requestOk("GET", one);
    assert.ok(!Object.hasOwn(created, "status"));
    const updated = await server.requestOk("PUT", one, {
      body: { ...created, status: { replicas: 3 } },
    });
    assert.ok(!Object.hasOwn(updated, "status"));
    assert.equal(updated.metadata["generation"], 1);
  });

  it("is set by its own subresource, which changes nothing else", async () => {
    const old = await server.requestOk("GET", one);
    const body = {
      ...old,
      metadata: { ...old.metadata, labels: { a: "b" } },
      spec: { replicas: 9 },
      status: { replicas: 3, selector: "app=x" },
    };
    const updated = await server.requestOk("PUT", `${one}/status`, { body });
    assert.deepEqual(updated["spec"], old["spec"]);
    assert.equal(updated.metadata.labels, undefined);
    assert.deepEqual(updated["status"], { replicas: 3, selector: "app=x" });
    assert.equal(updated.metadata["generation"], 1);
  });

  it("is validated by its own schema", async () => {
    const answer = await server.patch(`${one}/status`, "merge", { status: { replicas: 6 } });
    assert.equal(answer.status, 422);
    assert.match(
      answer.object.message ?? "",
      /status\.replicas: Invalid value: 6: replicas in body should be less than or equal to 5/,
    );
  });
});

describe("the scale", () => {
  it("shows the replicas", async () => {
    const scale = await server.requestOk("GET", `${one}/scale`);
    assert.equal(scale.kind, "Scale");
    assert.equal(scale.apiVersion, "autoscaling/v1");
    assert.deepEqual(scale["spec"], { replicas: 2 });
    assert.deepEqual(scale["status"], { replicas: 3, selector: "app=x" });
    assert.equal(scale.metadata.name, "one");
  });

  it("sets the replicas, by update and by patch", async () => {
    const scale = await server.requestOk("GET", `${one}/scale`);
    const updated = await server.requestOk("PUT", `${one}/scale`, {
      body: { ...scale, spec: { replicas: 4 } },
    });
    assert.deepEqual(updated["spec"], { replicas: 4 });
    const stale = await server.request("PUT", `${one}/scale`, { body: scale });
    assert.equal(stale.status, 409);
    const patched = await server.patch(`${one}/scale`, "merge", { spec: { replicas: 5 } });
    assert.deepEqual(patched.object["spec"], { replicas: 5 });
    const object = await server.requestOk("GET", one);
    assert.equal((object["spec"] as { replicas: number }).replicas, 5);
    assert.equal(object.metadata["generation"], 3);
  });

  it("cannot be negative", async () => {
    const answer = await server.patch(`${one}/scale`, "merge", { spec: { replicas: -1 } });
    assert.equal(answer.status, 422);
    assert.match(
      answer.object.message ?? "",
      /spec\.replicas: Invalid value: -1: should be a non-negative integer/,
    );
  });

  it("of an object without replicas cannot be read, nor patched without replicas, but set", async () => {
    await server.requestOk("POST", path, { body: { metadata: { name: "none" }, spec: {} } });
    const scale = `${path}/none/scale`;
    const shown = await server.get(scale);
    assert.equal(shown.status, 500);
    assert.match(shown.text, /the spec replicas field \\"\.spec\.replicas\\" does not exist/);
    const patched = await server.patch(scale, "merge", { metadata: { name: "none" } });
    assert.equal(patched.status, 400);
    assert.equal(
      patched.object.message,
      'the spec replicas field ".spec.replicas" cannot be empty',
    );
    const set = await server.patch(scale, "merge", { spec: { replicas: 3 } });
    assert.deepEqual(set.object["spec"], { replicas: 3 });
    await server.requestOk("DELETE", `${path}/none`);
  });

  it("is a kind of another group in discovery", async () => {
    const { resources } = await server.requestOk("GET", "/clusters/a/apis/stable.example.com/v1");
    const scale = (resources as { name: string }[]).find(({ name }) => name === "crontabs/scale");
    assert.deepEqual(scale, {
      name: "crontabs/scale",
      singularName: "",
      namespaced: true,
      kind: "Scale",
      group: "autoscaling",
      version: "v1",
      verbs: ["get", "patch", "update"],
    });
  });
});

describe("tables and selectors", () => {
  it("have the columns of the definition", async () => {
    const { object } = await server.get(path, {
      headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
    });
    const { columnDefinitions, rows } = object as unknown as {
      columnDefinitions: { name: string; priority: number }[];
      rows: { cells: unknown[] }[];
    };
    assert.deepEqual(
      columnDefinitions.map(({ name }) => name),
      ["Name", "Replicas", "Ready", "Age"],
    );
    assert.deepEqual(rows[0]?.cells.slice(0, 3), ["one", 5, "yes"]);
  });

  it("select fields by their values, defaults included", async () => {
    await server.requestOk("POST", path, {
      body: { metadata: { name: "two" }, spec: { color: "blue" } },
    });
    const names = async (selector: string) =>
      (await server.get(`${path}?fieldSelector=${encodeURIComponent(selector)}`)).names;
    assert.deepEqual(await names("spec.color=blue"), ["two"]);
    assert.deepEqual(await names("spec.color=red"), ["one"]);
    assert.deepEqual(await names("spec.replicas=5"), ["one"]);
    assert.deepEqual(await names("spec.replicas="), ["two"]);
    const unknown = await server.get(`${path}?fieldSelector=spec.other%3Dx`);
    assert.equal(unknown.status, 400);
    assert.equal(unknown.object.message, "field label not supported: spec.other");
    const watch = await server.watch(`${path}?watch=1&fieldSelector=spec.color%3Dblue`);
    assert.equal((await watch.take(1))[0]?.object.metadata.name, "two");
    await server.patch(`${path}/two`, "merge", { spec: { color: "green" } });
    assert.equal((await watch.take(1))[0]?.type, "DELETED");
    await watch.leave();
  });
});

describe("workload kinds with custom definitions", () => {
  it("have the columns of kubectl", async () => {
    const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
    const names = {
      plural: "statefulsets",
      singular: "statefulset",
      kind: "StatefulSet",
      shortNames: ["sts"],
    };
    await install(server, cronTabs({ group: "apps", names, schema }));
    const sets = "/clusters/a/apis/apps/v1/namespaces/default/statefulsets";
    const template = { spec: { containers: [{ name: "c", image: "i:1" }] } };
    await server.requestOk("POST", sets, {
      body: {
        metadata: { name: "s" },
        spec: { replicas: 15, template },
        status: { readyReplicas: 8 },
      },
    });
    const { object } = await server.get(sets, {
      headers: { accept: "application/json;as=Table;v=v1;g=meta.k8s.io" },
    });
    const { columnDefinitions, rows } = object as unknown as {
      columnDefinitions: { name: string }[];
      rows: { cells: unknown[] }[];
    };
    assert.deepEqual(
      columnDefinitions.map(({ name }) => name),
      ["Name", "Ready", "Age", "Containers", "Images"],
    );
    assert.deepEqual(rows[0]?.cells, ["s", "8/15", "0s", "c", "i:1"]);
  });
});

describe("patches", () => {
  it("of type strategic merge require kinds with merge keys", async () => {
    const answer = await server.patch(one, "strategic", { spec: { replicas: 1 } });
    assert.equal(answer.status, 415);
    assert.match(
      answer.object.message ?? "",
      /application\/json-patch\+json, application\/merge-patch\+json, application\/apply-patch\+yaml/,
    );
  });

  it("of kinds of built-in groups merge by the keys of their schema", async () => {
    const schema = {
      type: "object",
      properties: {
        spec: {
          type: "object",
          properties: {
            containers: {
              type: "array",
              "x-kubernetes-list-type": "map",
              "x-kubernetes-list-map-keys": ["name"],
              items: {
                type: "object",
                required: ["name"],
                properties: { name: { type: "string" }, image: { type: "string" } },
              },
            },
          },
        },
      },
    };
    const names = {
      plural: "deployments",
      singular: "deployment",
      kind: "Deployment",
      shortNames: ["deploy"],
    };
    await install(server, cronTabs({ group: "apps", names, schema }));
    const deployments = "/clusters/a/apis/apps/v1/namespaces/default/deployments";
    const containers = [
      { name: "a", image: "1" },
      { name: "b", image: "1" },
    ];
    await server.requestOk("POST", deployments, {
      body: { metadata: { name: "d" }, spec: { containers } },
    });
    const change = { spec: { containers: [{ name: "b", image: "2" }] } };
    const { object } = await server.patch(`${deployments}/d`, "strategic", change);
    assert.deepEqual((object["spec"] as { containers: unknown }).containers, [
      { name: "a", image: "1" },
      { name: "b", image: "2" },
    ]);
  });
});
