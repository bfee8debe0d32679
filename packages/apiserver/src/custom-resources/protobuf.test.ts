/** Definitions of kinds that are compiled into Go clients accept the protobuf of such clients. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import {
  type AnyObject,
  envelope,
  established,
  install,
  type Proto,
  TestServer,
} from "../testing/index.ts";
import { cronTabs } from "./test-support/definitions.ts";

const headers = { "content-type": "application/vnd.kubernetes.protobuf" };
const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

let server: TestServer;
before(async () => {
  server = await TestServer.start();
});
after(() => server.close());

function standIn(group: string, kind: string, plural: string, options: object = {}): AnyObject {
  const names = { plural, singular: kind.toLowerCase(), kind, shortNames: [] };
  const definition = cronTabs({ group, names, schema: anything, ...options });
  const annotations = { "api-approved.kubernetes.io": "unapproved, for a test" };
  return { ...definition, metadata: { ...(definition["metadata"] as object), annotations } };
}

const pathOf = (group: string, version: string, plural: string) =>
  `/clusters/a/${group === "" ? "api" : `apis/${group}`}/${version}/namespaces/default/${plural}`;

/** Metadata as Go encodes it: empty strings and a zero time are present. */
const metadata = (name: string): Proto => [
  [1, name],
  [2, ""],
  [3, "default"],
  [8, [] as Proto],
];

const kinds: readonly [group: string, version: string, kind: string, plural: string][] = [
  ["apps", "v1", "Deployment", "deployments"],
  ["apps", "v1", "ReplicaSet", "replicasets"],
  ["apps", "v1", "StatefulSet", "statefulsets"],
  ["apps", "v1", "DaemonSet", "daemonsets"],
  ["", "v1", "Pod", "pods"],
  ["", "v1", "Service", "services"],
  ["batch", "v1", "Job", "jobs"],
  ["batch", "v1", "CronJob", "cronjobs"],
  ["networking.k8s.io", "v1", "Ingress", "ingresses"],
  ["", "v1", "PersistentVolumeClaim", "persistentvolumeclaims"],
  ["", "v1", "Node", "nodes"],
  ["autoscaling", "v1", "HorizontalPodAutoscaler", "horizontalpodautoscalers"],
  ["discovery.k8s.io", "v1", "EndpointSlice", "endpointslices"],
];

describe("protobuf of kinds that custom definitions serve", () => {
  for (const [group, version, kind, plural] of kinds) {
    it(`is accepted for a ${kind}`, async () => {
      await install(server, standIn(group, kind, plural));
      const apiVersion = group === "" ? version : `${group}/${version}`;
      const body = envelope(apiVersion, kind, [[1, metadata("one")]]);
      const created = await server.requestOk("POST", pathOf(group, version, plural), {
        body,
        headers,
      });
      assert.equal(created.kind, kind);
      assert.equal(created.apiVersion, apiVersion);
      assert.equal((created["metadata"] as AnyObject)["name"], "one");
    });
  }

  it("is decoded completely, without the zero values that JSON omits, and pruned", async () => {
    const schema = {
      type: "object",
      properties: {
        spec: {
          type: "object",
          properties: { replicas: { type: "integer", minimum: 1 }, template: anything },
        },
      },
    };
    await install(server, standIn("apps", "Deployment", "deployments", { schema }), "b");
    const container: Proto = [
      [1, "main"],
      [2, "nginx:1"],
      [14, "Always"],
    ];
    const template: Proto = [
      [1, []],
      [2, [[2, container]]],
    ];
    const spec = (replicas: number): Proto => [
      [1, replicas],
      [3, template],
      [5, 0],
      [7, 0],
    ];
    const deployment = (replicas: number, resourceVersion = "") =>
      envelope("apps/v1", "Deployment", [
        [1, [...metadata("web"), [6, resourceVersion]]],
        [2, spec(replicas)],
        [3, []],
      ]);
    const path = "/clusters/b/apis/apps/v1/namespaces/default/deployments";
    const created = await server.requestOk("POST", path, { body: deployment(3), headers });
    const { resourceVersion } = created["metadata"] as { resourceVersion: string };
    const taken = await server.requestOk("PUT", `${path}/web`, {
      body: deployment(4, resourceVersion),
      headers,
    });
    const { resourceVersion: latest } = taken["metadata"] as { resourceVersion: string };
    const { replicas, template: stored, ...rest } = taken["spec"] as AnyObject;
    assert.equal(replicas, 4);
    assert.deepEqual(rest, {});
    const { containers } = (stored as { spec: { containers: AnyObject[] } }).spec;
    assert.deepEqual(containers?.[0]?.["image"], "nginx:1");
    const refused = await server.request("PUT", `${path}/web`, {
      body: deployment(-1, latest),
      headers,
    });
    assert.equal(refused.status, 422, refused.text);
  });

  it("cannot express empty lists: a required list is empty, and the schema alone decides whether it may be", async () => {
    const podSpec = (containers: object) => ({
      type: "object",
      required: ["containers"],
      properties: { containers: { type: "array", items: anything, ...containers } },
    });
    const definition = (containers: object) => {
      const template = { type: "object", properties: { spec: podSpec(containers) } };
      const spec = { type: "object", properties: { template } };
      const schema = { type: "object", properties: { spec } };
      return standIn("apps", "Deployment", "deployments", { schema });
    };
    await install(server, definition({}), "c");
    await install(server, definition({ minItems: 1 }), "d");
    const body = envelope("apps/v1", "Deployment", [
      [1, metadata("web")],
      [2, [[3, [[2, []]]]]],
    ]);
    const path = (cluster: string) =>
      `/clusters/${cluster}/apis/apps/v1/namespaces/default/deployments`;
    const created = await server.requestOk("POST", path("c"), { body, headers });
    assert.deepEqual(created["spec"], { template: { spec: { containers: [] } } });
    const { managedFields } = created["metadata"] as AnyObject;
    assert.notDeepEqual(managedFields, []);
    const refused = await server.request("POST", path("d"), { body, headers });
    assert.equal(refused.status, 422, refused.text);
    assert.match(refused.text, /should have at least 1 items/);
  });

  it("is rejected for other custom kinds, and for versions that clients do not have", async () => {
    await install(server, cronTabs());
    const body = envelope("stable.example.com/v1", "CronTab", [[1, metadata("one")]]);
    const own = await server.request("POST", pathOf("stable.example.com", "v1", "crontabs"), {
      body,
      headers,
    });
    assert.equal(own.status, 415);
    await install(server, standIn("apps", "Gadget", "gadgets"));
    const unknown = await server.request("POST", pathOf("apps", "v1", "gadgets"), {
      body: envelope("apps/v1", "Gadget", [[1, metadata("one")]]),
      headers,
    });
    assert.equal(unknown.status, 415);
  });

  it("is rejected when it is malformed", async () => {
    const body = envelope("apps/v1", "Deployment", [[1, metadata("one")]]).subarray(0, 30);
    const path = pathOf("apps", "v1", "deployments");
    const answer = await server.request("POST", path, { body, headers });
    assert.equal(answer.status, 400, answer.text);
  });
});

