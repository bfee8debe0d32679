import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { TestServer } from "../testing/index.ts";

const configmaps = "/clusters/a/api/v1/namespaces/default/configmaps";

describe("fieldValidation", () => {
  let server: TestServer;
  before(async () => {
    server = await TestServer.start();
  });
  after(() => server.close());

  const odd = (name: string) =>
    `{"metadata":{"name":"${name}","foo":1},"data":{"a":"1","a":"2"},"spec":{"x":1}}`;
  const create = (name: string, validation: string | undefined, body = odd(name)) => {
    const query = validation === undefined ? "" : `?fieldValidation=${validation}`;
    return server.request("POST", `${configmaps}${query}`, { body });
  };

  it("Warn is the default: one header for each problem, and the last duplicate wins", async () => {
    for (const [name, validation] of [
      ["default", undefined],
      ["empty", ""],
      ["warn", "Warn"],
    ] as const) {
      const answer = await create(name, validation);
      assert.equal(answer.status, 201, answer.text);
      assert.deepEqual(answer.warnings, [
        '299 - "unknown field \\"metadata.foo\\""',
        '299 - "unknown field \\"spec\\""',
        '299 - "duplicate field \\"data.a\\""',
      ]);
      assert.deepEqual(answer.object.data, { a: "2" });
      assert.ok(!Object.hasOwn(answer.object, "spec"));
    }
  });

  it("Ignore sends no warnings", async () => {
    const answer = await create("ignore", "Ignore");
    assert.equal(answer.status, 201);
    assert.deepEqual(answer.warnings, []);
  });

  it("Strict rejects the body, and lists unknown fields first", async () => {
    const answer = await create("strict", "Strict");
    assert.equal(answer.status, 400);
    assert.equal(
      answer.object.message,
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "metadata.foo", unknown field "spec", duplicate field "data.a"',
    );
    const plain = await create("strict", "Strict", '{"metadata":{"name":"strict"}}');
    assert.equal(plain.status, 201);
    const update = await server.request("PUT", `${configmaps}/strict?fieldValidation=Strict`, {
      body: odd("strict"),
    });
    assert.equal(update.status, 400);
  });

  it("applies to YAML in the same way", async () => {
    const headers = { "content-type": "application/yaml" };
    const body = (name: string) =>
      `metadata:\n  name: ${name}\ndata:\n  a: first\n  a: last\nfoo: 1\n`;
    const warned = await server.request("POST", configmaps, { headers, body: body("yaml") });
    assert.equal(warned.status, 201, warned.text);
    assert.deepEqual(warned.object.data, { a: "last" });
    assert.equal(warned.warnings.length, 2);
    assert.match(warned.warnings.join(), /unknown field \\"foo\\"/);
    assert.match(warned.warnings.join(), /line 5: key \\"a\\" already set in map/);
    const strict = await server.request("POST", `${configmaps}?fieldValidation=Strict`, {
      headers,
      body: body("yaml-strict"),
    });
    assert.equal(strict.status, 400);
    assert.equal(
      strict.object.message,
      'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: yaml: unmarshal errors:\n  line 5: key "a" already set in map, unknown field "foo"',
    );
  });

  it("other values are rejected", async () => {
    const answer = await create("x", "Maybe");
    assert.equal(answer.status, 422);
    assert.equal(
      answer.object.message,
      'CreateOptions.meta.k8s.io "" is invalid: fieldValidation: Unsupported value: "Maybe": supported values: "", "Ignore", "Strict", "Warn"',
    );
  });

  it("limits nineteen thousand problems to a hundred short warnings or one short error", async () => {
    const members = Array.from({ length: 19_000 }, (_, i) => `"field-${i}-${"x".repeat(8)}":1`);
    const body = `{"metadata":{"name":"many"},${members.join(",")}}`;
    const warned = await create("many", "Warn", body);
    assert.equal(warned.status, 201);
    assert.equal(warned.warnings.length, 100);
    const strict = await create("many", "Strict", body);
    assert.equal(strict.status, 400);
    assert.ok(strict.text.length < 20_000, `${strict.text.length} bytes`);
  });

  it("truncates long warnings, and encodes special characters for a header", async () => {
    const long = "y".repeat(5000);
    const body = JSON.stringify({ metadata: { name: "odd" }, [long]: 1, 'é"\n\u0000': 2 });
    const answer = await create("odd", "Warn", body);
    assert.equal(answer.status, 201);
    const [first, second] = answer.warnings as [string, string];
    assert.ok(first.length < 300, "a warning is cut when all together are too long");
    assert.ok(/^[\x20-\x7e\x80-\xff]*$/.test(second), second);
    assert.match(Buffer.from(second, "latin1").toString("utf8"), /é/);
  });

  it("limits fieldManager to 128 characters", async () => {
    const body = '{"metadata":{"name":"manager"}}';
    const target = (length: number) => `${configmaps}?fieldManager=${"m".repeat(length)}`;
    assert.equal((await server.request("POST", target(128), { body })).status, 201);
    const over = await server.request("POST", target(129), { body });
    assert.equal(over.status, 422);
    assert.match(
      over.object.message ?? "",
      /fieldManager: Too long: may not be more than 128 bytes/,
    );
  });
});
