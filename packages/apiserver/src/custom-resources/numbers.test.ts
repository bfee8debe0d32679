/**
 * Numbers at the limits of JSON, a double and an int64, by every way to write a custom resource.
 */
import assert from "node:assert/strict";
import { describe, it, type TestContext } from "node:test";
import { definitionsPath, install, registration, rulesFor, TestServer } from "../testing/index.ts";
import { cronTabs } from "./test-support/definitions.ts";

const path = "/clusters/a/apis/stable.example.com/v1/namespaces/default/crontabs";

async function started(t: TestContext): Promise<TestServer> {
  const server = await TestServer.start();
  t.after(() => server.close());
  const schema = {
    type: "object",
    properties: {
      d: { type: "number", minimum: 0 },
      i: { type: "integer", format: "int64" },
      any: { "x-kubernetes-preserve-unknown-fields": true },
    },
  };
  await install(server, cronTabs({ schema }));
  return server;
}

const body = (members: string, name = "x") =>
  `{"apiVersion":"stable.example.com/v1","kind":"CronTab","metadata":{"name":"${name}"},${members}}`;

const refusal = "json: cannot unmarshal number 1e400 into Go value of type float64";

const refusals = /json: cannot unmarshal number -?1e400 into Go value of type float64/;
const unsupported = /json: unsupported value: (\+Inf|-Inf|NaN)/;

describe("a number that exceeds a double", () => {
  const doors: readonly (readonly [string, string, string, string])[] = [
    ["created as JSON", "POST", "application/json", body('"d":1e400', "y")],
    ["created below unknown fields", "POST", "application/json", body('"any":[1e400]', "y")],
    [
      "created in an object of many kilobytes",
      "POST",
      "application/json",
      body(`"any":[${'"aaaaaaaa",'.repeat(9000)}1e400]`, "y"),
    ],
    ["updated", "PUT", "application/json", body('"d":1e400')],
    ["merged", "PATCH", "application/merge-patch+json", '{"d":1e400}'],
    ["patched", "PATCH", "application/json-patch+json", '[{"op":"add","path":"/d","value":1e400}]'],
    ["created below zero", "POST", "application/json", body('"any":-1e400', "y")],
    ...[".nan", "-.inf", "+.inf"].map(
      (number) =>
        [
          `created as YAML: ${number}`,
          "POST",
          "application/yaml",
          `apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata: {name: z}\nany: [${number}]\n`,
        ] as const,
    ),
    [
      "applied",
      "PATCH",
      "application/apply-patch+yaml",
      "apiVersion: stable.example.com/v1\nkind: CronTab\nmetadata:\n  name: x\nd: .inf\n",
    ],
  ];
  for (const [how, method, contentType, sent] of doors) {
    it(`is rejected when it is ${how}`, async (t) => {
      const server = await started(t);
      await server.requestOk("POST", path, { body: body('"d":1') });
      const target = method === "POST" ? path : `${path}/x?fieldManager=m`;
      const answer = await server.request(method, target, {
        headers: { "content-type": contentType },
        body: sent,
      });
      assert.equal(answer.status, 400, answer.text);
      assert.match(answer.text, sent.includes("1e400") ? refusals : unsupported);
      assert.equal((await server.get(`${path}/x`)).object["d"], 1);
    });
  }

  for (const [result, patchType] of [
    ["1.0 / 0.0", "JSONPatch"],
    ["-1.0 / 0.0", "JSONPatch"],
    ["0.0 / 0.0", "JSONPatch"],
    ["1.0 / 0.0", "ApplyConfiguration"],
  ] as const)
    it(`is rejected as the result ${result} of a mutating policy's ${patchType}`, async (t) => {
      const server = await started(t);
      const base = `/clusters/a${registration}/mutatingadmissionpolic`;
      const resourceRules = rulesFor("crontabs", ["CREATE"], "stable.example.com");
      const mutation =
        patchType === "JSONPatch"
          ? {
              patchType,
              jsonPatch: {
                expression: `[JSONPatch{op: "add", path: "/any", value: dyn(${result})}]`,
              },
            }
          : { patchType, applyConfiguration: { expression: `Object{any: dyn(${result})}` } };
      await server.requestOk("POST", `${base}ies`, {
        body: {
          metadata: { name: "p" },
          spec: {
            matchConstraints: { resourceRules },
            reinvocationPolicy: "Never",
            mutations: [mutation],
          },
        },
      });
      await server.requestOk("POST", `${base}ybindings`, {
        body: { metadata: { name: "p" }, spec: { policyName: "p" } },
      });
      const answer = await server.request("POST", path, { body: body('"d":1') });
      assert.equal(answer.status, 403, answer.text);
      assert.match(answer.text, /json: unsupported value: a double that is no finite number/);
      assert.equal((await server.get(`${path}/x`)).status, 404);
    });

  it("is rejected as a default in a definition's schema", async (t) => {
    const server = await started(t);
    const definition = JSON.stringify(
      cronTabs({
        names: { plural: "others", kind: "Other", listKind: "OtherList", shortNames: [] },
      }),
    ).replace('"type":"object"', '"type":"object","default":{"any":1e400}');
    const answer = await server.request("POST", `/clusters/a${definitionsPath}`, {
      body: definition,
    });
    assert.equal(answer.status, 400, answer.text);
    assert.ok(answer.text.includes(refusal), answer.text);
  });

  it("is rejected with its first digits when it is a million digits long", async (t) => {
    const server = await started(t);
    const answer = await server.request("POST", path, {
      body: body(`"d":${"9".repeat(1_000_000)}`),
    });
    assert.equal(answer.status, 400);
    assert.ok(answer.text.length < 1000, String(answer.text.length));
  });
});

describe("numbers that kube-apiserver keeps", () => {
  const rows: readonly (readonly [string, string, string])[] = [
    ["i", "9223372036854775807", "9223372036854775807"],
    ["i", "-9223372036854775808", "-9223372036854775808"],
    ["i", "9007199254740993", "9007199254740993"],
    ["i", "-0", "0"],
    ["i", "1e2", "100"],
    ["any", "9223372036854775808", "9223372036854776000"],
    ["d", "1e-400", "0"],
    ["d", "1.7976931348623157e308", "1.7976931348623157e+308"],
    ["d", "123456789012345678901234567890", "1.2345678901234568e+29"],
  ];
  for (const [field, sent, stored] of rows) {
    it(`${sent} is stored as ${stored}`, async (t) => {
      const server = await started(t);
      const answer = await server.request("POST", path, { body: body(`"${field}":${sent}`) });
      assert.equal(answer.status, 201, answer.text);
      const { text } = await server.get(`${path}/x`);
      assert.equal(new RegExp(`"${field}":([^,}]+)`).exec(text)?.[1], stored, text);
    });
  }

  it("a fraction is no integer", async (t) => {
    const server = await started(t);
    for (const number of ["1.5", "1e-2"]) {
      const answer = await server.request("POST", path, { body: body(`"i":${number}`) });
      assert.equal(answer.status, 422, answer.text);
    }
  });
});
