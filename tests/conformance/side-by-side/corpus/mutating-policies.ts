/** Mutating policies: what is refused of them, what they make of objects, and how they fail. */
import type { CorpusRequest, CorpusResponse, CorpusTopic } from "../corpus-request.ts";
import { configMap, namespace, patch, post } from "../requests.ts";

const group = "/apis/admissionregistration.k8s.io/v1";
const policies = `${group}/mutatingadmissionpolicies`;
const bindings = `${group}/mutatingadmissionpolicybindings`;
const at = "/api/v1/namespaces/mutations/configmaps";
const dry = `${at}?dryRun=All`;

const rule = {
  apiGroups: [""],
  apiVersions: ["v1"],
  operations: ["CREATE", "UPDATE"],
  resources: ["configmaps"],
};
const apply = (expression: string) => ({
  patchType: "ApplyConfiguration",
  applyConfiguration: { expression },
});
const jsonPatch = (expression: string) => ({ patchType: "JSONPatch", jsonPatch: { expression } });
const mutating = (...mutations: readonly object[]) => ({
  matchConstraints: { resourceRules: [rule] },
  reinvocationPolicy: "Never",
  mutations,
});
const labels = "Object{metadata: Object.metadata{labels: {'by': 'policy'}}}";

/** Policies that cannot be. */
const badPolicies: readonly (readonly [string, object])[] = [
  ["nothing", {}],
  ["no mutations", mutating()],
  ["no type", mutating({})],
  ["a type that is none", mutating({ patchType: "Merge" })],
  ["no expression", mutating(apply(""), jsonPatch(" "))],
  ["the other expression", mutating({ ...apply(labels), patchType: "JSONPatch" })],
  ["both expressions", mutating({ ...jsonPatch("[]"), ...apply(labels) })],
  ["an expression of another type", mutating(apply("'text'"), jsonPatch("'text'"))],
  ["an expression of any type", mutating(apply("object"), jsonPatch("object.data"))],
  ["a map", mutating(apply("{'data': {'a': 'b'}}"), jsonPatch("[{'op': 'add'}]"))],
  ["a patch that is no list", mutating(jsonPatch("JSONPatch{op: 'add', path: '/a'}"))],
  ["an empty list", mutating(jsonPatch("[]"))],
  ["a patch of unknown members", mutating(jsonPatch("[JSONPatch{operation: 'add'}]"))],
  ["a patch of wrong types", mutating(jsonPatch("[JSONPatch{op: 1, path: 2}]"))],
  ["an expression that does not compile", mutating(apply("Object{"), jsonPatch("[JSONPatch{"))],
  ["an operation that is none", { ...mutating(apply(labels)), ...operations("DELETE") }],
  ["every operation", { ...mutating(apply(labels)), ...operations("*") }],
  ["a reinvocation that is none", { ...mutating(apply(labels)), reinvocationPolicy: "Often" }],
  ["no reinvocation", { ...mutating(apply(labels)), reinvocationPolicy: undefined }],
  ["a failure policy that is none", { ...mutating(apply(labels)), failurePolicy: "Maybe" }],
  [
    "variables and conditions that do not fit",
    {
      ...mutating(apply(labels)),
      variables: [{ name: "a", expression: "variables.b" }],
      matchConditions: [{ name: "c", expression: "1" }],
    },
  ],
];

function operations(...names: readonly string[]): object {
  return { matchConstraints: { resourceRules: [{ ...rule, operations: names }] } };
}

const badBindings: readonly (readonly [string, object])[] = [
  ["nothing", {}],
  ["parameters of nothing", { policyName: "p", paramRef: {} }],
  ["actions", { policyName: "p", validationActions: ["Deny"] }],
  [
    "resources that are none",
    { policyName: "p", matchResources: { resourceRules: [{ ...rule, operations: ["DELETE"] }] } },
  ],
];

interface Case {
  readonly name: string;
  readonly spec: object;
  readonly binding?: object;
  /** Nothing is to be seen of it, so that there is nothing to wait for. */
  readonly isQuiet?: boolean;
}

const params = { apiVersion: "v1", kind: "ConfigMap" };
const change = (name: string, ...mutations: readonly object[]): Case => ({
  name,
  spec: { mutations },
});

const quiet = (name: string, ...mutations: readonly object[]): Case => ({
  ...change(name, ...mutations),
  isQuiet: true,
});

