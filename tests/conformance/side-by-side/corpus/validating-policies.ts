/** Validating policies: what is refused of them, and what they refuse, in which words. */
import type { CorpusRequest, CorpusResponse, CorpusTopic } from "../corpus-request.ts";
import { configMap, namespace, patch, post, put, remove } from "../requests.ts";
import { badBindings, badPolicies, holds, rule } from "./bad-policies.ts";

const group = "/apis/admissionregistration.k8s.io/v1";
const policies = `${group}/validatingadmissionpolicies`;
const bindings = `${group}/validatingadmissionpolicybindings`;
const at = "/api/v1/namespaces/policies/configmaps";
const dry = `${at}?dryRun=All`;

const about = (name: string) => ({
  namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "policies" } },
  objectSelector: { matchLabels: { policy: name } },
  resourceRules: [rule],
});

interface Case {
  readonly name: string;
  readonly spec: object;
  readonly binding?: object;
  readonly until?: (answer: CorpusResponse) => boolean;
}

const denied = ({ status }: CorpusResponse): boolean => status >= 400;
const warned = ({ headers }: CorpusResponse): boolean => headers["warning"] !== undefined;
const params = { apiVersion: "v1", kind: "ConfigMap" };
const deny = { validationActions: ["Deny"] };

/** An expression that goes wrong. */
const wrong = (name: string, expression: string): Case => ({
  name,
  spec: { validations: [{ expression }] },
});

