import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type AnyObject, TestServer } from "../testing/index.ts";

const base = "/clusters/a/api/v1";
const configmaps = `${base}/namespaces/default/configmaps`;
const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

describe("create", () => {
  let server: TestServer;
  before(async () => {
    server = await TestServer.start();
  });
  after(() => server.close());

  const create = (object: unknown, path = configmaps) =>
    server.request("POST", path, { body: object as object });

  it("responds 201 with the complete object, with system fields set by the server", async () => {
    const { status, object } = await create({
      apiVersion: "v1",
      kind: "ConfigMap",
      metadata: {
        name: "whole",
        uid: "mine",
        creationTimestamp: "2001-01-01T00:00:00Z",
        deletionTimestamp: "2001-01-01T00:00:00Z",
        deletionGracePeriodSeconds: 30,
        generation: 7,
        selfLink: "/x",
      },
      data: { k: "v" },
    });
    assert.equal(status, 201);
    const { uid, resourceVersion, ...metadata } = object.metadata;
    assert.match(uid ?? "", uuid);
    assert.match(resourceVersion ?? "", /^[1-9]\d*$/);
    assert.deepEqual(metadata, {
      name: "whole",
      namespace: "default",
      creationTimestamp: "2026-11-15T00:00:00Z",
      annotations: { "kcp.io/cluster": "a" },
      managedFields: [
        {
          manager: "unknown",
          operation: "Update",
          apiVersion: "v1",
          time: "2026-11-15T00:00:00Z",
          fieldsType: "FieldsV1",
          fieldsV1: { "f:data": { ".": {}, "f:k": {} } },
        },
      ],
    });
    assert.deepEqual(
      { kind: object.kind, apiVersion: object.apiVersion, data: object.data },
      { kind: "ConfigMap", apiVersion: "v1", data: { k: "v" } },
    );
  });

  it("takes kind and apiVersion from the path when the body has none", async () => {
    const { status, object } = await create({ metadata: { name: "kindless" } });
    assert.equal(status, 201);
    assert.equal(object.kind, "ConfigMap");
    assert.equal(object.apiVersion, "v1");
  });

  it("creates the default namespace with the first write, and no other namespace", async () => {
    const first = await server.get("/clusters/fresh/api/v1/namespaces");
    assert.deepEqual(first.names, []);
    const made = await create(
      { metadata: { name: "x" } },
      "/clusters/fresh/api/v1/namespaces/default/configmaps",
    );
    assert.equal(made.status, 201);
    assert.deepEqual((await server.get("/clusters/fresh/api/v1/namespaces")).names, ["default"]);
    const missing = await create(
      { metadata: { name: "x" } },
      "/clusters/fresh/api/v1/namespaces/other/configmaps",
    );
    assert.equal(missing.status, 404);
    assert.equal(missing.object.message, 'namespaces "other" not found');
    assert.equal(missing.object.reason, "NotFound");
    assert.deepEqual(missing.object.details, { name: "other", kind: "namespaces" });
  });

  it("concurrent first writes create one default namespace and all succeed", async () => {
    const path = "/clusters/crowded/api/v1/namespaces/default/configmaps";
    const answers = await Promise.all(
      Array.from({ length: 20 }, (_, i) => create({ metadata: { name: `x${i}` } }, path)),
    );
    assert.deepEqual([...new Set(answers.map(({ status }) => status))], [201]);
  });

  it("rejects content in a terminating namespace, with the cause that helm looks for", async () => {
    await server.requestOk("POST", `${base}/namespaces`, { body: { metadata: { name: "going" } } });
    await server.requestOk("DELETE", `${base}/namespaces/going`);
    const { status, object } = await create(
      { metadata: { name: "late" } },
      `${base}/namespaces/going/configmaps`,
    );
    assert.equal(status, 403);
    assert.equal(object.reason, "Forbidden");
    assert.equal(
      object.message,
      'configmaps "late" is forbidden: unable to create new content in namespace going because it is being terminated',
    );
    assert.deepEqual(object.details, {
      name: "late",
      kind: "configmaps",
      causes: [
        {
          reason: "NamespaceTerminating",
          message: "namespace going is being terminated",
          field: "metadata.namespace",
        },
      ],
    });
  });

  it("responds AlreadyExists, and says whether the existing object is being deleted", async () => {
    await create({ metadata: { name: "taken", finalizers: ["example.com/x"] } });
    const again = await create({ metadata: { name: "taken" } });
    assert.equal(again.status, 409);
    assert.equal(again.object.reason, "AlreadyExists");
    assert.equal(again.object.message, 'configmaps "taken" already exists');
    assert.deepEqual(again.object.details, { name: "taken", kind: "configmaps" });
    await server.requestOk("DELETE", `${configmaps}/taken`);
    const going = await create({ metadata: { name: "taken" } });
    assert.equal(going.status, 409);
    assert.equal(
      going.object.message,
      'object is being deleted: configmaps "taken" already exists',
    );
  });

  const refusals: [title: string, object: unknown, code: number, message: string | RegExp][] = [
    [
      "a resourceVersion",
      { metadata: { name: "x", resourceVersion: "5" } },
      500,
      "resourceVersion should not be set on objects to be created",
    ],
    [
      "another namespace than the path's",
      { metadata: { name: "x", namespace: "other" } },
      400,
      "the namespace of the provided object does not match the namespace sent on the request",
    ],
    [
      "no name",
      { metadata: {} },
      422,
      'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
    ],
    ["no metadata", {}, 422, /metadata.name: Required value: name or generateName is required/],
    [
      "another kind",
      { kind: "Secret", apiVersion: "v1", metadata: { name: "x" } },
      400,
      /^Secret in version "v1" cannot be handled as a ConfigMap/,
    ],
    [
      "another API version",
      { kind: "ConfigMap", apiVersion: "v2", metadata: { name: "x" } },
      400,
      "the API version in the data (v2) does not match the expected API version (v1)",
    ],
    [
      "a number where a text belongs",
      { metadata: { name: "x" }, data: { k: 1 } },
      400,
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal number into Go struct field ConfigMap.data of type string',
    ],
    [
      "metadata that is a list",
      { metadata: [] },
      400,
      /^ConfigMap in version "v1" cannot be handled as a ConfigMap: json: cannot unmarshal array into Go struct field ConfigMap.metadata of type/,
    ],
    ["a list as the whole body", [], 400, /cannot unmarshal array/],
    [
      "a bad name",
      { metadata: { name: "Bad_Name" } },
      422,
      `ConfigMap "Bad_Name" is invalid: metadata.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')`,
    ],
    [
      "a bad label",
      { metadata: { name: "x", labels: { k: "a b" } } },
      422,
      /^ConfigMap "x" is invalid: metadata.labels: Invalid value: "a b": a valid label must be an empty string or consist of/,
    ],
    [
      "a finalizer without a domain",
      { metadata: { name: "x", finalizers: ["foo"] } },
      422,
      /metadata.finalizers/,
    ],
  ];
  for (const [title, object, code, message] of refusals) {
    it(`rejects ${title}`, async () => {
      const answer = await create(object);
      assert.equal(answer.status, code, answer.text);
      assert.equal(answer.object.code, code);
      if (typeof message === "string") assert.equal(answer.object.message, message);
      else assert.match(answer.object.message ?? "", message);
    });
  }

  it("accepts annotations of 256 KiB in total and rejects one byte more", async () => {
    const bytesMax = 262144;
    const annotated = (bytes: number) => ({
      metadata: { name: `annotated-${bytes}`, annotations: { k: "x".repeat(bytes - 1) } },
    });
    const fits = await create(annotated(bytesMax));
    assert.equal(fits.status, 201, fits.text);
    const over = await create(annotated(bytesMax + 1));
    assert.equal(over.status, 422);
    assert.match(
      over.object.message ?? "",
      /metadata.annotations: Too long: may not be more than 262144 bytes$/,
    );
  });

  it("removes duplicate ownerReferences with a warning", async () => {
    const owner = { apiVersion: "v1", kind: "ConfigMap", name: "o", uid: "u1" };
    const answer = await create({
      metadata: { name: "owned", ownerReferences: [owner, { ...owner }, { ...owner, uid: "u2" }] },
    });
    assert.equal(answer.status, 201, answer.text);
    assert.deepEqual(answer.object.metadata["ownerReferences"], [owner, { ...owner, uid: "u2" }]);
    assert.equal(answer.warnings.length, 1);
    assert.match(
      answer.warnings[0] ?? "",
      /^299 - "\.metadata\.ownerReferences contains duplicate entries; .*UID\(s\) observed: u1"$/,
    );
  });

  it("rejects a POST to a name", async () => {
    const answer = await create({ metadata: { name: "x" } }, `${configmaps}/x`);
    assert.equal(answer.status, 405);
    assert.equal(
      answer.object.message,
      "the server does not allow this method on the requested resource",
    );
  });

  it("rejects a POST of a namespaced object without a namespace", async () => {
    const answer = await create({ metadata: { name: "x" } }, `${base}/configmaps`);
    assert.equal(answer.status, 405);
  });

  it("stores keys like __proto__ and constructor as data", async () => {
    const body = '{"metadata":{"name":"proto"},"data":{"__proto__":"p","constructor":"c"}}';
    const created = await server.request("POST", configmaps, { body });
    assert.equal(created.status, 201, created.text);
    const read = await server.get(`${configmaps}/proto`);
    assert.match(read.text, /"data":\{"__proto__":"p","constructor":"c"\}/);
    const secret = await server.request("POST", `${base}/namespaces/default/secrets`, {
      body: '{"metadata":{"name":"proto"},"stringData":{"__proto__":"p"}}',
    });
    assert.match(secret.text, /"data":\{"__proto__":"cA=="\}/);
    assert.equal(({} as { polluted?: unknown }).polluted, undefined);
  });

  it("stores an object from a body of almost 3 MiB if the kind permits it", async () => {
    const data = { k: "x".repeat(1 << 20) };
    assert.equal((await create({ metadata: { name: "big" }, data })).status, 201);
    const over = await create({ metadata: { name: "bigger" }, data: { k: `${data.k}x` } });
    assert.equal(over.status, 422);
    assert.match(over.object.message ?? "", /: Too long: may not be more than 1048576 bytes$/);
  });
});

