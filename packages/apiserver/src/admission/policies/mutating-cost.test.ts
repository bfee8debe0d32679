/** The work of mutating policies: an expression of a few characters copies a whole object. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { CelError, compile, declaredDynamic, kubernetesEnvironment } from "@kcp-ts/machinery/cel";
import { JsonPatchBudget } from "@kcp-ts/machinery/patch";
import {
  install,
  registration,
  rulesFor,
  type TestResponse,
  TestServer,
} from "../../testing/index.ts";
import { cronTabs } from "../test-support/definitions.ts";
import { applyJsonPatchExpression } from "./mutation.ts";

const group = "stable.example.com";
const crontabs = `/clusters/a/apis/${group}/v1/namespaces/default/crontabs`;
const policies = `/clusters/a${registration}/mutatingadmissionpolicies`;

let server: TestServer;
before(async () => {
  server = await TestServer.start();
  const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  await install(server, cronTabs({ schema }));
});
after(() => server.close());

async function withPolicies(
  mutations: readonly (readonly object[])[],
  body: () => Promise<void>,
): Promise<void> {
  const names = mutations.map((_, at) => `p${at}`);
  for (const [at, name] of names.entries()) {
    const resourceRules = rulesFor("crontabs", ["CREATE"], group);
    const spec = { matchConstraints: { resourceRules }, reinvocationPolicy: "Never" };
    await server.requestOk("POST", policies, {
      body: { metadata: { name }, spec: { ...spec, mutations: mutations[at] } },
    });
    await server.requestOk("POST", policies.replace("policies", "policybindings"), {
      body: { metadata: { name }, spec: { policyName: name } },
    });
  }
  try {
    await body();
  } finally {
    for (const name of names)
      for (const path of [policies, policies.replace("policies", "policybindings")])
        await server.requestOk("DELETE", `${path}/${name}`);
  }
}

const patch = (expression: string) => ({ patchType: "JSONPatch", jsonPatch: { expression } });
const apply = (expression: string) => ({
  patchType: "ApplyConfiguration",
  applyConfiguration: { expression },
});

function create(any: unknown): Promise<TestResponse> {
  return server.request("POST", `${crontabs}?dryRun=All`, {
    body: {
      apiVersion: `${group}/v1`,
      kind: "CronTab",
      metadata: { name: "large" },
      spec: { any, few: Array.from({ length: 500 }, (_, at) => at) },
    },
  });
}

const numbers = (count: number) => Array.from({ length: count }, (_, at) => at);
const members = (count: number) => Object.fromEntries(numbers(count).map((at) => [`k${at}`, at]));

describe("a mutation that copies the object's own values many times", () => {
  const copies = ["a", "b", "c", "d", "e", "f"].map((name) => `${name}: object.spec.any`);
  for (const [what, mutation] of Object.entries({
    "a JSON patch": patch(
      "object.spec.few.map(i, JSONPatch{op: 'add', path: '/spec/x' + string(i), value: object.spec.any})",
    ),
    "an apply configuration": apply(`Object{spec: Object.spec{${copies.join(", ")}}}`),
  }))
    it(`is refused before it is made: ${what}`, async () => {
      await withPolicies([[mutation]], async () => {
        const small = await create({ k: 1 });
        assert.equal(small.status, 201, small.text);
        const { status, object } = await create(members(19_000));
        assert.equal(status, 403);
        assert.match(object.message ?? "", /denied request: .*value is too large$/);
      });
    });

  it("is refused when the object has too many values afterwards", async () => {
    const mutation = patch("[JSONPatch{op: 'add', path: '/spec/b', value: object.spec.any}]");
    await withPolicies([[mutation]], async () => {
      const { status, text } = await create(numbers(60_000));
      assert.equal(status, 500);
      assert.match(text, /limit is 80000 values/);
    });
  });
});

describe("JSON patches of mutating policies", () => {
  // Each takes the first item away, and puts it back.
  const moves = (count: number) =>
    patch(
      `object.spec.few.filter(i, i < ${count}).map(i, JSONPatch{op: 'move', from: '/spec/any/0', path: '/spec/any/0'})`,
    );

  for (const [whose, policiesOf] of Object.entries({
    "of one policy": (count: number) => [[moves(count), moves(count)]],
    "of several policies": (count: number) => [[moves(count)], [moves(count)]],
  }))
    it(`${whose} share the limits of one patch`, async () => {
      const any = numbers(60_000);
      await withPolicies(policiesOf(80), async () => assert.equal((await create(any)).status, 201));
      await withPolicies(policiesOf(100), async () => {
        const { status, object } = await create(any);
        assert.equal(status, 403);
        assert.match(object.message ?? "", /shifts or compares more than 20000000 items$/);
      });
    });

  it("yield to the event loop between their operations", () => {
    const environment = kubernetesEnvironment.extend({ variables: { few: declaredDynamic } });
    const each = "{'op': 'test', 'path': '/a', 'value': '1'}";
    const compilation = compile(`few.map(i, ${each})`, environment);
    assert.ok(compilation.ok, compilation.ok ? "" : compilation.message);
    const { result } = compilation.program.evaluate({ few: numbers(500) });
    assert.ok(!(result instanceof CelError));
    const work = applyJsonPatchExpression({ a: "1" }, result, new JsonPatchBudget());
    let rests = 0;
    while (work.next().done !== true) rests++;
    assert.ok(rests >= 500, `${rests} rests`);
  });
});