describe("a definition in protobuf", () => {
  const json = (text: string): Proto => [[1, text]];

  it("keeps defaults that are empty: a text, a list, and members of an object", async () => {
    const property = (name: string, type: string, value: string, more: Proto = []): Proto => [
      [1, name],
      [2, [[5, type], [8, json(value)], ...more]],
    ];
    const properties: Proto = [
      [29, property("mode", "string", '""')],
      [29, property("tags", "array", "[]", [[24, [[1, [[5, "string"]]]]]])],
      [29, property("options", "object", '{"prefix":"","args":[]}', [[38, 1]])],
    ];
    const names: Proto = [
      [1, "sheets"],
      [4, "Sheet"],
    ];
    const version: Proto = [
      [1, "v1"],
      [2, 1],
      [3, 1],
      [4, [[1, [[5, "object"], ...properties]]]],
    ];
    const body = envelope("apiextensions.k8s.io/v1", "CustomResourceDefinition", [
      [1, [[1, "sheets.example.com"]]],
      [
        2,
        [
          [1, "example.com"],
          [3, names],
          [4, "Namespaced"],
          [7, version],
        ],
      ],
    ]);
    const definitions = "/clusters/e/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    const created = await server.requestOk("POST", definitions, { body, headers });
    assert.match(JSON.stringify(created["spec"]), /"default":\{"prefix":"","args":\[\]\}/);
    const sheets = "/clusters/e/apis/example.com/v1/namespaces/default/sheets";
    await established(server, "sheets.example.com", "e");
    const sheet = { apiVersion: "example.com/v1", kind: "Sheet", metadata: { name: "one" } };
    const { mode, tags, options } = await server.requestOk("POST", sheets, { body: sheet });
    assert.deepEqual(
      { mode, tags, options },
      { mode: "", tags: [], options: { prefix: "", args: [] } },
    );
  });
});

describe("an empty text in protobuf", () => {
  it("is a value where Go has a pointer: the storage class of a claim that wants none", async () => {
    const path = pathOf("", "v1", "persistentvolumeclaims").replace("/clusters/a/", "/clusters/f/");
    const spec = { type: "object", properties: { storageClassName: { type: "string" } } };
    const schema = { type: "object", properties: { spec } };
    await install(
      server,
      standIn("", "PersistentVolumeClaim", "persistentvolumeclaims", { schema }),
      "f",
    );
    const body = envelope("v1", "PersistentVolumeClaim", [
      [1, metadata("data")],
      [
        2,
        [
          [3, ""],
          [5, ""],
        ],
      ],
    ]);
    const created = await server.requestOk("POST", path, { body, headers });
    assert.deepEqual(created["spec"], { storageClassName: "" });
  });
});
