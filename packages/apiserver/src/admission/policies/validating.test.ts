/** ValidatingAdmissionPolicies, tested through the API. */
import assert from "node:assert/strict";
import { afterEach, beforeEach, describe, it } from "node:test";
import {
  type AnyObject,
  install,
  registration,
  rulesFor,
  TestServer,
  withSlowAuthorization,
} from "../../testing/index.ts";
import { cronTabs } from "../test-support/definitions.ts";

let server: TestServer;
beforeEach(async () => {
  server = await TestServer.start();
  await server.requestOk("POST", "/clusters/a/api/v1/namespaces", {
    body: { metadata: { name: "n", labels: { env: "test" } } },
  });
});
afterEach(() => server.close());

const configMaps = "/clusters/a/api/v1/namespaces/n/configmaps";
const configMap = (name: string, data: object = {}) => ({ metadata: { name }, data });

async function policy(spec: object, binding: object = {}, cluster = "a"): Promise<AnyObject> {
  const base = `/clusters/${cluster}${registration}`;
  const created = await server.requestOk("POST", `${base}/validatingadmissionpolicies`, {
    body: {
      metadata: { name: "p" },
      spec: {
        matchConstraints: { resourceRules: rulesFor("configmaps", ["CREATE", "UPDATE", "DELETE"]) },
        ...spec,
      },
    },
  });
  await server.requestOk("POST", `${base}/validatingadmissionpolicybindings`, {
    body: {
      metadata: { name: "b" },
      spec: { policyName: "p", validationActions: ["Deny"], ...binding },
    },
  });
  return created;
}

const create = (body: object, path = configMaps) => server.request("POST", path, { body });
const keyIs = {
  expression: "!has(object.data) || !('key' in object.data) || object.data.key == 'good'",
};