describe("generateName", () => {
  it("appends five characters to the prefix and keeps the prefix", async () => {
    const server = await TestServer.start();
    const { status, object } = await server.request("POST", configmaps, {
      body: { metadata: { generateName: "gen-" } },
    });
    assert.equal(status, 201);
    assert.match(object.metadata.name ?? "", /^gen-[bcdfghjklmnpqrstvwxz2456789]{5}$/);
    assert.equal(object.metadata["generateName"], "gen-");
    const long = await server.request("POST", configmaps, {
      body: { metadata: { generateName: "g".repeat(70) } },
    });
    assert.match(long.object.metadata.name ?? "", /^g{58}[a-z0-9]{5}$/);
    const named = await server.request("POST", configmaps, {
      body: { metadata: { name: "own", generateName: "gen-" } },
    });
    assert.equal(named.object.metadata.name, "own");
    await server.close();
  });

  it("tries eight names, then responds that none was available", async () => {
    const stuck = { next: () => 0 };
    const server = await TestServer.start({ random: stuck });
    const body = { metadata: { generateName: "gen-" } };
    const first = await server.request("POST", configmaps, { body });
    assert.equal(first.object.metadata.name, "gen-bbbbb");
    const second = await server.request("POST", configmaps, { body });
    assert.equal(second.status, 409);
    assert.equal(second.headers["retry-after"], "1");
    assert.equal(second.object.reason, "AlreadyExists");
    assert.equal(
      second.object.message,
      'configmaps "gen-bbbbb" already exists, the server was not able to generate a unique name for the object',
    );
    assert.equal(second.object.details?.["retryAfterSeconds"], 1);
    await server.close();
  });

  it("continues with the next name when one exists", async () => {
    let calls = 0;
    // The first two names are the same.
    const server = await TestServer.start({ random: { next: () => (calls++ < 10 ? 0 : 0.5) } });
    const body = { metadata: { generateName: "gen-" } };
    const names: AnyObject[] = [];
    for (let i = 0; i < 2; i++) names.push(await server.requestOk("POST", configmaps, { body }));
    assert.notEqual(names[0]?.metadata.name, names[1]?.metadata.name);
    await server.close();
  });
});
