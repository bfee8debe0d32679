/** The rules of webhook configurations, through the server. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { TestServer } from "../../../testing/index.ts";
import { itRejects } from "../rejection-cases.ts";

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

describe("webhook configurations", () => {
  const path = `${base}/validatingwebhookconfigurations`;

  it("get defaults", async () => {
    const filled = {
      ...webhook,
      failurePolicy: "Fail",
      matchPolicy: "Equivalent",
      namespaceSelector: {},
      objectSelector: {},
      timeoutSeconds: 10,
      rules: [{ ...rule, scope: "*" }],
      clientConfig: { service: { namespace: "n", name: "s", port: 443 } },
    };
    const body = { metadata: { name: "defaults" }, webhooks: [webhook] };
    const validating = await server.requestOk("POST", path, { body });
    assert.deepEqual(validating["webhooks"], [filled]);
    const mutating = await server.requestOk("POST", `${base}/mutatingwebhookconfigurations`, {
      body,
    });
    assert.deepEqual(mutating["webhooks"], [{ ...filled, reinvocationPolicy: "Never" }]);
  });

  it("are patched webhook by webhook", async () => {
    const body = {
      metadata: { name: "patched" },
      webhooks: [webhook, { ...webhook, name: "b.b.b" }],
    };
    await server.requestOk("POST", path, { body });
    const { object } = await server.patch(`${path}/patched`, "strategic", {
      webhooks: [{ name: "b.b.b", timeoutSeconds: 5 }],
    });
    const webhooks = object["webhooks"] as { name: string; timeoutSeconds: number }[];
    assert.deepEqual(
      webhooks.map(({ name, timeoutSeconds }) => [name, timeoutSeconds]),
      [
        ["check.example.com", 10],
        ["b.b.b", 5],
      ],
    );
  });

  const changed = (change: object) => ({ webhooks: [{ ...webhook, ...change }] });
  const withUrl = (url: string) => changed({ clientConfig: { url } });
  const withService = (change: object) =>
    changed({ clientConfig: { service: { namespace: "n", name: "s", ...change } } });
  const form = "; desired format: https://host[/path]";
  itRejects(() => server, "POST", path, { metadata }, [
    [changed({ name: "" }), "webhooks[0].name: Required value"],
    [
      changed({ name: "a.b" }),
      'webhooks[0].name: Invalid value: "a.b": should be a domain with at least three segments separated by dots',
    ],
    [{ webhooks: [webhook, webhook] }, 'webhooks[1].name: Duplicate value: "check.example.com"'],
    [
      changed({ sideEffects: undefined }),
      "webhooks[0].sideEffects: Required value: must specify one of None, NoneOnDryRun",
    ],
    [
      changed({ sideEffects: "Some" }),
      'webhooks[0].sideEffects: Unsupported value: "Some": supported values: "None", "NoneOnDryRun"',
    ],
    [
      changed({ failurePolicy: "Maybe" }),
      'webhooks[0].failurePolicy: Unsupported value: "Maybe": supported values: "Fail", "Ignore"',
    ],
    [
      changed({ matchPolicy: "x" }),
      'webhooks[0].matchPolicy: Unsupported value: "x": supported values: "Equivalent", "Exact"',
    ],
    [
      changed({ timeoutSeconds: 31 }),
      "webhooks[0].timeoutSeconds: Invalid value: 31: the timeout value must be between 1 and 30 seconds",
    ],
    [
      changed({ timeoutSeconds: 0 }),
      "webhooks[0].timeoutSeconds: Invalid value: 0: the timeout value must be between 1 and 30 seconds",
    ],
    [
      changed({ admissionReviewVersions: [] }),
      "webhooks[0].admissionReviewVersions: Required value: must specify one of v1, v1beta1",
    ],
    [
      changed({ admissionReviewVersions: ["v9", "v9"] }),
      /^\[webhooks\[0\]\.admissionReviewVersions\[1\]: Invalid value: "v9": duplicate version, webhooks\[0\]\.admissionReviewVersions: Invalid value: \["v9","v9"\]: must include at least one of v1, v1beta1\]$/,
    ],
    [
      changed({ clientConfig: {} }),
      "webhooks[0].clientConfig: Required value: exactly one of url or service is required",
    ],
    [
      withUrl("http://example.com"),
      `webhooks[0].clientConfig.url: Invalid value: "http": 'https' is the only allowed URL scheme${form}`,
    ],
    [
      withUrl("https://u:p@example.com"),
      'webhooks[0].clientConfig.url: Invalid value: "u:xxxxx": user information is not permitted in the URL',
    ],
    [
      withUrl("https://example.com?a=b"),
      'webhooks[0].clientConfig.url: Invalid value: "a=b": query parameters are not permitted in the URL',
    ],
    [
      withUrl("https://example.com#f"),
      'webhooks[0].clientConfig.url: Invalid value: "f": fragments are not permitted in the URL',
    ],
    [
      withService({ port: 65536 }),
      "webhooks[0].clientConfig.service.port: Invalid value: 65536: port is not valid: must be between 1 and 65535, inclusive",
    ],
    [withService({ name: "" }), "webhooks[0].clientConfig.service.name: Required value"],
    [
      withService({ path: "x" }),
      /^webhooks\[0\]\.clientConfig\.service\.path: Invalid value: "x": must start with a '\/'|segment/,
    ],
    [
      withService({ path: "/a//b" }),
      'webhooks[0].clientConfig.service.path: Invalid value: "/a//b": segment[1] may not be empty',
    ],
    [
      changed({ rules: [{ ...rule, operations: ["*", "CREATE"] }] }),
      `webhooks[0].rules[0].operations: Invalid value: ["*","CREATE"]: if '*' is present, must not specify other operations`,
    ],
    [
      changed({ rules: [{ ...rule, operations: ["READ"] }] }),
      'webhooks[0].rules[0].operations[0]: Unsupported value: "READ": supported values: "*", "CONNECT", "CREATE", "DELETE", "UPDATE"',
    ],
    [
      changed({ rules: [{ ...rule, resources: ["*/*", "a"] }] }),
      `webhooks[0].rules[0].resources: Invalid value: ["*/*","a"]: if '*/*' is present, must not specify other resources`,
    ],
    [
      changed({ rules: [{ ...rule, resources: ["a/*", "a/b"] }] }),
      `webhooks[0].rules[0].resources[1]: Invalid value: "a/b": if 'a/*' is present, must not specify a/b`,
    ],
    [
      changed({ rules: [{ ...rule, scope: "World" }] }),
      'webhooks[0].rules[0].scope: Unsupported value: "World": supported values: "*", "Cluster", "Namespaced"',
    ],
    [
      changed({ matchConditions: [{ name: "a", expression: "" }] }),
      "webhooks[0].matchConditions[0].expression: Required value",
    ],
    [
      changed({ matchConditions: [{ name: "a", expression: "params.x" }] }),
      /^webhooks\[0\]\.matchConditions\[0\]\.expression: Invalid value: "params\.x": compilation failed: ERROR: <input>:1:1: undeclared reference to 'params'/,
    ],
    [
      changed({ matchConditions: [{ name: "a", expression: "'text'" }] }),
      `webhooks[0].matchConditions[0].expression: Invalid value: "'text'": must evaluate to bool but got string`,
    ],
    [
      changed({
        matchConditions: [
          { name: "a", expression: "true" },
          { name: "a", expression: "true" },
        ],
      }),
      'webhooks[0].matchConditions[1].name: Duplicate value: "a"',
    ],
    [
      changed({
        matchConditions: Array.from({ length: 65 }, (_, i) => ({
          name: `c${i}`,
          expression: "true",
        })),
      }),
      "webhooks[0].matchConditions: Too many: 65: must have at most 64 items",
    ],
    [
      changed({ namespaceSelector: { matchLabels: { "a b": "c" } } }),
      /^webhooks\[0\]\.namespaceSelector\.matchLabels: Invalid value: "a b": name part must consist/,
    ],
  ]);

  it("with sixty-four match conditions are accepted", async () => {
    const matchConditions = Array.from({ length: 64 }, (_, i) => ({
      name: `c${i}`,
      expression:
        "request.operation == 'CREATE' && authorizer.group('').resource('x').check('get').allowed()",
    }));
    const body = { metadata: { name: "most" }, ...changed({ matchConditions }) };
    const answer = await server.request("POST", path, { body });
    assert.equal(answer.status, 201, answer.text);
  });
});