describe("a validating admission policy", () => {
  it("denies violations with Kubernetes' message", async () => {
    await policy({ validations: [keyIs] });
    const { status, object } = await create(configMap("a", { key: "bad" }));
    assert.equal(status, 422);
    assert.equal(object.reason, "Invalid");
    const denial = `ValidatingAdmissionPolicy 'p' with binding 'b' denied request: failed expression: ${keyIs.expression}`;
    assert.equal(object.message, `configmaps "a" is forbidden: ${denial}`);
    assert.deepEqual(object.details, {
      name: "a",
      kind: "configmaps",
      causes: [{ message: denial }],
    });
    assert.equal((await create(configMap("a", { key: "good" }))).status, 201);
    const patched = await server.patch(`${configMaps}/a`, "merge", { data: { key: "bad" } });
    assert.equal(patched.status, 422);
  });

  it("does nothing without a binding, and nothing once the binding is deleted", async () => {
    await policy({ validations: [{ expression: "false" }] });
    assert.equal((await create(configMap("a"))).status, 422);
    await server.requestOk(
      "DELETE",
      `/clusters/a${registration}/validatingadmissionpolicybindings/b`,
    );
    assert.equal((await create(configMap("a"))).status, 201);
  });

  it("responds with its message, or its message expression, and its reason", async () => {
    await policy({
      validations: [
        {
          expression: "object.data.key != 'one'",
          message: "not one",
          messageExpression: "'not ' + object.data.key + ' by ' + request.userInfo.username",
          reason: "Forbidden",
        },
        {
          expression: "object.data.key != 'two'",
          message: "not two",
          messageExpression: "string(object.none)",
        },
      ],
    });
    const one = await create(configMap("a", { key: "one" }));
    assert.equal(one.status, 403);
    assert.match(one.object.message ?? "", /denied request: not one by kcp-admin$/);
    const two = await create(configMap("a", { key: "two" }));
    assert.match(two.object.message ?? "", /denied request: not two$/);
  });

  it("computes variables on demand, from the variables before them only", async () => {
    await policy({
      variables: [
        { name: "key", expression: "object.data.key" },
        { name: "twice", expression: "variables.key + variables.key" },
        { name: "broken", expression: "object.nothing" },
      ],
      validations: [{ expression: "variables.twice == 'aa' || variables.broken == 1" }],
    });
    assert.equal((await create(configMap("a", { key: "a" }))).status, 201);
    const { object } = await create(configMap("b", { key: "b" }));
    assert.match(
      object.message ?? "",
      /composited variable "broken" fails to evaluate: no such key: nothing/,
    );
  });

  it("fails requests that it cannot evaluate, unless its failurePolicy is Ignore", async () => {
    await policy({ validations: [{ expression: "object.data.none == 'x'" }] });
    const { status, object } = await create(configMap("a", { key: "b" }));
    assert.equal(status, 422);
    assert.match(
      object.message ?? "",
      /denied request: expression 'object\.data\.none == 'x'' resulted in error: no such key: none$/,
    );
    const ignore = { spec: { failurePolicy: "Ignore" } };
    await server.patch(`/clusters/a${registration}/validatingadmissionpolicies/p`, "merge", ignore);
    assert.equal((await create(configMap("a", { key: "b" }))).status, 201);
  });

  it("warns when the binding's action is Warn, and denies nothing", async () => {
    await policy(
      { validations: [{ expression: "false", message: "mind" }] },
      { validationActions: ["Warn", "Audit"] },
    );
    const answer = await create(configMap("a"));
    assert.equal(answer.status, 201);
    assert.deepEqual(answer.warnings, [
      `299 - "Validation failed for ValidatingAdmissionPolicy 'p' with binding 'b': mind"`,
    ]);
  });

  it("sees the old object, the namespace and the permissions of the user", async () => {
    await policy({
      validations: [
        {
          expression: "request.operation != 'DELETE' || oldObject.data.keep != 'yes'",
          message: "kept",
        },
        { expression: "namespaceObject.metadata.labels.env == 'test'", message: "namespace" },
        {
          expression: "authorizer.group('').resource('secrets').check('get').allowed()",
          message: "rights",
        },
        {
          expression: "authorizer.requestResource.check('frob').allowed()",
          message: "rights of the request",
        },
        {
          expression: "!authorizer.serviceAccount('n', 'x').path('/x').check('get').allowed()",
          message: "account",
        },
      ],
    });
    assert.equal((await create(configMap("a", { keep: "yes" }))).status, 201);
    const refused = await server.request("DELETE", `${configMaps}/a`);
    assert.match(refused.object.message ?? "", /denied request: kept$/);
  });

  it("waits for decisions of the authorizer, also in variables", async () => {
    await server.close();
    server = await TestServer.start({ authorization: withSlowAuthorization });
    await server.requestOk("POST", "/clusters/a/api/v1/namespaces", {
      body: { metadata: { name: "n" } },
    });
    const may = (verb: string) =>
      `authorizer.group('').resource('secrets').check('${verb}').allowed()`;
    await policy({
      variables: [{ name: "may", expression: may("list") }],
      validations: [
        { expression: may("get") },
        { expression: "variables.may", message: "variable" },
        { expression: `variables.may && ${may("watch")}` },
        { expression: "false", messageExpression: "variables.may ? 'may' : 'may not'" },
      ],
    });
    const { object } = await create(configMap("a"));
    assert.match(object.message ?? "", /denied request: may$/);
  });

  it("matches by conditions, selectors, names and exclusions", async () => {
    await policy(
      {
        matchConstraints: {
          resourceRules: [{ ...rulesFor("configmaps")[0] }],
          excludeResourceRules: [{ ...rulesFor("configmaps")[0], resourceNames: ["excluded"] }],
        },
        matchConditions: [{ name: "x", expression: "object.metadata.name != 'unmet'" }],
        validations: [{ expression: "false" }],
      },
      { matchResources: { objectSelector: { matchLabels: { strict: "yes" } } } },
    );
    const labelled = (name: string) => ({ metadata: { name, labels: { strict: "yes" } } });
    assert.equal((await create(configMap("plain"))).status, 201);
    assert.equal((await create(labelled("excluded"))).status, 201);
    assert.equal((await create(labelled("unmet"))).status, 201);
    assert.equal((await create(labelled("a"))).status, 422);
  });

  it("applies to custom resources as well", async () => {
    await install(server, cronTabs());
    const resourceRules = rulesFor("crontabs", ["CREATE"], "stable.example.com");
    await policy({
      matchConstraints: { resourceRules },
      validations: [{ expression: "object.spec.replicas < 3" }],
    });
    const path = "/clusters/a/apis/stable.example.com/v1/namespaces/n/crontabs";
    const body = (replicas: number) => ({
      apiVersion: "stable.example.com/v1",
      kind: "CronTab",
      metadata: { name: `c${replicas}` },
      spec: { replicas },
    });
    assert.equal((await create(body(2), path)).status, 201);
    assert.equal((await create(body(3), path)).status, 422);
  });

  it("does not apply to the kinds that configure admission, so that tenants cannot lock themselves out", async () => {
    await policy({
      matchConstraints: { resourceRules: rulesFor("*", ["*"], "*") },
      validations: [{ expression: "false" }],
    });
    await server.requestOk("DELETE", `/clusters/a${registration}/validatingadmissionpolicies/p`);
    assert.equal((await create(configMap("a"))).status, 201);
  });

  it("is stopped when it exceeds the cost limit", async () => {
    const many = "[1,2,3,4,5,6,7,8,9,10]";
    const nested = `${many}.all(a, ${many}.all(b, ${many}.all(c, ${many}.all(d, ${many}.all(e, ${many}.all(f, a+b+c+d+e+f > 0))))))`;
    await policy({ validations: [{ expression: nested }] });
    const { status, object } = await create(configMap("a"));
    assert.equal(status, 422);
    assert.match(object.message ?? "", /cost limit exceeded/);
  });

  it("has no effect in another logical cluster", async () => {
    await policy({ validations: [{ expression: "false" }] });
    const path = "/clusters/b/api/v1/namespaces/default/configmaps";
    assert.equal((await create(configMap("a"), path)).status, 201);
  });
});