/** Policies that change objects, or cannot. */
const cases: readonly Case[] = [
  change("labels", apply(labels)),
  change("data", apply("Object{data: {'added': 'x', 'a': 'changed'}}")),
  change(
    "two",
    apply("Object{data: {'one': '1'}}"),
    apply("Object{data: {'two': object.data.one}}"),
  ),
  quiet("removes", apply("Object{data: {?'a': optional.none()}}")),
  quiet("unsets", apply("Object{?data: optional.none()}")),
  change("adds", jsonPatch("[JSONPatch{op: 'add', path: '/data/added', value: 'x'}]")),
  change("moves", jsonPatch("[JSONPatch{op: 'move', from: '/data/a', path: '/data/b'}]")),
  change(
    "escapes",
    jsonPatch(
      "[JSONPatch{op: 'add', path: '/metadata/labels/' + jsonpatch.escapeKey('a.com/b'), value: 'x'}]",
    ),
  ),
  change("builds", jsonPatch("[JSONPatch{op: 'add', path: '/data', value: {'n': 'm'}}]")),
  quiet("test-fails", jsonPatch("[JSONPatch{op: 'test', path: '/data/a', value: 'no'}]")),
  change("no-path", jsonPatch("[JSONPatch{op: 'remove', path: '/data/none'}]")),
  change("no-operation", jsonPatch("[JSONPatch{op: 'spoil', path: '/data/none'}]")),
  change("wrong-type", jsonPatch("[JSONPatch{op: 'add', path: '/data', value: 5}]")),
  change("unknown-member", jsonPatch("[JSONPatch{op: 'add', path: '/spec', value: 5}]")),
  quiet("renames", jsonPatch("[JSONPatch{op: 'add', path: '/metadata/name', value: 'new'}]")),
  quiet("renames-by-apply", apply("Object{metadata: Object.metadata{name: 'new'}}")),
  quiet("another-kind", apply("Object{kind: 'Secret'}")),
  change("apply-wrong-type", apply("Object{data: 5}")),
  change("apply-unknown", apply("Object{spec: 5}")),
  change("apply-fails", apply("Object{data: {'x': object.data.none}}")),
  change("patch-fails", jsonPatch("[JSONPatch{op: 'add', path: '/data/x', value: object.none}]")),
  change("bad-label", apply("Object{metadata: Object.metadata{labels: {'a b': 'x'}}}")),
  {
    name: "condition-fails",
    spec: {
      matchConditions: [{ name: "c", expression: "object.data.none == 'x'" }],
      mutations: [apply(labels)],
    },
  },
  {
    name: "variables",
    spec: {
      variables: [{ name: "who", expression: "object.metadata.name + '-' + request.namespace" }],
      mutations: [apply("Object{data: {'who': variables.who}}")],
    },
  },
  {
    name: "params",
    spec: { paramKind: params, mutations: [apply("Object{data: {'max': params.data.max}}")] },
    binding: { paramRef: { name: "params", parameterNotFoundAction: "Deny" } },
  },
  {
    name: "no-params",
    spec: { paramKind: params, mutations: [apply("Object{data: {'max': params.data.max}}")] },
    binding: { paramRef: { name: "none", parameterNotFoundAction: "Deny" } },
  },
  {
    name: "params-of-no-kind",
    spec: { paramKind: { apiVersion: "example.com/v1", kind: "Nope" }, mutations: [apply(labels)] },
    binding: { paramRef: { name: "a", parameterNotFoundAction: "Deny" } },
  },
];

/** Asked last: that nothing happens is no sign that a policy is in force. */
const lenient: readonly Case[] = [
  change(
    "nothing-to-do",
    apply("Object{}"),
    jsonPatch("[JSONPatch{op: 'test', path: '/kind', value: 'ConfigMap'}]"),
  ),
  {
    name: "ignored",
    spec: { failurePolicy: "Ignore", mutations: [apply("Object{data: {'x': object.data.none}}")] },
  },
  {
    name: "no-params-allowed",
    spec: { paramKind: params, mutations: [apply(labels)] },
    binding: { paramRef: { name: "none", parameterNotFoundAction: "Allow" } },
  },
];

const kindOnly = (body: unknown) => ({ kind: (body as { kind: string }).kind });

const install = ({ name, spec, binding = {} }: Case): CorpusRequest[] => [
  post(
    `policy: ${name}`,
    policies,
    {
      metadata: { name: `mutating-${name}` },
      spec: {
        matchConstraints: {
          namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "mutations" } },
          objectSelector: { matchLabels: { policy: name } },
          resourceRules: [rule],
        },
        reinvocationPolicy: "Never",
        ...spec,
      },
    },
    { view: kindOnly },
  ),
  post(
    `bind: ${name}`,
    bindings,
    {
      metadata: { name: `mutating-${name}` },
      spec: { policyName: `mutating-${name}`, ...binding },
    },
    { view: kindOnly },
  ),
];

const sent = (name: string) => configMap(name, { a: "x" }, { labels: { policy: name } });

/** Until something came of it: a refusal, or another object than the one that was sent. */
const changed = ({ status, body }: CorpusResponse): boolean => {
  if (status >= 400) return true;
  const { data, metadata } = body as { data?: object; metadata: { labels: object } };
  const isAsSent =
    JSON.stringify(data) === '{"a":"x"}' && Object.keys(metadata.labels).length === 1;
  return !isAsSent;
};

const ask = ({ name, isQuiet = false }: Case): CorpusRequest =>
  post(`changed: ${name}`, dry, sent(name), isQuiet ? {} : { until: changed });

export const mutatingPolicies: CorpusTopic = {
  name: "mutating-policies",
  requests: [
    namespace("mutations"),
    post("parameters", at, configMap("params", { max: "1" })),
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
    ...lenient.map((each) => ask({ ...each, isQuiet: true })),
    post("one to change", at, configMap("one", { a: "x" })),
    patch("merge", "changed by a patch", `${at}/one?dryRun=All`, {
      metadata: { labels: { policy: "data" } },
    }),
    patch("apply", "changed by an apply", `${at}/one?dryRun=All&fieldManager=m`, {
      ...sent("one"),
      metadata: { name: "one", labels: { policy: "data" } },
      data: { b: "y" },
    }),
    patch("json", "policy: make it invalid", `${policies}/mutating-data`, [
      { op: "replace", path: "/spec/mutations/0/patchType", value: "JSONPatch" },
    ]),
    patch("merge", "binding: to another policy", `${bindings}/mutating-data`, {
      spec: { policyName: "other" },
    }),
  ],
};
