/** CEL rules, from the definition to the rejection. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { definitionsPath, install, TestServer } from "../testing/index.ts";
import { cronTabs } from "./test-support/definitions.ts";

const path = "/clusters/a/apis/stable.example.com/v1/namespaces/default/crontabs";
let server: TestServer;

const schema = {
  type: "object",
  "x-kubernetes-validations": [
    { rule: "self.metadata.name.startsWith('n')", message: "the name starts with n" },
    { rule: "self.kind == 'CronTab' && self.apiVersion == 'stable.example.com/v1'" },
  ],
  properties: {
    spec: {
      type: "object",
      "x-kubernetes-validations": [
        {
          rule: "!has(self.min) || !has(self.max) || self.min <= self.max",
          message: "min is at most max",
        },
        {
          rule: "!has(self.mode) || self.mode != 'forbidden'",
          reason: "FieldValueForbidden",
          fieldPath: ".mode",
          message: "this mode is not allowed",
        },
        {
          rule: "!has(self.sum) || self.sum == self.parts.map(p, p.size).sum()",
          messageExpression: "self.mode + ' is no mode for this sum'",
        },
      ],
      properties: {
        min: { type: "integer" },
        max: { type: "integer" },
        sum: { type: "integer" },
        mode: { type: "string", maxLength: 20 },
        fixed: {
          type: "string",
          maxLength: 20,
          "x-kubernetes-validations": [
            { rule: "self == oldSelf", message: "fixed does not change" },
          ],
        },
        once: {
          type: "integer",
          "x-kubernetes-validations": [
            {
              rule: "oldSelf.hasValue() || self == 1",
              optionalOldSelf: true,
              message: "begins with 1",
            },
          ],
        },
        parts: {
          type: "array",
          maxItems: 100,
          "x-kubernetes-list-type": "map",
          "x-kubernetes-list-map-keys": ["name"],
          items: {
            type: "object",
            required: ["name"],
            "x-kubernetes-validations": [{ rule: "self.size > 0" }],
            properties: {
              name: { type: "string", maxLength: 10 },
              size: { type: "integer", default: 1 },
            },
          },
        },
        when: {
          type: "string",
          format: "date-time",
          "x-kubernetes-validations": [{ rule: "self > timestamp('2020-01-01T00:00:00Z')" }],
        },
        port: {
          "x-kubernetes-int-or-string": true,
          "x-kubernetes-validations": [
            { rule: "self == 'http' || self == 80" },
            { rule: "type(self) == int || type(self) == string" },
          ],
        },
        text: { type: "string" },
        loop: {
          type: "array",
          maxItems: 1000,
          items: { type: "string", maxLength: 5 },
          "x-kubernetes-validations": [
            { rule: "self.all(a, self.all(b, a.size() + b.size() >= 0))" },
          ],
        },
      },
    },
  },
};

before(async () => {
  server = await TestServer.start();
  await install(server, cronTabs({ schema }));
});
after(() => server.close());

const vectors: [title: string, name: string, spec: object, message: string | undefined][] = [
  [
    "nothing wrong",
    "n1",
    { min: 1, max: 2, port: "http", when: "2021-01-01T00:00:00Z" },
    undefined,
  ],
  ["the root's own fields", "x1", {}, "<nil>: Invalid value: the name starts with n"],
  ["two fields of an object", "n2", { min: 2, max: 1 }, "spec: Invalid value: min is at most max"],
  [
    "a reason and a path",
    "n3",
    { mode: "forbidden" },
    "spec.mode: Forbidden: this mode is not allowed",
  ],
  [
    "a message that is computed",
    "n4",
    {
      sum: 4,
      mode: "fast",
      parts: [
        { name: "a", size: 1 },
        { name: "b", size: 2 },
      ],
    },
    "spec: Invalid value: fast is no mode for this sum",
  ],
  [
    "an item, with the rule as its message",
    "n5",
    { parts: [{ name: "a" }, { name: "b", size: 0 }] },
    "spec.parts[1]: Invalid value: failed rule: self.size > 0",
  ],
  ["the beginning of a value", "n6", { once: 2 }, "spec.once: Invalid value: 2: begins with 1"],
  [
    "a time",
    "n7",
    { when: "2019-01-01T00:00:00Z" },
    `spec.when: Invalid value: "2019-01-01T00:00:00Z": failed rule: self > timestamp('2020-01-01T00:00:00Z')`,
  ],
  [
    "int or string",
    "n8",
    { port: 100 },
    "spec.port: Invalid value: 100: failed rule: self == 'http' || self == 80",
  ],
];

describe("a rule sees", () => {
  for (const [title, name, spec, message] of vectors) {
    it(title, async () => {
      const answer = await server.request("POST", path, { body: { metadata: { name }, spec } });
      if (message === undefined) {
        assert.equal(answer.status, 201, answer.text);
        return;
      }
      assert.equal(answer.status, 422, answer.text);
      const { message: text = "" } = answer.object;
      assert.ok(text.includes(message), `${text}\n${message}`);
    });
  }

  it("the value before an update", async () => {
    await server.requestOk("POST", path, {
      body: { metadata: { name: "nt" }, spec: { fixed: "a", once: 1 } },
    });
    const changed = await server.patch(`${path}/nt`, "merge", { spec: { fixed: "b" } });
    assert.match(
      changed.object.message ?? "",
      /spec\.fixed: Invalid value: "b": fixed does not change/,
    );
    const kept = await server.patch(`${path}/nt`, "merge", { spec: { once: 7 } });
    assert.equal(kept.status, 200, kept.text);
  });
});

describe("a rule that costs too much", () => {
  it("is stopped, and the request rejected", async () => {
    const loop = Array.from({ length: 1000 }, () => "xxxxx");
    const answer = await server.request("POST", path, {
      body: { metadata: { name: "ncost" }, spec: { loop } },
    });
    assert.equal(answer.status, 422, answer.text);
    assert.match(answer.object.message ?? "", /call cost exceeds limit/);
  });

  it("is rejected with its definition when its estimated cost is too high", async () => {
    const expensive = {
      type: "object",
      properties: {
        list: {
          type: "array",
          items: { type: "string" },
          "x-kubernetes-validations": [{ rule: "self.all(a, self.all(b, a == b))" }],
        },
      },
    };
    const names = { plural: "costs", singular: "cost", kind: "Cost", shortNames: [] };
    const answer = await server.request("POST", `/clusters/a${definitionsPath}`, {
      body: cronTabs({ schema: expensive, names }),
    });
    assert.equal(answer.status, 422);
    assert.match(answer.object.message ?? "", /Forbidden: estimated rule cost exceeds budget/);
  });

  it("is not evaluated on objects with other errors", async () => {
    const spec = { min: "x", max: 1 };
    const { object } = await server.request("POST", path, {
      body: { metadata: { name: "nskip" }, spec },
    });
    assert.match(
      object.message ?? "",
      /some validation rules were not checked because the object was invalid; correct the existing errors to complete validation/,
    );
  });
});