interface CheckedStatus {
  readonly observedGeneration: number;
  readonly typeChecking: { readonly expressionWarnings: readonly object[] };
}

/** Listens from now on; the returned function waits for the second state of the next policy. */
async function nextStatus(): Promise<() => Promise<CheckedStatus>> {
  const watch = await server.watch(
    `/clusters/a${registration}/validatingadmissionpolicies?watch=1`,
  );
  return async () => {
    const [, second] = await watch.take(2);
    await watch.leave();
    return (second as { object: AnyObject }).object["status"] as unknown as CheckedStatus;
  };
}

describe("type checking of a policy", () => {
  it("reports expressions in the status that do not fit the kinds that the policy names", async () => {
    const checked = await nextStatus();
    const resourceRules = [{ ...rulesFor("configmaps")[0], apiVersions: ["v1"] }];
    await policy({
      matchConstraints: { resourceRules },
      failurePolicy: "Ignore",
      validations: [
        { expression: "object.data.size() > 1" },
        { expression: "object.nope > 1", messageExpression: "string(object.metadata.nome)" },
      ],
    });
    const { observedGeneration, typeChecking } = await checked();
    assert.equal(observedGeneration, 1);
    assert.deepEqual(typeChecking.expressionWarnings, [
      {
        fieldRef: "spec.validations[1].expression",
        warning:
          "v1, Kind=ConfigMap: ERROR: <input>:1:7: undefined field 'nope'\n | object.nope > 1\n | ......^",
      },
      {
        fieldRef: "spec.validations[1].messageExpression",
        warning:
          "v1, Kind=ConfigMap: ERROR: <input>:1:23: undefined field 'nome'\n | string(object.metadata.nome)\n | ......................^",
      },
    ]);
  });

  it("uses the schemas of custom resources", async () => {
    await install(server, cronTabs());
    const checked = await nextStatus();
    const resourceRules = [
      { ...rulesFor("crontabs", ["CREATE"], "stable.example.com")[0], apiVersions: ["v1"] },
    ];
    await policy({
      matchConstraints: { resourceRules },
      validations: [{ expression: "object.spec.replicas == 'three'" }],
    });
    assert.match(
      JSON.stringify(await checked()),
      /stable\.example\.com\/v1, Kind=CronTab: ERROR: /,
    );
  });
});

