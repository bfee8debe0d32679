/**
 * The rules of admission policies and their bindings, and the size limits of admission objects,
 * through the server.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { TestServer } from "../../../testing/index.ts";
import { itRejects } from "../rejection-cases.ts";
import { expressionsLengthMax, valuesMax } from "./admission-limits.ts";

const base = "/clusters/a/apis/admissionregistration.k8s.io/v1";

let server: TestServer;
before(async () => {
  server = await TestServer.start();
});
after(() => server.close());

const metadata = { name: "x" };
const rule = {
  operations: ["CREATE"],
  apiGroups: [""],
  apiVersions: ["v1"],
  resources: ["configmaps"],
};
const webhook = {
  name: "check.example.com",
  clientConfig: { service: { namespace: "n", name: "s" } },
  rules: [rule],
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
};

const spec = {
  matchConstraints: { resourceRules: [rule] },
  validations: [{ expression: "object.data.x == 'y'" }],
};

describe("validating admission policies", () => {
  const path = `${base}/validatingadmissionpolicies`;

  it("get defaults, and their status is the server's", async () => {
    const body = { metadata: { name: "defaults" }, spec, status: { observedGeneration: 7 } };
    const created = await server.requestOk("POST", path, { body });
    assert.deepEqual(created["spec"], {
      ...spec,
      failurePolicy: "Fail",
      matchConstraints: {
        resourceRules: [{ ...rule, scope: "*" }],
        matchPolicy: "Equivalent",
        namespaceSelector: {},
        objectSelector: {},
      },
    });
    assert.deepEqual(created["status"], {});
  });

  it("may have variables in validations and messages, with the types of their expressions", async () => {
    const variables = [
      { name: "ok", expression: "object.metadata.name != 'x'" },
      { name: "text", expression: "'not ' + object.metadata.name" },
      { name: "both", expression: "variables.ok && request.dryRun" },
    ];
    const validations = [{ expression: "variables.both", messageExpression: "variables.text" }];
    const body = { metadata: { name: "typed" }, spec: { ...spec, variables, validations } };
    await server.requestOk("POST", path, { body });
  });

  it("have a status subresource that changes the status only", async () => {
    await server.requestOk("POST", path, { body: { metadata: { name: "status" }, spec } });
    const { object, text } = await server.patch(`${path}/status/status`, "merge", {
      metadata: { labels: { l: "1" } },
      spec: { failurePolicy: "Ignore" },
      status: { observedGeneration: 1 },
    });
    assert.deepEqual(object["status"], { observedGeneration: 1 }, text);
    assert.equal((object["spec"] as { failurePolicy: string }).failurePolicy, "Fail");
    assert.deepEqual([object.metadata.labels, object.metadata["generation"]], [undefined, 1]);
    assert.equal(object.metadata.annotations?.["kcp.io/cluster"], "a");
  });

  const changed = (change: object) => ({ spec: { ...spec, ...change } });
  const validation = (change: object) =>
    changed({ validations: [{ expression: "true", ...change }] });
  itRejects(() => server, "POST", path, { metadata }, [
    [changed({ matchConstraints: undefined }), "spec.matchConstraints: Required value"],
    [changed({ matchConstraints: {} }), "spec.matchConstraints.resourceRules: Required value"],
    [
      changed({ validations: [] }),
      "[spec.validations: Required value: validations or auditAnnotations must contain at least one item, spec.auditAnnotations: Required value: validations or auditAnnotations must contain at least one item]",
    ],
    [
      validation({ expression: " " }),
      "spec.validations[0].expression: Required value: expression is not specified",
    ],
    [
      validation({ expression: "1 +" }),
      /^spec\.validations\[0\]\.expression: Invalid value: "1 \+": compilation failed: ERROR: <input>:1:/,
    ],
    [
      validation({ messageExpression: "1" }),
      'spec.validations[0].messageExpression: Invalid value: "1": must evaluate to string but got int',
    ],
    [
      validation({ expression: "object.data.a", messageExpression: "object.metadata.name" }),
      '[spec.validations[0].expression: Invalid value: "object.data.a": must evaluate to bool but got dyn, spec.validations[0].messageExpression: Invalid value: "object.metadata.name": must evaluate to string but got dyn]',
    ],
    [validation({ expression: "request.who == ''" }), /undefined field 'who'/],
    [validation({ expression: "namespaceObject.metadata.uid == ''" }), /undefined field 'uid'/],
    [
      changed({
        variables: [{ name: "a", expression: "variables.a" }],
        validations: [{ expression: "variables.b" }],
      }),
      /^\[spec\.variables\[0\]\.expression: .*undefined field 'a'.*spec\.validations\[0\]\.expression: .*undefined field 'b'/s,
    ],
    [
      changed({
        variables: [{ name: "a", expression: "true" }],
        matchConditions: [{ name: "c", expression: "variables.a" }],
      }),
      /^spec\.matchConditions\[0\]\.expression: .*undeclared reference to 'variables'/s,
    ],
    [
      validation({ messageExpression: "string(authorizer.path('/x').check('get').allowed())" }),
      /undeclared reference to 'authorizer'/,
    ],
    [
      validation({ message: "a\nb" }),
      'spec.validations[0].message: Invalid value: "a\\nb": must not contain line breaks',
    ],
    [
      validation({ reason: "Because" }),
      'spec.validations[0].reason: Unsupported value: "Because": supported values: "Forbidden", "Invalid", "RequestEntityTooLarge"',
    ],
    [
      changed({ variables: [{ name: "in", expression: "1" }] }),
      'spec.variables[0].name: Invalid value: "in": must be a valid CEL identifier',
    ],
    [
      changed({ paramKind: { apiVersion: "a/b/c", kind: "K" } }),
      'spec.paramKind.apiVersion: Invalid value: "a/b/c": unexpected GroupVersion string: a/b/c',
    ],
    [changed({ paramKind: { apiVersion: "v1" } }), "spec.paramKind.kind: Required value"],
    [
      changed({ auditAnnotations: [{ key: "k", valueExpression: "1" }] }),
      /^spec\.auditAnnotations\[0\]\.valueExpression: Invalid value: "1": must evaluate to one of \[string null/,
    ],
    [
      changed({
        auditAnnotations: [
          { key: "k", valueExpression: "'x'" },
          { key: "k", valueExpression: "'x'" },
        ],
      }),
      'spec.auditAnnotations[1].key: Duplicate value: "k"',
    ],
    [
      changed({ matchConstraints: { resourceRules: [{ ...rule, resourceNames: ["a", "a"] }] } }),
      'spec.matchConstraints.resourceRules[0].resourceNames[1]: Duplicate value: "a"',
    ],
  ]);

  it("with parameters and variables may refer to them", async () => {
    const body = {
      metadata: { name: "refers" },
      ...changed({
        paramKind: { apiVersion: "v1", kind: "ConfigMap" },
        variables: [{ name: "v", expression: "object.x" }],
        matchConditions: [{ name: "m", expression: "params.data.a == 'b'" }],
        validations: [{ expression: "variables.v == params.data.v" }],
      }),
    };
    const answer = await server.request("POST", path, { body });
    assert.equal(answer.status, 201, answer.text);
  });
});

describe("mutating admission policies", () => {
  const good = {
    matchConstraints: { resourceRules: [rule] },
    reinvocationPolicy: "Never",
    mutations: [{ patchType: "JSONPatch", jsonPatch: { expression: "[JSONPatch{op: 'test'}]" } }],
  };
  const changed = (change: object) => ({ spec: { ...good, ...change } });
  itRejects(() => server, "POST", `${base}/mutatingadmissionpolicies`, { metadata }, [
    [changed({ reinvocationPolicy: undefined }), "spec.reinvocationPolicy: Required value"],
    [
      changed({ mutations: [] }),
      "spec.mutations: Required value: mutations must contain at least one item",
    ],
    [
      changed({ mutations: [{ patchType: "Merge" }] }),
      'spec.mutations[0].patchType: Unsupported value: "Merge": supported values: "ApplyConfiguration", "JSONPatch"',
    ],
    [
      changed({ mutations: [{ patchType: "JSONPatch" }] }),
      "spec.mutations[0].jsonPatch: Required value: must be specified when patchType is JSONPatch",
    ],
    [
      changed({
        mutations: [
          {
            patchType: "ApplyConfiguration",
            applyConfiguration: { expression: "Object{}" },
            jsonPatch: { expression: "[JSONPatch{op: 'test'}]" },
          },
        ],
      }),
      'spec.mutations[0].jsonPatch: Invalid value: "{jsonPatch}": must not be specified when patchType is ApplyConfiguration',
    ],
    [
      changed({ matchConstraints: { resourceRules: [{ ...rule, operations: ["DELETE"] }] } }),
      'spec.matchConstraints.resourceRules.operations: Unsupported value: "DELETE": supported values: "*", "CONNECT", "CREATE", "UPDATE"',
    ],
  ]);
});

describe("the size limits of an admission object", () => {
  const policyOf = (length: number) => ({
    metadata: { name: `of-${length}` },
    spec: { ...spec, validations: [{ expression: `'${"x".repeat(length - 6)}'!=''` }] },
  });

  it("expressions up to the length limit are accepted, and longer ones are not", async () => {
    const path = `${base}/validatingadmissionpolicies`;
    const most = await server.request("POST", path, { body: policyOf(expressionsLengthMax) });
    assert.equal(most.status, 201, most.text.slice(0, 1000));
    const more = await server.request("POST", path, { body: policyOf(expressionsLengthMax + 1) });
    assert.match(
      more.object.message ?? "",
      /is invalid: spec: Too long: may not be more than 16384 bytes$/,
    );
  });

  it("values up to the limit are accepted, and more are not", async () => {
    // Such a webhook has thirteen other values, defaults included; each resource is one more.
    const body = (resources: number) => ({
      metadata: { name: `of-${resources}` },
      webhooks: [
        {
          ...webhook,
          rules: [{ ...rule, resources: Array.from({ length: resources }, (_, i) => `r${i}`) }],
        },
      ],
    });
    const path = `${base}/validatingwebhookconfigurations`;
    const others = 13;
    const most = await server.request("POST", path, { body: body(valuesMax - others) });
    assert.equal(most.status, 201, most.text.slice(0, 1000));
    const more = await server.request("POST", path, { body: body(valuesMax - others + 1) });
    assert.match(
      more.object.message ?? "",
      /is invalid: webhooks: Too many: 10001: must have at most 10000 items$/,
    );
  });
});

describe("conditions of a policy", () => {
  const path = `${base}/validatingadmissionpolicies`;
  const good = {
    type: "Ready",
    status: "True",
    reason: "Because",
    message: "",
    lastTransitionTime: "2026-11-15T10:00:00Z",
  };
  const refused: [change: object, says: string][] = [
    [{ type: "" }, "type: Required value: is required"],
    [
      { status: "Maybe" },
      'status: Unsupported value: "Maybe": supported values: "False", "True", "Unknown"',
    ],
    [{ reason: "" }, "reason: Required value"],
    [{ reason: "no spaces" }, 'reason: Invalid value: "no spaces": a condition reason must start'],
    [{ lastTransitionTime: undefined }, "lastTransitionTime: Required value"],
    [
      { observedGeneration: -1 },
      "observedGeneration: Invalid value: -1: must be greater than or equal to zero",
    ],
    [{ message: "x".repeat(32769) }, "message: Too long: may not be more than 32768 bytes"],
  ];
  for (const [i, [change, says]] of refused.entries()) {
    it(`says: ${says}`, async () => {
      const name = `conditions-${i}`;
      await server.requestOk("POST", path, { body: { metadata: { name }, spec } });
      const answer = await server.patch(`${path}/${name}/status`, "merge", {
        status: { conditions: [{ ...good, ...change }] },
      });
      assert.ok(
        answer.object.message?.includes(`is invalid: status.conditions[0].${says}`),
        answer.text.slice(0, 500),
      );
      const accepted = await server.patch(`${path}/${name}/status`, "merge", {
        status: { conditions: [good] },
      });
      assert.equal(accepted.status, 200, accepted.text);
    });
  }
});

describe("bindings of admission policies", () => {
  const good = { policyName: "p", validationActions: ["Deny"] };
  const changed = (change: object) => ({ spec: { ...good, ...change } });
  itRejects(() => server, "POST", `${base}/validatingadmissionpolicybindings`, { metadata }, [
    [changed({ policyName: "" }), "spec.policyName: Required value"],
    [
      changed({ validationActions: [] }),
      "spec.validationActions: Required value: at least one validation action is required",
    ],
    [
      changed({ validationActions: ["Deny", "Warn"] }),
      'spec.validationActions: Invalid value: ["Deny","Warn"]: must not contain both Deny and Warn (repeating the same validation failure information in the API response and headers serves no purpose)',
    ],
    [
      changed({ validationActions: ["Audit", "Audit"] }),
      'spec.validationActions[1]: Duplicate value: "Audit"',
    ],
    [changed({ paramRef: { name: "a" } }), "spec.paramRef.parameterNotFoundAction: Required value"],
    [
      changed({ paramRef: { parameterNotFoundAction: "Deny" } }),
      "spec.paramRef: Required value: one of name or selector must be specified",
    ],
    [
      changed({ paramRef: { name: "a", selector: {}, parameterNotFoundAction: "Deny" } }),
      "[spec.paramRef.name: Forbidden: name and selector are mutually exclusive, spec.paramRef.selector: Forbidden: name and selector are mutually exclusive]",
    ],
  ]);
});