/** Policies that say no, or try to. */
const cases: readonly Case[] = [
  {
    name: "two",
    spec: { validations: [{ expression: "false", message: "first" }, { expression: "1 == 2" }] },
  },
  {
    name: "unauthorized",
    spec: { validations: [{ expression: "false", reason: "Unauthorized", message: "who" }] },
    // Refused itself, so that there is nothing to wait for.
    until: () => true,
  },
  {
    name: "large",
    spec: { validations: [{ expression: "false", reason: "RequestEntityTooLarge" }] },
  },
  {
    name: "wordless",
    spec: {
      validations: [
        { expression: "false", messageExpression: "string(object.data.none)", message: "instead" },
      ],
    },
  },
  {
    name: "speechless",
    spec: { validations: [{ expression: "false", messageExpression: "'  '" }] },
  },
  {
    name: "lines",
    spec: { validations: [{ expression: "false", messageExpression: "'a' + '\\n' + 'b'" }] },
  },
  {
    name: "variables",
    spec: {
      variables: [
        { name: "a", expression: "object.metadata.name + '!'" },
        { name: "b", expression: "variables.a + '?'" },
      ],
      validations: [{ expression: "variables.b == ''", messageExpression: "variables.b" }],
    },
  },
  {
    name: "bad-variable",
    spec: {
      variables: [{ name: "a", expression: "object.data.none" }],
      validations: [{ expression: "variables.a == ''" }],
    },
  },
  {
    name: "told",
    spec: {
      validations: [
        {
          expression: "false",
          messageExpression:
            "request.operation + ' ' + request.resource.resource + ' ' + request.kind.kind + ' ' + request.name + ' ' + request.namespace + ' ' + namespaceObject.metadata.name + ' ' + string(request.dryRun) + ' ' + string(oldObject == null)",
        },
      ],
    },
  },
  {
    name: "condition",
    spec: { matchConditions: [{ name: "c", expression: "object.data.none == 'x'" }], ...holds },
  },
  {
    name: "no-params",
    spec: { paramKind: params, validations: [{ expression: "params == null" }] },
    binding: { paramRef: { name: "none", namespace: "policies", parameterNotFoundAction: "Deny" } },
  },
  {
    name: "no-params-selected",
    spec: { paramKind: params, validations: [{ expression: "false" }] },
    binding: {
      paramRef: {
        selector: { matchLabels: { none: "x" } },
        namespace: "policies",
        parameterNotFoundAction: "Deny",
      },
    },
  },
  {
    name: "params",
    spec: {
      paramKind: params,
      validations: [
        { expression: "params.data.max == '2'", messageExpression: "'max is ' + params.data.max" },
      ],
    },
    binding: { paramRef: { name: "params", parameterNotFoundAction: "Deny" } },
  },
  {
    name: "params-of-no-kind",
    spec: { paramKind: { apiVersion: "example.com/v1", kind: "Nope" }, ...holds },
    binding: { paramRef: { name: "a", parameterNotFoundAction: "Deny" } },
  },
  {
    name: "params-not-bound",
    spec: { paramKind: params, validations: [{ expression: "params.data.max == '2'" }] },
  },
  {
    name: "warn",
    spec: {
      validations: [{ expression: "false", message: "be careful" }, { expression: "1 > 2" }],
    },
    binding: { validationActions: ["Warn", "Audit"] },
    until: warned,
  },
  {
    name: "warn-and-fail",
    spec: { validations: [{ expression: "object.data.none == ''" }] },
    binding: { validationActions: ["Warn"] },
    until: warned,
  },
  {
    name: "deny-and-audit",
    spec: { validations: [{ expression: "false" }] },
    binding: { validationActions: ["Deny", "Audit"] },
  },
  {
    name: "annotation-fails",
    spec: {
      ...holds,
      auditAnnotations: [{ key: "k", valueExpression: "string(object.data.none)" }],
    },
    binding: { validationActions: ["Audit"] },
  },
  {
    name: "authorizer",
    spec: {
      validations: [
        {
          expression:
            "!authorizer.group('').resource('configmaps').namespace('policies').check('create').allowed()",
          message: "you may",
        },
      ],
    },
  },
  wrong("no-key", "object.data['none'] == ''"),
  wrong("no-field", "object.spec.replicas == 1"),
  wrong("no-overload", "object.data.a + 1 == 2"),
  wrong("of-text", "object.data.a.b == 1"),
  wrong("of-null", "oldObject.metadata.name == 'x'"),
  wrong("index-of-text", "object.data.a[0] == 'x'"),
  wrong("index-of-null", "oldObject['metadata'] == 'x'"),
  wrong("has-of-text", "has(object.data.a.b)"),
  wrong("has-of-null", "has(oldObject.metadata)"),
  wrong("optional-of-text", "object.data.a.?b.hasValue()"),
  wrong("optional-of-null", "oldObject.?metadata.hasValue()"),
  wrong("list-key", "[1, 2][object.data.a] == 1"),
  wrong("in-text", "'a' in object.data.a"),
  wrong("size-of-null", "size(oldObject) == 1"),
  wrong("minus-text", "-object.data.a == 1"),
  wrong("not-text", "!object.data.a"),
  wrong("no-condition", "object.data.a ? true : false"),
  wrong("all-of-text", "object.data.a.all(x, true)"),
  wrong("or-text", "object.data.a || false"),
  {
    name: "typed-variables",
    spec: {
      variables: [
        { name: "is", expression: "object.metadata.name == 'nobody'" },
        { name: "text", expression: "'said ' + object.metadata.name" },
      ],
      validations: [{ expression: "variables.is", messageExpression: "variables.text" }],
    },
  },
  wrong("no-number", "int(object.data.a) == 1"),
  wrong("zero", "1 / int(object.data.zero) == 1"),
  wrong("remainder", "1 % int(object.data.zero) == 1"),
  wrong("index", "[1, 2][int(object.data.zero) + 5] == 1"),
  wrong("overflow", "9223372036854775807 + int(object.data.zero) + 1 > 0"),
  wrong("pattern", "object.data.a.matches(object.data.bad)"),
  wrong("timestamp", "timestamp(object.data.a) > timestamp('2020-01-01T00:00:00Z')"),
  wrong("duration", "duration(object.data.a) > duration('1s')"),
  wrong("quantity", "quantity(object.data.a).isGreaterThan(quantity('1'))"),
  wrong("url", "url(object.data.bad).getHost() == ''"),
  wrong("ip", "ip(object.data.a).family() == 4"),
  wrong("cidr", "cidr(object.data.a).prefixLength() == 4"),
  wrong("optional", "object.?data.none.value() == ''"),
  wrong("substring", "object.data.a.substring(5) == ''"),
  wrong("char", "object.data.a.charAt(7) == ''"),
  wrong("compare", "object.data.a < 5"),
  wrong("all", "object.data.all(k, object.data[k] == 1 || object.none == 1)"),
  wrong("exists-one", "object.data.exists_one(k, object.none == k)"),
  wrong("semver", "semver(object.data.a).major() == 1"),
  wrong("format", "format.dns1123Label().validate(object.data.bad).value()[0] == ''"),
];

