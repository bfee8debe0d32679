/** MutatingAdmissionPolicies, tested through the API. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import { install, registration, rulesFor, TestServer } from "../../testing/index.ts";
import { cronTabs } from "../test-support/definitions.ts";

let server: TestServer;
beforeEach(async () => {
  server = await TestServer.start();
});
afterEach(() => server.close());

const configMaps = "/clusters/a/api/v1/namespaces/default/configmaps";
const create = (body: object, path = configMaps) => server.request("POST", path, { body });

async function policy(
  name: string,
  mutations: readonly object[],
  spec: object = {},
  cluster = "a",
  bindingSpec: object = {},
) {
  const base = `/clusters/${cluster}${registration}`;
  await server.requestOk("POST", `${base}/mutatingadmissionpolicies`, {
    body: {
      metadata: { name },
      spec: {
        matchConstraints: { resourceRules: rulesFor("configmaps", ["CREATE", "UPDATE"]) },
        reinvocationPolicy: "Never",
        mutations,
        ...spec,
      },
    },
  });
  const body = { metadata: { name }, spec: { policyName: name, ...bindingSpec } };
  await server.requestOk("POST", `${base}/mutatingadmissionpolicybindings`, { body });
}

const apply = (expression: string) => ({
  patchType: "ApplyConfiguration",
  applyConfiguration: { expression },
});
const patch = (expression: string) => ({ patchType: "JSONPatch", jsonPatch: { expression } });

describe("a mutating admission policy", () => {
  it("merges an apply configuration into the object", async () => {
    await policy("p", [
      apply(
        'Object{metadata: Object.metadata{labels: {"team": request.userInfo.username}}, data: {"a": "b"}}',
      ),
    ]);
    const { object } = await create({
      metadata: { name: "a", labels: { x: "y" } },
      data: { c: "d" },
    });
    assert.deepEqual(object.metadata.labels, { x: "y", team: "kcp-admin" });
    assert.deepEqual(object.data, { a: "b", c: "d" });
    assert.deepEqual((await server.requestOk("GET", `${configMaps}/a`)).data, { a: "b", c: "d" });
  });

  it("applies JSON patches, with escaped keys", async () => {
    await policy("p", [
      patch(`[
        JSONPatch{op: "test", path: "/data/c", value: "d"},
        JSONPatch{op: "add", path: "/data/" + jsonpatch.escapeKey("x~y"), value: "z"},
        JSONPatch{op: "remove", path: "/data/c"}
      ]`),
    ]);
    const { object } = await create({ metadata: { name: "a" }, data: { c: "d" } });
    assert.equal(
      object.message,
      "ConfigMap \"a\" is invalid: data[x~y]: Invalid value: \"x~y\": a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g. 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is '[-._a-zA-Z0-9]+')",
    );
  });

  it("computes mutations one after the other, with variables", async () => {
    await policy(
      "p",
      [
        patch('[JSONPatch{op: "add", path: "/data/n", value: variables.name + "1"}]'),
        apply('Object{data: {"m": object.data.n + "2"}}'),
      ],
      { variables: [{ name: "name", expression: "object.metadata.name" }] },
    );
    const { object } = await create({ metadata: { name: "a" }, data: { c: "d" } });
    assert.deepEqual(object.data, { c: "d", n: "a1", m: "a12" });
  });

  it("runs again after later changes if its reinvocationPolicy is IfNeeded", async () => {
    const count = apply(
      'Object{metadata: Object.metadata{labels: {"count": string(object.data.size())}}}',
    );
    await policy("a-first", [count], { reinvocationPolicy: "IfNeeded" });
    await policy("b-then", [apply('Object{data: {"later": "yes"}}')]);
    const { object } = await create({ metadata: { name: "a" }, data: { c: "d" } });
    assert.deepEqual(object.metadata.labels, { count: "2" });
  });

  it("removes fields that are set to an optional without a value", async () => {
    await policy("p", [apply("Object{data: optional.none()}")]);
    const { object } = await create({ metadata: { name: "a" }, data: { c: "d" } });
    assert.equal(object.data, undefined);
  });

  it("changes custom resources by their schema", async () => {
    await install(server, cronTabs());
    const resourceRules = rulesFor("crontabs", ["CREATE"], "stable.example.com");
    await policy("p", [apply("Object{spec: Object.spec{replicas: object.spec.replicas + 1}}")], {
      matchConstraints: { resourceRules },
      matchConditions: [{ name: "x", expression: "object.spec.replicas < 5" }],
    });
    const path = "/clusters/a/apis/stable.example.com/v1/namespaces/default/crontabs";
    const body = (replicas: number) => ({
      apiVersion: "stable.example.com/v1",
      kind: "CronTab",
      metadata: { name: `c${replicas}` },
      spec: { replicas },
    });
    assert.deepEqual((await create(body(1), path)).object["spec"], { replicas: 2 });
    assert.deepEqual((await create(body(7), path)).object["spec"], { replicas: 7 });
  });

  it("denies requests that it cannot be evaluated for, unless its failurePolicy is Ignore", async () => {
    await policy("p", [apply("Object{data: Object.wrong{}}")]);
    const { status, object } = await create({ metadata: { name: "a" } });
    assert.equal(status, 403);
    assert.match(
      object.message ?? "",
      /^policy 'p' with binding 'p' denied request: unexpected type name "Object\.wrong", expected "Object\.data", which matches field name path from root Object type$/,
    );
    const ignore = { spec: { failurePolicy: "Ignore" } };
    await server.patch(`/clusters/a${registration}/mutatingadmissionpolicies/p`, "merge", ignore);
    assert.equal((await create({ metadata: { name: "a" } })).status, 201);
  });

  it("must not replace atomic lists, maps and structs", async () => {
    await policy("p", [apply('Object{spec: Object.spec{list: ["a"]}}')], {
      matchConstraints: { resourceRules: rulesFor("crontabs", ["CREATE"], "stable.example.com") },
    });
    const schema = {
      type: "object",
      properties: {
        spec: {
          type: "object",
          properties: { list: { type: "array", items: { type: "string" } } },
        },
      },
    };
    await install(server, cronTabs({ schema }));
    const path = "/clusters/a/apis/stable.example.com/v1/namespaces/default/crontabs";
    const body = { apiVersion: "stable.example.com/v1", kind: "CronTab", metadata: { name: "c" } };
    assert.match(
      (await create(body, path)).object.message ?? "",
      /may not mutate atomic arrays, maps or structs: \.spec\.list$/,
    );
  });

  it("does nothing when a test of its patch fails, and fails when its patch does not fit", async () => {
    const labels = { metadata: { name: "a", labels: { a: "b" } } };
    await policy("p", [
      patch(
        "[JSONPatch{op: 'test', path: '/metadata/labels/a', value: 'c'}, JSONPatch{op: 'remove', path: '/metadata/labels'}]",
      ),
    ]);
    const tested = await create(labels);
    assert.deepEqual([tested.status, tested.object.metadata.labels], [201, { a: "b" }]);
    await policy("q", [patch("[JSONPatch{op: 'remove', path: '/data/none'}]")]);
    const { status, object } = await create({ metadata: { ...labels.metadata, name: "b" } });
    assert.equal(status, 403);
    assert.match(object.message ?? "", /^policy 'q' with binding 'q' denied request: JSON Patch: /);
  });

  it("cannot produce an invalid object of the kind, with any failurePolicy", async () => {
    for (const [name, path, message] of [
      ["p", "/spec", /^Internal error occurred: strict decoding error: unknown field "spec"$/],
      [
        "o",
        "/data",
        /^Internal error occurred: json: cannot unmarshal number into Go struct field/,
      ],
    ] as const) {
      await policy(name, [patch(`[JSONPatch{op: 'add', path: '${path}', value: 5}]`)], {
        failurePolicy: "Ignore",
      });
      const { status, object } = await create({ metadata: { name: "a" } });
      assert.equal(status, 500);
      assert.match(object.message ?? "", message);
    }
  });

  it("is rejected when its expressions do not compile, or have a result of another type", async () => {
    const path = `/clusters/a${registration}/mutatingadmissionpolicies`;
    const cases: [object, RegExp][] = [
      [
        apply("Object{data: }"),
        /spec\.mutations\[0\]\.applyConfiguration\.expression: Invalid value: .*compilation failed/s,
      ],
      [apply("'text'"), /must evaluate to Object/],
      [patch("[JSONPatch{operation: 'add'}]"), /undefined field 'operation'/],
      [patch("JSONPatch{op: 'add'}"), /must evaluate to list\(JSONPatch\) but got JSONPatch$/],
    ];
    for (const [mutation, expected] of cases) {
      const resourceRules = rulesFor("configmaps");
      const spec = {
        matchConstraints: { resourceRules },
        reinvocationPolicy: "Never",
        mutations: [mutation],
      };
      const { status, object } = await create({ metadata: { name: "p" }, spec }, path);
      assert.equal(status, 422);
      assert.match(object.message ?? "", expected);
    }
  });

  it("has no effect in another logical cluster", async () => {
    await policy("p", [apply('Object{data: {"a": "b"}}')]);
    const { object } = await create({ metadata: { name: "a" } }, configMaps.replace("/a/", "/b/"));
    assert.equal(object.data, undefined);
  });
});

describe("parameters of a mutating policy", () => {
  const byParam = { paramKind: { apiVersion: "v1", kind: "ConfigMap" } };
  const team = apply('Object{metadata: Object.metadata{labels: {"team": params.data.team}}}');
  const param = (name: string, data: object, labels = {}) => ({ metadata: { name, labels }, data });
  const shaped = (name: string) => create({ metadata: { name } });

  it("come from the object that the binding names, in its current state", async () => {
    await create(param("param", { team: "blue" }));
    const paramRef = { name: "param", parameterNotFoundAction: "Deny" };
    await policy("p", [team], byParam, "a", { paramRef });
    assert.deepEqual((await shaped("x")).object.metadata.labels, { team: "blue" });
    await server.patch(`${configMaps}/param`, "merge", { data: { team: "red" } });
    assert.deepEqual((await shaped("y")).object.metadata.labels, { team: "red" });
  });

  it("are applied one after the other when the binding selects several", async () => {
    for (const key of ["one", "two"])
      await create(param(key, { key, value: `is ${key}` }, { role: "param" }));
    const paramRef = {
      selector: { matchLabels: { role: "param" } },
      parameterNotFoundAction: "Deny",
    };
    const add = apply("Object{data: {params.data.key: params.data.value}}");
    await policy("p", [add], byParam, "a", { paramRef });
    const { object } = await create({ metadata: { name: "x" }, data: { own: "kept" } });
    assert.deepEqual(object.data, { own: "kept", one: "is one", two: "is two" });
  });

  it("that are missing deny the request or change nothing, as the binding says", async () => {
    const paramRef = { name: "none", parameterNotFoundAction: "Deny" };
    await policy("p", [team], byParam, "a", { paramRef });
    assert.match((await shaped("x")).object.message ?? "", /no params found for policy binding/);
    await server.patch(`/clusters/a${registration}/mutatingadmissionpolicybindings/p`, "merge", {
      spec: { paramRef: { name: "none", parameterNotFoundAction: "Allow" } },
    });
    const { status, object } = await shaped("x");
    assert.deepEqual([status, object.metadata.labels], [201, undefined]);
  });

  it("never come from another logical cluster", async () => {
    const theirs = "/clusters/b/api/v1/namespaces/default/configmaps";
    await create(param("param", { team: "blue" }), theirs);
    const paramRef = { name: "param", namespace: "default", parameterNotFoundAction: "Deny" };
    await policy("p", [team], byParam, "a", { paramRef });
    assert.match((await shaped("x")).object.message ?? "", /no params found/);
  });
});
