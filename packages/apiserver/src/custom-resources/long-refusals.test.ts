/** A refusal of a request with long names, keys or kinds repeats a limited part of them. */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { install, TestServer } from "../testing/index.ts";
import { cronTabs } from "./test-support/definitions.ts";

const long = "x.".repeat(500_000);
const configMaps = "/clusters/a/api/v1/namespaces/default/configmaps";
const cronTabsPath = "/clusters/a/apis/stable.example.com/v1/namespaces/default/crontabs";

async function started(t: TestContext, schema?: object): Promise<TestServer> {
  const server = await TestServer.start();
  t.after(() => server.close());
  await install(server, cronTabs(schema === undefined ? {} : { schema }));
  return server;
}

const custom = (members: object) => ({
  apiVersion: "stable.example.com/v1",
  kind: "CronTab",
  metadata: { name: "x" },
  ...members,
});

describe("the refusal of a request", () => {
  const badKeys = Object.fromEntries(Array.from({ length: 9_000 }, (_, i) => [`k ${i}`, "v"]));
  const cases: readonly (readonly [string, string, object])[] = [
    ["with a long name", configMaps, { metadata: { name: long } }],
    ["with a long generateName", configMaps, { metadata: { generateName: long } }],
    [
      "for a Namespace with a long name",
      "/clusters/a/api/v1/namespaces",
      { metadata: { name: long } },
    ],
    ["with a long key of a label", configMaps, { metadata: { name: "x", labels: { [long]: "" } } }],
    ["with a long value of a label", configMaps, { metadata: { name: "x", labels: { a: long } } }],
    [
      "with a long annotation key",
      configMaps,
      { metadata: { name: "x", annotations: { [long]: "" } } },
    ],
    ["with a long finalizer", configMaps, { metadata: { name: "x", finalizers: [long] } }],
    ["with a long key of its data", configMaps, { metadata: { name: "x" }, data: { [long]: "" } }],
    ["with thousands of invalid keys", configMaps, { metadata: { name: "x" }, data: badKeys }],
    ["with a long kind", cronTabsPath, custom({ kind: long })],
    ["with a long name of a custom resource", cronTabsPath, custom({ metadata: { name: long } })],
  ];
  for (const [how, path, body] of cases) {
    it(`${how} is short`, async (t) => {
      const server = await started(t);
      const answer = await server.request("POST", path, { body: JSON.stringify(body) });
      assert.equal(answer.status, 422, answer.text.slice(0, 500));
      assert.ok(answer.text.length < 1_000_000, `${answer.text.length} characters`);
      if (!how.includes("thousands")) assert.ok(answer.text.length < 100_000);
    });
  }

  it("whose defaults exceed their limit says so", async (t) => {
    const server = await started(t, {
      type: "object",
      properties: {
        items: {
          type: "array",
          items: {
            type: "object",
            properties: { text: { type: "string", default: "d".repeat(100_000) } },
          },
        },
      },
    });
    const items = Array.from({ length: 1_000 }, () => ({}));
    const { status, text } = await server.request("POST", cronTabsPath, {
      body: JSON.stringify(custom({ items })),
    });
    assert.equal(status, 413, text);
    assert.match(text, /defaults add more than 8388608 characters/);
  });
});
