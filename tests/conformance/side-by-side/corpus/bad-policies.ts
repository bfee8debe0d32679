/** Validating policies and bindings that cannot be. */
export const rule = {
  apiGroups: [""],
  apiVersions: ["v1"],
  operations: ["CREATE", "UPDATE", "DELETE"],
  resources: ["configmaps"],
};
const rules = (more: object) => ({ matchConstraints: { resourceRules: [{ ...rule, ...more }] } });
export const holds = { validations: [{ expression: "true" }] };
const usual = { ...rules({}), ...holds };

export const badPolicies: readonly (readonly [string, object])[] = [
  ["an empty expression", { ...usual, validations: [{ expression: " " }] }],
  ["an unknown variable", { ...usual, validations: [{ expression: "nothing == 1" }] }],
  ["an unknown function", { ...usual, validations: [{ expression: "object.name.shout()" }] }],
  ["types that do not fit", { ...usual, validations: [{ expression: "1 + 'a' == 2" }] }],
  ["a type that is none", { ...usual, validations: [{ expression: "1" }] }],
  ["words of two lines", { ...usual, validations: [{ expression: "true", message: "a\nb" }] }],
  ["empty words", { ...usual, validations: [{ expression: "a.b\nc", message: "" }] }],
  ["a reason that is none", { ...usual, validations: [{ expression: "true", reason: "So" }] }],
  [
    "words of another type",
    { ...usual, validations: [{ expression: "true", messageExpression: "1" }] },
  ],
  [
    "words that do not compile",
    { ...usual, validations: [{ expression: "true", messageExpression: "object +" }] },
  ],
  ["nothing but annotations without a key", { ...rules({}), auditAnnotations: [{}] }],
  [
    "annotations that do not fit",
    {
      ...rules({}),
      auditAnnotations: [
        { key: "a/b", valueExpression: "1" },
        { key: "c", valueExpression: "'x'" },
        { key: "c", valueExpression: "null" },
      ],
    },
  ],
  ["a variable of no name", { ...usual, variables: [{ name: "a-b", expression: "1" }] }],
  [
    "a variable twice",
    {
      ...usual,
      variables: [
        { name: "a", expression: "1" },
        { name: "a", expression: "2" },
      ],
    },
  ],
  ["a variable of itself", { ...usual, variables: [{ name: "a", expression: "variables.a" }] }],
  ["a rule of any type", { ...usual, validations: [{ expression: "object.data.a" }] }],
  [
    "words of any type",
    { ...usual, validations: [{ expression: "true", messageExpression: "object.metadata.name" }] },
  ],
  [
    "a variable of any type for a rule",
    {
      ...usual,
      variables: [{ name: "a", expression: "object.data.a" }],
      validations: [{ expression: "variables.a" }, { expression: "variables.b == 1" }],
    },
  ],
  [
    "a variable before it is there",
    {
      ...usual,
      variables: [
        { name: "a", expression: "variables.b" },
        { name: "b", expression: "[1]" },
        { name: "c", expression: "variables.b + ['x']" },
      ],
    },
  ],
  [
    "variables in conditions",
    {
      ...usual,
      variables: [{ name: "a", expression: "true" }],
      matchConditions: [{ name: "c", expression: "variables.a" }],
    },
  ],
  ["a request of no such member", { ...usual, validations: [{ expression: "request.who == ''" }] }],
  [
    "a namespace of no such member",
    { ...usual, validations: [{ expression: "namespaceObject.metadata.uid == request.dryRun" }] },
  ],
  ["a request that is none", { ...usual, validations: [{ expression: "request == null" }] }],
  [
    "times and lengths for words",
    {
      ...usual,
      validations: [
        { expression: "true", messageExpression: "timestamp('2020-01-01T00:00:00Z')" },
        { expression: "true", messageExpression: "{'a': [duration('1s')]}" },
        { expression: "null" },
        { expression: "optional.of(true)" },
        { expression: "type(1)" },
        { expression: "namespaceObject.metadata" },
      ],
    },
  ],
  ["a variable that is none", { ...usual, validations: [{ expression: "variables.b == 1" }] }],
  [
    "conditions that do not fit",
    {
      ...usual,
      matchConditions: [
        { name: "a b", expression: "true" },
        { name: "", expression: "" },
        { name: "c", expression: "1" },
        { name: "c", expression: "true" },
      ],
    },
  ],
  ["a failure policy that is none", { ...usual, failurePolicy: "Maybe" }],
  ["parameters of no kind", { ...usual, paramKind: { apiVersion: "v1" } }],
  ["parameters of no version", { ...usual, paramKind: { apiVersion: "a/b/c", kind: "K" } }],
  ["no constraints", { ...holds, matchConstraints: {} }],
  ["rules without anything", { ...holds, matchConstraints: { resourceRules: [{}] } }],
  ["everything and more", { ...holds, ...rules({ apiGroups: ["*", "a"], resources: ["*", "x"] }) }],
  ["subresources of everything", { ...holds, ...rules({ resources: ["pods/*", "pods/x"] }) }],
  ["an operation that is none", { ...holds, ...rules({ operations: ["READ"] }) }],
  ["a scope that is none", { ...holds, ...rules({ scope: "Near" }) }],
  ["a name twice", { ...holds, ...rules({ resourceNames: ["a", "a", "b/c"] }) }],
  [
    "a selector that is none",
    {
      ...holds,
      matchConstraints: {
        matchPolicy: "Some",
        namespaceSelector: { matchLabels: { "a b": "c" } },
        objectSelector: { matchExpressions: [{ key: "a", operator: "Like" }] },
        resourceRules: [rule],
      },
    },
  ],
];

export const badBindings: readonly (readonly [string, object])[] = [
  ["no actions", { policyName: "p" }],
  ["a name that is none", { policyName: "a b", validationActions: ["Deny"] }],
  ["an action that is none", { policyName: "p", validationActions: ["Shout"] }],
  ["an action twice", { policyName: "p", validationActions: ["Warn", "Warn"] }],
  ["parameters of nothing", { policyName: "p", validationActions: ["Deny"], paramRef: {} }],
  [
    "parameters by name and selector",
    {
      policyName: "p",
      validationActions: ["Deny"],
      paramRef: { name: "a", selector: {}, parameterNotFoundAction: "Deny" },
    },
  ],
  [
    "parameters, or what",
    {
      policyName: "p",
      validationActions: ["Deny"],
      paramRef: { name: "a/b", namespace: "c d", parameterNotFoundAction: "Cry" },
    },
  ],
  [
    "resources that are none",
    {
      policyName: "p",
      validationActions: ["Deny"],
      matchResources: { matchPolicy: "Some", resourceRules: [{ resources: [] }] },
    },
  ],
];