const ask = ({ name, until = denied }: Case): CorpusRequest =>
  post(
    `denied: ${name}`,
    dry,
    configMap(name, { a: "x", zero: "0", bad: "(%" }, { labels: { policy: name } }),
    { until, view: withoutManagers },
  );

const kindOnly = (body: unknown) => ({ kind: (body as { kind: string }).kind });

function withoutManagers(body: unknown): unknown {
  return JSON.parse(
    JSON.stringify(body, (key, value) => (key === "managedFields" ? undefined : value)),
  );
}

const install = ({ name, spec, binding = {} }: Case): CorpusRequest[] => [
  post(
    `policy: ${name}`,
    policies,
    { metadata: { name }, spec: { matchConstraints: about(name), ...spec } },
    { view: kindOnly },
  ),
  post(
    `bind: ${name}`,
    bindings,
    { metadata: { name }, spec: { policyName: name, ...deny, ...binding } },
    { view: kindOnly },
  ),
];

/** Asked last: that nothing happens is no sign that a policy is in force. */
const lenient: readonly Case[] = [
  {
    name: "ignored",
    spec: { failurePolicy: "Ignore", validations: [{ expression: "object.data.none == ''" }] },
  },
  {
    name: "condition-ignored",
    spec: {
      failurePolicy: "Ignore",
      matchConditions: [{ name: "c", expression: "object.data.none == 'x'" }],
      validations: [{ expression: "false" }],
    },
  },
  {
    name: "no-params-allowed",
    spec: { paramKind: params, validations: [{ expression: "false" }] },
    binding: {
      paramRef: { name: "none", namespace: "policies", parameterNotFoundAction: "Allow" },
    },
  },
  {
    name: "audited",
    spec: { validations: [{ expression: "false" }] },
    binding: { validationActions: ["Audit"] },
  },
];

const changes: readonly CorpusRequest[] = [
  post("policy: on changes", policies, {
    metadata: { name: "on-changes" },
    spec: {
      matchConstraints: about("on-changes"),
      matchConditions: [{ name: "no-creates", expression: "request.operation != 'CREATE'" }],
      validations: [
        {
          expression: "false",
          messageExpression:
            "request.operation + ' of ' + oldObject.metadata.name + ', object ' + (object == null ? 'gone' : object.data.a)",
        },
      ],
    },
  }),
  post("bind: on changes", bindings, {
    metadata: { name: "on-changes" },
    spec: { policyName: "on-changes", validationActions: ["Deny"] },
  }),
  post("one to change", at, configMap("one", { a: "b" }, { labels: { policy: "on-changes" } }), {
    view: withoutManagers,
  }),
  put(
    "denied: an update",
    `${at}/one?dryRun=All`,
    configMap("one", { a: "c" }, { labels: { policy: "on-changes" } }),
    { until: denied },
  ),
  patch("merge", "denied: a patch", `${at}/one?dryRun=All`, { data: { a: "d" } }),
  remove("denied: a deletion", `${at}/one?dryRun=All`),
  remove("denied: of all", `${at}?dryRun=All&labelSelector=policy%3Don-changes`),
  patch("json", "policy: make it invalid", `${policies}/on-changes`, [
    { op: "add", path: "/spec/validations/0/expression", value: "object +" },
  ]),
  patch("merge", "policy: without validations", `${policies}/on-changes`, {
    spec: { validations: null },
  }),
  patch("merge", "binding: to another policy", `${bindings}/on-changes`, {
    spec: { policyName: "other" },
  }),
  patch("merge", "policy: its status", `${policies}/on-changes/status`, {
    status: { observedGeneration: 7, typeChecking: {}, conditions: [{ type: "x" }] },
  }),
];

export const validatingPolicies: CorpusTopic = {
  name: "validating-policies",
  requests: [
    namespace("policies"),
    post("parameters", at, configMap("params", { max: "1" }), { view: withoutManagers }),
    ...badPolicies.map(([name, spec]) =>
      post(`refused: ${name}`, `${policies}?dryRun=All`, { metadata: { name: "bad" }, spec }),
    ),
    ...badBindings.map(([name, spec]) =>
      post(`refused binding: ${name}`, `${bindings}?dryRun=All`, {
        metadata: { name: "bad" },
        spec,
      }),
    ),
    ...lenient.flatMap(install),
    ...cases.flatMap(install),
    ...cases.map(ask),
    ...lenient.map((each) => ask({ ...each, until: () => true })),
    ...changes,
  ],
};