describe("parameters of a policy", () => {
  const paramKind = { apiVersion: "v1", kind: "ConfigMap" };
  const byParam = {
    paramKind,
    validations: [
      { expression: "object.metadata.name == 'param' || object.data.key == params.data.key" },
    ],
  };

  it("come from the object that the binding names", async () => {
    await create(configMap("param", { key: "good" }));
    await policy(byParam, { paramRef: { name: "param", parameterNotFoundAction: "Deny" } });
    assert.equal((await create(configMap("a", { key: "bad" }))).status, 422);
    assert.equal((await create(configMap("a", { key: "good" }))).status, 201);
    await server.patch(`${configMaps}/param`, "merge", { data: { key: "bad" } });
    assert.equal((await create(configMap("b", { key: "bad" }))).status, 201);
  });

  it("come from all objects that the binding selects, and the policy must permit the request with each", async () => {
    for (const [name, key] of [
      ["x", "good"],
      ["y", "other"],
    ])
      await create({ metadata: { name, labels: { role: "param" } }, data: { key } });
    const paramRef = {
      selector: { matchLabels: { role: "param" } },
      namespace: "n",
      parameterNotFoundAction: "Deny",
    };
    await policy(
      { paramKind, validations: [{ expression: "object.data.key != params.data.key" }] },
      { paramRef },
    );
    assert.equal((await create(configMap("a", { key: "good" }))).status, 422);
    assert.equal((await create(configMap("a", { key: "other" }))).status, 422);
    assert.equal((await create(configMap("a", { key: "free" }))).status, 201);
  });

  it("that are missing deny or allow, as the binding says", async () => {
    await policy(byParam, { paramRef: { name: "none", parameterNotFoundAction: "Deny" } });
    const { status, object } = await create(configMap("a", { key: "x" }));
    assert.equal(status, 422);
    assert.match(
      object.message ?? "",
      /denied request: failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction$/,
    );
    const allow = { spec: { paramRef: { name: "none", parameterNotFoundAction: "Allow" } } };
    await server.patch(
      `/clusters/a${registration}/validatingadmissionpolicybindings/b`,
      "merge",
      allow,
    );
    assert.equal((await create(configMap("a", { key: "x" }))).status, 201);
  });

  it("of an unknown kind are an error", async () => {
    const unknown = { apiVersion: "example.com/v1", kind: "Nothing" };
    await policy(
      { ...byParam, paramKind: unknown },
      { paramRef: { name: "x", parameterNotFoundAction: "Deny" } },
    );
    const { object } = await create(configMap("a"));
    assert.match(
      object.message ?? "",
      /failed to configure policy: failed to find resource referenced by paramKind: 'example\.com\/v1, Kind=Nothing'$/,
    );
  });

  it("never come from another logical cluster", async () => {
    const path = "/clusters/b/api/v1/namespaces/default/configmaps";
    await create(configMap("param", { key: "good" }), path);
    await policy(byParam, {
      paramRef: { name: "param", namespace: "default", parameterNotFoundAction: "Deny" },
    });
    assert.match(
      (await create(configMap("a", { key: "good" }))).object.message ?? "",
      /no params found/,
    );
  });
});

/** Denies every request to the resources, whatever the operation. */
const denyAll = (group: string, ...resources: string[]) =>
  policy({
    matchConstraints: {
      resourceRules: [
        { apiGroups: [group], apiVersions: ["*"], operations: ["*"], resources, scope: "*" },
      ],
    },
    validations: [{ expression: "false" }],
  });

describe("what validating admission policies do not cover", () => {
  const reviews: readonly [group: string, resource: string, kind: string, spec?: object][] = [
    ["authentication.k8s.io", "tokenreviews", "TokenReview", { token: "x" }],
    ["authentication.k8s.io", "selfsubjectreviews", "SelfSubjectReview"],
    [
      "authorization.k8s.io",
      "subjectaccessreviews",
      "SubjectAccessReview",
      { user: "dora", nonResourceAttributes: { path: "/", verb: "get" } },
    ],
    [
      "authorization.k8s.io",
      "selfsubjectaccessreviews",
      "SelfSubjectAccessReview",
      { nonResourceAttributes: { path: "/", verb: "get" } },
    ],
    [
      "authorization.k8s.io",
      "selfsubjectrulesreviews",
      "SelfSubjectRulesReview",
      { namespace: "n" },
    ],
    [
      "authorization.k8s.io",
      "namespaces/n/localsubjectaccessreviews",
      "LocalSubjectAccessReview",
      { user: "dora", resourceAttributes: { namespace: "n", verb: "get", resource: "pods" } },
    ],
  ];

  for (const [group, resource, kind, spec] of reviews) {
    it(`is a ${kind}, which would bar everybody from the cluster`, async () => {
      await denyAll("*", "*");
      assert.equal((await create(configMap("a"))).status, 422);
      const body = { apiVersion: `${group}/v1`, kind, ...(spec && { spec }) };
      await server.requestOk("POST", `/clusters/a/apis/${group}/v1/${resource}`, { body });
    });
  }

  it("is policies and their bindings, which would keep the policy for ever", async () => {
    await denyAll("*", "*");
    const base = `/clusters/a${registration}`;
    await server.requestOk("DELETE", `${base}/validatingadmissionpolicybindings/b`);
    await server.requestOk("DELETE", `${base}/validatingadmissionpolicies/p`);
  });
});

describe("what validating admission policies cover", () => {
  for (const kind of ["ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"]) {
    it(`is a ${kind}: webhooks alone leave it out`, async () => {
      await denyAll("admissionregistration.k8s.io", "*");
      const path = `/clusters/a${registration}/${kind.toLowerCase()}s`;
      const { status, object } = await create({ metadata: { name: "w" } }, path);
      assert.equal(status, 422);
      assert.match(object.message ?? "", /"w" is forbidden: ValidatingAdmissionPolicy 'p'/);
    });
  }
});
