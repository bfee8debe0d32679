/**
 * Responses that a tenant makes large: their cost is limited, and the server yields to the event
 * loop while it encodes them.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { install, type TestResponse, TestServer } from "../testing/index.ts";
import { prettyPrint } from "./pretty.ts";
import { parseYaml } from "./yaml.ts";

const widgets = "/clusters/a/apis/example.com/v1/namespaces/default/widgets";
const configmaps = "/clusters/a/api/v1/namespaces/default/configmaps";
const tableType = "application/json;as=Table;v=v1;g=meta.k8s.io";
const anything = { type: "object", "x-kubernetes-preserve-unknown-fields": true };

let server: TestServer;
before(async () => {
  server = await TestServer.start();
});
after(() => server.close());

function widget(name: string, any: readonly number[]) {
  return { apiVersion: "example.com/v1", kind: "Widget", metadata: { name }, spec: { any } };
}

/** The number of turns of the event loop until the response arrived. */
async function turnsOf(
  asked: Promise<TestResponse>,
): Promise<{ turns: number; answer: TestResponse }> {
  let turns = 0;
  let isOver = false;
  const count = () => {
    turns++;
    if (!isOver) setImmediate(count);
  };
  setImmediate(count);
  const answer = await asked;
  isOver = true;
  return { turns, answer };
}

function yamlValue({ text }: TestResponse): unknown {
  const parsed = parseYaml(text);
  return "value" in parsed ? parsed.value : assert.fail(parsed.error);
}

describe("a Table with columns that a tenant defines", () => {
  const slices = (count: number) => `.spec.any[${Array.from({ length: count }, () => ":").join()}]`;
  const name = (i: number) => `o-${String(i).padStart(2, "0")}`;
  before(async () => {
    await install(server, {
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "widgets.example.com" },
      spec: {
        group: "example.com",
        scope: "Namespaced",
        names: { plural: "widgets", kind: "Widget" },
        versions: [
          {
            name: "v1",
            served: true,
            storage: true,
            schema: { openAPIV3Schema: anything },
            additionalPrinterColumns: [
              { name: "Union", type: "string", jsonPath: slices(500) },
              { name: "Small", type: "string", jsonPath: ".metadata.name" },
            ],
          },
        ],
      },
    });
  });

  it("has a limited cost for any column: a column beyond the limit is empty", async () => {
    const any = Array.from({ length: 79_000 }, () => 0);
    await server.requestOk("POST", widgets, { body: widget("large", any) });
    const before = process.cpuUsage();
    const answer = await server.get(`${widgets}/large`, { headers: { accept: tableType } });
    const { user, system } = process.cpuUsage(before);
    const [row] = answer.object["rows"] as [{ cells: unknown[] }];
    assert.deepEqual(row.cells, ["large", null, null]);
    assert.ok(
      user + system < 5_000_000,
      "five seconds of the processor are a tenth of what it was",
    );
    await server.requestOk("DELETE", `${widgets}/large`);
  });

  it("of many rows is limited in total, and every row has a small budget of its own", async () => {
    for (let i = 0; i < 150; i++)
      await server.requestOk("POST", widgets, { body: widget(name(i), Array(90).fill(7)) });
    const { answer, turns } = await turnsOf(
      server.get(widgets, { headers: { accept: tableType } }),
    );
    const rows = answer.object["rows"] as { cells: unknown[] }[];
    assert.equal(rows.length, 150);
    const isShown = rows.map(({ cells }) => cells[1] !== null);
    // 500 slices of 90 values are some 91,000 units: more than a row has.
    assert.deepEqual(
      isShown,
      rows.map(() => false),
    );
    assert.ok(turns > 10, `${turns} turns`);
  });
});

describe("a list as YAML", () => {
  const text = "some: text\nof several lines\n".repeat(130);
  // Metadata is as large as data: lists of metadata take many turns on a fast machine, too.
  const names = Array.from({ length: 400 }, (_, i) => `y-${String(i).padStart(4, "0")}`);
  before(async () => {
    for (const name of names)
      await server.requestOk("POST", configmaps, {
        body: { metadata: { name, annotations: { text } }, data: { text, word: "plain" } },
      });
  });

  for (const [title, accept] of [
    ["of objects", "application/yaml"],
    ["of metadata", "application/yaml;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io"],
    ["as a Table", "application/yaml;as=Table;v=v1;g=meta.k8s.io"],
  ] as const)
    it(`${title} says the same as JSON, and is made in many turns`, async () => {
      const json = await server.get(configmaps, {
        headers: { accept: accept.replace("yaml", "json") },
      });
      const { answer, turns } = await turnsOf(server.get(configmaps, { headers: { accept } }));
      assert.equal(answer.headers["content-type"], "application/yaml");
      assert.deepEqual(yamlValue(answer), json.object);
      assert.ok(turns > 10, `${turns} turns`);
    });

  it("of an empty collection is an empty list", async () => {
    const { text } = await server.get(`${configmaps}?labelSelector=none`, {
      headers: { accept: "application/yaml" },
    });
    assert.match(text, /^kind: ConfigMapList\n(.*\n)*items: \[\]\n$/);
  });

  it("of one large object takes many turns, too", async () => {
    const large = { metadata: { name: "large" }, data: {} as Record<string, string> };
    for (let i = 0; i < 8000; i++) large.data[`k-${i}`] = `a: text ${i}`;
    await server.requestOk("POST", configmaps, { body: large });
    const json = await server.get(`${configmaps}/large`);
    const headers = { accept: "application/yaml" };
    const { answer, turns } = await turnsOf(server.get(`${configmaps}/large`, { headers }));
    assert.deepEqual(yamlValue(answer), json.object);
    assert.ok(turns > 10, `${turns} turns`);
    await server.requestOk("DELETE", `${configmaps}/large`);
  });
});

describe("indented JSON", () => {
  it("of a deep object is sent in chunks of similar size, however much the indentation adds", async () => {
    const deep = `${"[".repeat(500)}${Array(3000).fill(1).join()}${"]".repeat(500)}`;
    const headers = { "content-type": "application/json" };
    const { body } = prettyPrint({ status: 200, headers, body: Buffer.from(deep) });
    assert.ok(body !== undefined && !(body instanceof Uint8Array), "it is a stream");
    const parts: Uint8Array[] = [];
    for await (const part of body) parts.push(part);
    const text = Buffer.concat(parts).toString("utf8");
    assert.equal(text, JSON.stringify(JSON.parse(deep), undefined, 2));
    assert.ok(text.length > 3_000_000);
    const longest = Math.max(...parts.map(({ length }) => length));
    assert.ok(longest <= (64 << 10) + 4096, `pieces of ${longest} bytes`);
  });
});

describe("the deletion of a collection", () => {
  it("returns the deleted objects as they were stored", async () => {
    const listed = await server.get(`${configmaps}?fieldSelector=metadata.name=y-0000`);
    const answer = await server.request(
      "DELETE",
      `${configmaps}?fieldSelector=metadata.name=y-0000`,
    );
    assert.deepEqual(answer.object.items, listed.object.items);
  });
});
