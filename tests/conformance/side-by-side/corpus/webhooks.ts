/**
 * What webhooks answer, as it should be and in every other way, and what becomes of the request.
 */
import type { CorpusRequest, CorpusResponse, CorpusTopic } from "../corpus-request.ts";
import { configMap, namespace, patch, post, put, remove } from "../requests.ts";

const group = "/apis/admissionregistration.k8s.io/v1";
const at = "/api/v1/namespaces/webhooks/configmaps";
const dry = `${at}?dryRun=All`;

/** Asked about objects that name it. */
const hook = (name: string, rest: object = {}) => ({
  name: `${name}.example.com`,
  clientConfig: { url: `\${hook}/${name}`, caBundle: "${authority}" },
  namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "webhooks" } },
  objectSelector: { matchLabels: { [`ask-${name}`]: "yes" } },
  rules: [{ apiGroups: [""], apiVersions: ["v1"], operations: ["*"], resources: ["configmaps"] }],
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
  ...rest,
});

const asking = (...hooks: readonly string[]) => ({
  labels: Object.fromEntries(hooks.map((name) => [`ask-${name}`, "yes"])),
});

const ask = (prefix: string, name: string, rest: Partial<CorpusRequest> = {}): CorpusRequest =>
  post(`${prefix}: ${name}`, dry, configMap(name, { a: "b" }, asking(name)), {
    view: withoutManagers,
    ...rest,
  });

function withoutManagers(body: unknown): unknown {
  return JSON.parse(
    JSON.stringify(body, (key, value) => (key === "managedFields" ? undefined : value)),
  );
}

const denied = ({ status }: CorpusResponse): boolean => status >= 400;

const answers = [
  "deny",
  "deny-words",
  "deny-reason",
  "deny-status",
  "deny-success",
  "deny-low",
  "deny-warn",
  "allow",
  "warn",
  "warn-badly",
  "audit",
  "no-response",
  "empty-response",
  "other-uid",
  "other-version",
  "unknown-version",
  "other-kind",
  "no-kind",
  "wrong-type",
  "text",
  "empty",
  "list",
  "broken",
  "broken-silently",
  "away",
  "hang-up",
  "patch",
];

const special = [
  hook("silent", { timeoutSeconds: 1 }),
  hook("echo"),
  hook("ignored", {
    clientConfig: { url: "${hook}/broken", caBundle: "${authority}" },
    failurePolicy: "Ignore",
  }),
  hook("ignored-refusal", {
    clientConfig: { url: "${hook}/deny", caBundle: "${authority}" },
    failurePolicy: "Ignore",
  }),
  hook("untrusted", { clientConfig: { url: "${hook}/allow" } }),
  hook("condition-fails", {
    matchConditions: [
      { name: "a", expression: "object.data.none == 'x'" },
      { name: "b", expression: "object.data.other == 'x'" },
    ],
  }),
  hook("condition-fails-ignored", {
    failurePolicy: "Ignore",
    matchConditions: [{ name: "a", expression: "object.data.none == 'x'" }],
  }),
  hook("condition-false", {
    matchConditions: [
      { name: "a", expression: "object.data.none == 'x'" },
      { name: "b", expression: "request.operation == 'DELETE'" },
    ],
  }),
];

const changes = [
  "patch",
  "patch-again",
  "patch-nothing",
  "patch-name",
  "patch-labels",
  "patch-finalizer",
  "patch-type",
  "patch-unknown",
  "patch-kind",
  "patch-missing",
  "patch-test",
  "patch-operation",
  "patch-object",
  "patch-text",
  "patch-untyped",
  "patch-merge",
  "patch-merge-nothing",
  "patch-empty-type",
  "patch-type-only",
  "patch-no-base64",
];

const told = { ...asking("echo"), annotations: { a: "b" } };
const seen = [
  post("told: a create", `${dry}&fieldManager=m`, configMap("echo", { a: "b" }, told)),
  post("told: of a generated name", dry, {
    ...configMap("", undefined, { generateName: "echo-" }),
    metadata: { generateName: "echo-", labels: told.labels },
  }),
  post("one to change", at, configMap("told", { a: "b" }), { view: withoutManagers }),
  put("told: an update", `${at}/told?dryRun=All`, configMap("told", { c: "d" }, told)),
  patch("merge", "told: a patch", `${at}/told?dryRun=All&fieldValidation=Warn`, {
    metadata: { labels: told.labels },
    data: { e: "f" },
  }),
  patch(
    "merge",
    "label it",
    `${at}/told`,
    { metadata: { labels: asking("warn").labels } },
    { view: withoutManagers },
  ),
  remove("told of a deletion", `${at}/told?dryRun=All`, undefined, { view: withoutManagers }),
];

const seenBefore = [
  post("told before: a create", dry, configMap("echo", { a: "b" }, told)),
  post("told before: of a generated name", dry, {
    ...configMap("", undefined),
    metadata: { generateName: "echo-", labels: told.labels },
  }),
  put("told before: an update", `${at}/told?dryRun=All`, configMap("told", { c: "d" }, told)),
  patch("merge", "told before: a patch", `${at}/told?dryRun=All`, {
    metadata: { labels: told.labels },
  }),
  put("an update changed by a hook, and owned", `${at}/told?dryRun=All`, {
    ...configMap("told", { a: "c" }, asking("patch")),
  }),
  patch("merge", "a patch changed by a hook, and owned", `${at}/told?dryRun=All`, {
    metadata: asking("patch", "patch-labels"),
  }),
  patch("apply", "an apply changed by a hook, and owned", `${at}/told?dryRun=All&fieldManager=m`, {
    ...configMap("told", { x: "y" }, asking("patch-again")),
  }),
];

export const webhooks: CorpusTopic = {
  name: "webhooks",
  requests: [
    namespace("webhooks"),
    post(
      "validating hooks",
      `${group}/validatingwebhookconfigurations`,
      {
        metadata: { name: "corpus" },
        webhooks: [...answers.map((name) => hook(name)), ...special],
      },
      { view: (body) => ({ kind: (body as { kind: string }).kind }) },
    ),
    ask("validating", answers[0] as string, { until: denied }),
    ...answers.slice(1).map((name) => ask("validating", name)),
    ...special
      .map(({ name }) => name.replace(".example.com", ""))
      .filter((name) => name !== "echo")
      .map((name) => ask("validating", name)),
    ...seen,
    remove("validating hooks: gone", `${group}/validatingwebhookconfigurations/corpus`),
    post("without them", dry, configMap("deny", undefined, asking("deny")), {
      until: ({ status }) => status === 201,
      view: withoutManagers,
    }),
    post(
      "mutating hooks",
      `${group}/mutatingwebhookconfigurations`,
      {
        metadata: { name: "corpus" },
        webhooks: [...changes.map((name) => hook(name)), hook("deny"), hook("warn"), hook("echo")],
      },
      { view: (body) => ({ kind: (body as { kind: string }).kind }) },
    ),
    ask("mutating", "deny", { until: denied }),
    ...[...changes, "warn"].map((name) => ask("mutating", name)),
    post("mutating: two in a row", dry, {
      ...configMap("two", undefined, asking("patch", "patch-again")),
    }),
    post("changed by a hook, and owned", dry, configMap("one", undefined, asking("patch"))),
    ...seenBefore,
    remove("mutating hooks: gone", `${group}/mutatingwebhookconfigurations/corpus`),
  ],
};
