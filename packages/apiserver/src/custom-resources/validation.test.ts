/**
 * The errors of an object or a definition, with Kubernetes' messages, from the schema to the
 * response.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { definitionsPath, install, TestServer } from "../testing/index.ts";
import { cronTabs } from "./test-support/definitions.ts";

let server: TestServer;
before(async () => {
  server = await TestServer.start();
});
after(() => server.close());

const schema = {
  type: "object",
  required: ["spec"],
  properties: {
    spec: {
      type: "object",
      required: ["size"],
      properties: {
        size: { type: "integer", minimum: 1, maximum: 10, multipleOf: 2 },
        color: { type: "string", enum: ["red", "green"] },
        code: { type: "string", pattern: "^[a-z]+$", maxLength: 5, minLength: 2 },
        ratio: { type: "number", minimum: 0, exclusiveMinimum: true },
        flag: { type: "boolean" },
        port: { "x-kubernetes-int-or-string": true },
        when: { type: "string", format: "date-time" },
        tags: {
          type: "array",
          items: { type: "string" },
          "x-kubernetes-list-type": "set",
          maxItems: 3,
        },
        ports: {
          type: "array",
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name"],
          items: {
            type: "object",
            required: ["name"],
            properties: { name: { type: "string" }, value: { type: "integer" } },
          },
        },
        labels: { type: "object", additionalProperties: { type: "string" }, maxProperties: 2 },
        maybe: { type: "string", nullable: true },
        either: {
          type: "object",
          properties: { a: { type: "string" }, b: { type: "string" } },
          oneOf: [{ required: ["a"] }, { required: ["b"] }],
        },
        template: {
          type: "object",
          "x-kubernetes-embedded-resource": true,
          "x-kubernetes-preserve-unknown-fields": true,
        },
      },
    },
  },
};

describe("an object of a custom kind", () => {
  const path = "/clusters/a/apis/stable.example.com/v1/namespaces/default/crontabs";
  before(() => install(server, cronTabs({ schema })));

  const vectors: [title: string, spec: object | undefined, message: string][] = [
    ["no spec", undefined, "spec: Required value"],
    ["a missing field", {}, "spec.size: Required value"],
    [
      "a text for a number",
      { size: "x" },
      'spec.size: Invalid value: "string": spec.size in body must be of type integer: "string"',
    ],
    [
      "too small a number",
      { size: 0 },
      "spec.size: Invalid value: 0: spec.size in body should be greater than or equal to 1",
    ],
    [
      "too large a number",
      { size: 12 },
      "spec.size: Invalid value: 12: spec.size in body should be less than or equal to 10",
    ],
    [
      "no multiple",
      { size: 3 },
      "spec.size: Invalid value: 3: spec.size in body should be a multiple of 2",
    ],
    [
      "a value that is not listed",
      { size: 2, color: "blue" },
      'spec.color: Unsupported value: "blue": supported values: "red", "green"',
    ],
    [
      "a text that does not match",
      { size: 2, code: "A1" },
      "spec.code: Invalid value: \"A1\": spec.code in body should match '^[a-z]+$'",
    ],
    [
      "too long a text",
      { size: 2, code: "abcdef" },
      "spec.code: Too long: may not be more than 5 bytes",
    ],
    [
      "too short a text",
      { size: 2, code: "a" },
      'spec.code: Invalid value: "a": spec.code in body should be at least 2 chars long',
    ],
    [
      "a number at an exclusive bound",
      { size: 2, ratio: 0 },
      "spec.ratio: Invalid value: 0: spec.ratio in body should be greater than 0",
    ],
    [
      "a time that is none",
      { size: 2, when: "now" },
      'spec.when: Invalid value: "now": spec.when in body must be of type date-time: "now"',
    ],
    [
      "a set with a repeat",
      { size: 2, tags: ["a", "b", "a"] },
      'spec.tags[2]: Duplicate value: "a"',
    ],
    [
      "too many items",
      { size: 2, tags: ["a", "b", "c", "d"] },
      "spec.tags: Too many: 4: must have at most 3 items",
    ],
    [
      "two items with the same key",
      { size: 2, ports: [{ name: "a" }, { name: "a" }] },
      'spec.ports[1]: Duplicate value: {"name":"a"}',
    ],
    [
      "too many entries",
      { size: 2, labels: { a: "1", b: "2", c: "3" } },
      "spec.labels: Too many: 3: must have at most 2 items",
    ],
    [
      "a fraction for int-or-string",
      { size: 2, port: 1.5 },
      'spec.port: Invalid value: "number": spec.port in body must be of type integer,string: "number"',
    ],
    [
      "both alternatives",
      { size: 2, either: { a: "1", b: "2" } },
      '<nil>: Invalid value: "": "spec.either" must validate one and only one schema (oneOf). Found 2 valid alternatives',
    ],
    [
      "an embedded object without a kind",
      { size: 2, template: { apiVersion: "v1" } },
      "spec.template.kind: Required value",
    ],
  ];
  for (const [title, spec, message] of vectors) {
    it(`${title} is refused`, async () => {
      const body = { metadata: { name: "x" }, ...(spec === undefined ? {} : { spec }) };
      const answer = await server.request("POST", path, { body });
      assert.equal(answer.status, 422, answer.text);
      assert.equal(answer.object.message, `CronTab.stable.example.com "x" is invalid: ${message}`);
    });
  }

  it("is rejected with all errors at once", async () => {
    const body = { metadata: { name: "x" }, spec: { size: 0, color: "blue" } };
    const { object } = await server.request("POST", path, { body });
    const { causes } = object.details as { causes: { field: string }[] };
    assert.deepEqual(causes.map(({ field }) => field).sort(), ["spec.color", "spec.size"]);
  });

  it("loses null where it is not allowed, and keeps it where it is", async () => {
    const spec = { size: 2, color: null, maybe: null };
    const created = await server.requestOk("POST", path, {
      body: { metadata: { name: "nulls" }, spec },
    });
    assert.deepEqual(created["spec"], { size: 2, maybe: null });
  });

  it("with unknown fields is rejected, warned of or pruned, as fieldValidation says", async () => {
    const body = { metadata: { name: "fields", bogus: 1 }, spec: { size: 2, other: 1 }, more: 1 };
    const strict = await server.request("POST", `${path}?fieldValidation=Strict`, { body });
    assert.equal(strict.status, 400);
    assert.equal(
      strict.object.message,
      'CronTab in version "v1" cannot be handled as a CronTab: strict decoding error: unknown field "metadata.bogus", unknown field "more", unknown field "spec.other"',
    );
    const warned = await server.request("POST", `${path}?dryRun=All`, { body });
    assert.equal(warned.status, 201);
    assert.deepEqual(warned.warnings, [
      '299 - "unknown field \\"metadata.bogus\\""',
      '299 - "unknown field \\"more\\""',
      '299 - "unknown field \\"spec.other\\""',
    ]);
    const ignored = await server.request("POST", `${path}?fieldValidation=Ignore`, { body });
    assert.deepEqual(ignored.warnings, []);
    assert.deepEqual(ignored.object["spec"], { size: 2 });
    assert.ok(!Object.hasOwn(ignored.object, "more"));
  });

  it("may have fields with the names of Object.prototype members", async () => {
    const labels = JSON.parse('{"__proto__":"1","constructor":"2"}') as object;
    const body = { metadata: { name: "proto" }, spec: { size: 2, labels } };
    const created = await server.requestOk("POST", path, { body });
    assert.deepEqual(Object.keys((created["spec"] as { labels: object }).labels).sort(), [
      "__proto__",
      "constructor",
    ]);
  });

  it("requires a resourceVersion on update, and errors of unchanged fields are ignored", async () => {
    const body = { metadata: { name: "ratchet" }, spec: { size: 4, code: "abc" } };
    const created = await server.requestOk("POST", path, { body });
    const without = await server.request("PUT", `${path}/ratchet`, { body });
    assert.equal(
      without.object.message,
      'crontabs.stable.example.com "ratchet" is invalid: metadata.resourceVersion: Invalid value: 0: must be specified for an update',
    );
    const crd = await server.requestOk(
      "GET",
      `/clusters/a${definitionsPath}/crontabs.stable.example.com`,
    );
    const stricter = structuredClone(crd) as unknown as {
      spec: { versions: { schema: { openAPIV3Schema: typeof schema } }[] };
    };
    const [version] = stricter.spec.versions;
    assert.ok(version !== undefined);
    version.schema.openAPIV3Schema.properties.spec.properties.code.maxLength = 2;
    const crdPath = `/clusters/a${definitionsPath}/crontabs.stable.example.com`;
    await server.requestOk("PUT", crdPath, { body: stricter });
    const kept = { ...created, spec: { size: 6, code: "abc" } };
    assert.equal((await server.request("PUT", `${path}/ratchet`, { body: kept })).status, 200);
    const changed = await server.patch(`${path}/ratchet`, "merge", { spec: { code: "abd" } });
    assert.match(changed.object.message ?? "", /spec\.code: Too long/);
  });
});

describe("a definition", () => {
  const path = `/clusters/a${definitionsPath}`;
  const vectors: [title: string, definition: object, message: RegExp | string][] = [
    [
      "a name that does not fit",
      { ...cronTabs(), metadata: { name: "others.stable.example.com" } },
      /metadata\.name: Invalid value: "others\.stable\.example\.com": must be spec\.names\.plural\+"\."\+spec\.group/,
    ],
    [
      "a field without a type",
      cronTabs({ schema: { type: "object", properties: { spec: {} } } }),
      /spec\.validation\.openAPIV3Schema\.properties\[spec\]\.type: Required value: must not be empty for specified object fields/,
    ],
    [
      "no schema",
      cronTabs({ version: { schema: undefined } }),
      /spec\.versions\[0\]\.schema\.openAPIV3Schema: Required value/,
    ],
    [
      "two storage versions",
      cronTabs({
        spec: {
          versions: ["v1", "v2"].map((name) => ({
            name,
            served: true,
            storage: true,
            schema: { openAPIV3Schema: { type: "object" } },
          })),
        },
      }),
      /must have exactly one version marked as storage version/,
    ],
    [
      "a protected group without approval",
      cronTabs({ group: "batch.k8s.io" }),
      /metadata\.annotations\[api-approved\.kubernetes\.io\]: Required value: protected groups must have approval annotation "api-approved\.kubernetes\.io", see https:\/\/github\.com\/kubernetes\/enhancements\/pull\/1111/,
    ],
    [
      "a rule that does not compile",
      cronTabs({
        schema: {
          type: "object",
          properties: {
            spec: { type: "object", "x-kubernetes-validations": [{ rule: "self.nope > 1" }] },
          },
        },
      }),
      /x-kubernetes-validations\[0\]\.rule: Invalid value: .*compilation failed: ERROR: <input>:1:5: undefined field 'nope'/,
    ],
    [
      "a rule of the wrong type",
      cronTabs({ schema: { type: "object", "x-kubernetes-validations": [{ rule: "1 + 1" }] } }),
      /cel expression must evaluate to a bool/,
    ],
    [
      "a rule that may cost too much",
      cronTabs({
        schema: {
          type: "object",
          properties: {
            list: {
              type: "array",
              items: { type: "array", items: { type: "string" } },
              "x-kubernetes-validations": [
                { rule: "self.all(x, self.all(y, x.all(z, y.all(w, z == w))))" },
              ],
            },
          },
        },
      }),
      /estimated rule cost exceeds budget by factor of more than 100x \(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared\)/,
    ],
    [
      "text where a list is wanted",
      cronTabs({ spec: { versions: "v1" } }),
      /cannot be handled as a CustomResourceDefinition: json: cannot unmarshal string into Go struct field/,
    ],
  ];
  for (const [title, body, message] of vectors) {
    it(`${title} is refused`, async () => {
      const answer = await server.request("POST", path, { body });
      assert.ok(answer.status === 422 || answer.status === 400, answer.text);
      if (typeof message === "string") assert.equal(answer.object.message, message);
      else assert.match(answer.object.message ?? "", message);
    });
  }

  it("with unknown keywords at any depth is rejected", async () => {
    const schema = {
      type: "object",
      properties: { l: { type: "array", items: { type: "string", nope: 1 } } },
    };
    const answer = await server.request("POST", `${path}?fieldValidation=Strict`, {
      body: cronTabs({ schema }),
    });
    assert.equal(answer.status, 400);
    assert.match(
      answer.object.message ?? "",
      /unknown field "spec\.versions\[0\]\.schema\.openAPIV3Schema\.properties\.l\.items\.nope"/,
    );
  });

  it("with an unrecognized format gets a warning", async () => {
    const schema = { type: "object", properties: { s: { type: "string", format: "fancy" } } };
    const answer = await server.request("POST", `${path}?dryRun=All`, {
      body: cronTabs({ schema, names: { plural: "fancies", singular: "fancy", kind: "Fancy" } }),
    });
    assert.equal(answer.status, 201, answer.text);
    assert.deepEqual(answer.warnings, ['299 - "unrecognized format \\"fancy\\""']);
  });

  it("requires a resourceVersion on update, and names are immutable", async () => {
    const names = { plural: "fixeds", singular: "fixed", kind: "Fixed", shortNames: [] };
    const object = await install(server, cronTabs({ names }));
    const one = `${path}/fixeds.stable.example.com`;
    const { resourceVersion: _, ...metadata } = object.metadata;
    const without = await server.request("PUT", one, { body: { ...object, metadata } });
    assert.match(
      without.object.message ?? "",
      /metadata\.resourceVersion: Invalid value: 0: must be/,
    );
    const renamed = await server.patch(one, "merge", { spec: { names: { kind: "Other" } } });
    assert.match(
      renamed.object.message ?? "",
      /spec\.names\.kind: Invalid value: "Other": field is immutable/,
    );
    const scoped = await server.patch(one, "merge", { spec: { scope: "Cluster" } });
    assert.match(
      scoped.object.message ?? "",
      /spec\.scope: Invalid value: "Cluster": field is immutable/,
    );
  });
});

describe("a large definition", () => {
  const large = (fields: number, leaf: object): ReturnType<typeof cronTabs> => {
    const properties = Object.fromEntries(
      Array.from({ length: fields }, (_, i) => [`field${i}`, leaf]),
    );
    const schema = { type: "object", properties: { spec: { type: "object", properties } } };
    return cronTabs({ schema, group: "large.example.com" });
  };

  it("is validated with yields to the event loop", async () => {
    let turns = 0;
    let isDone = false;
    const count = () => {
      turns++;
      if (!isDone) setImmediate(count);
    };
    const creating = server.requestOk("POST", `/clusters/large${definitionsPath}`, {
      body: large(5_000, { type: "string" }),
    });
    setImmediate(count);
    await creating;
    isDone = true;
    // Decoding, each half of the validation, ownership and storing: the server yields between all
    // of them.
    assert.ok(turns >= 6, `${turns} turns`);
  });

  it("is rejected with all its errors, new or changed", async () => {
    const body = large(5_000, { type: "strange" });
    const created = await server.request("POST", `/clusters/other${definitionsPath}`, { body });
    assert.equal(created.status, 422);
    assert.match(created.object.message ?? "", /field0\]\.type: Unsupported value: "strange"/);
    const path = `/clusters/large${definitionsPath}/crontabs.large.example.com`;
    const { spec } = body;
    const updated = await server.patch(path, "merge", { spec });
    assert.equal(updated.status, 422);
    assert.match(updated.object.message ?? "", /field0\]\.type: Unsupported value: "strange"/);
    const { spec: wanted } = large(5_001, { type: "string" });
    const taken = await server.patch(path, "merge", { spec: wanted });
    assert.equal(taken.status, 200);
    assert.match(taken.text, /field5000/);
  });
});
