/**
 * What admission refuses: policies, webhooks that cannot be asked, quotas; and configurations that
 * are refused themselves.
 */
import type { CorpusTopic } from "../corpus-request.ts";
import { configMap, namespace, post, put, remove } from "../requests.ts";

const group = "/apis/admissionregistration.k8s.io/v1";
const cm = "/api/v1/namespaces/admission/configmaps";
const quotas = "/api/v1/namespaces/admission-quota/resourcequotas";
const here = { matchLabels: { "kubernetes.io/metadata.name": "admission" } };
const rules = [
  { apiGroups: [""], apiVersions: ["v1"], operations: ["CREATE"], resources: ["configmaps"] },
];
const policy = (name: string, spec: object) => ({
  metadata: { name },
  spec: { matchConstraints: { namespaceSelector: here, resourceRules: rules }, ...spec },
});
const bind = (policyName: string, validationActions: readonly string[] = ["Deny"]) =>
  post(`bind ${policyName}`, `${group}/validatingadmissionpolicybindings`, {
    metadata: { name: policyName },
    spec: { policyName, validationActions },
  });
const policies = `${group}/validatingadmissionpolicies`;
const hook = (rest: object) => ({
  metadata: { name: "admission-hook" },
  webhooks: [
    {
      name: "hook.example.com",
      clientConfig: { url: "https://127.0.0.1:1/hook" },
      namespaceSelector: here,
      rules,
      sideEffects: "None",
      admissionReviewVersions: ["v1"],
      ...rest,
    },
  ],
});
const hooks = `${group}/validatingwebhookconfigurations`;
const denied = { until: ({ status }: { readonly status: number }) => status >= 400 };
const dry = `${cm}?dryRun=All`;

const denials = [
  post("policy: a plain rule", policies, {
    ...policy("admission-1", { validations: [{ expression: "object.metadata.name != 'plain'" }] }),
  }),
  post("policy: with words", policies, {
    ...policy("admission-2", {
      validations: [
        {
          expression: "object.metadata.name != 'worded'",
          messageExpression: "'no ' + object.metadata.name",
          reason: "Forbidden",
        },
      ],
    }),
  }),
  post("policy: that fails", policies, {
    ...policy("admission-3", {
      validations: [{ expression: "object.metadata.name != 'fails' || object.data.x == 'y'" }],
    }),
  }),
  ...["admission-1", "admission-2", "admission-3"].map((name) => bind(name)),
  post("denied by a plain rule", dry, configMap("plain"), denied),
  post("denied with words", dry, configMap("worded"), denied),
  post("denied because it failed", dry, configMap("fails"), denied),
  ...[1, 2, 3].flatMap((n) => [
    remove(`unbind ${n}`, `${group}/validatingadmissionpolicybindings/admission-${n}`),
    remove(`remove ${n}`, `${policies}/admission-${n}`),
  ]),
];

const quota = { apiVersion: "v1", kind: "ResourceQuota", metadata: { name: "few" } };
const counted = [
  namespace("admission-quota"),
  post("quota", quotas, { ...quota, spec: { hard: { configmaps: "1", "count/secrets": "5" } } }),
  put("quota: counted", `${quotas}/few/status`, {
    ...quota,
    status: {
      hard: { configmaps: "1", "count/secrets": "5" },
      used: { configmaps: "1", "count/secrets": "0" },
    },
  }),
  post(
    "quota: exceeded",
    "/api/v1/namespaces/admission-quota/configmaps",
    configMap("one"),
    denied,
  ),
];

export const admission: CorpusTopic = {
  name: "admission",
  requests: [
    namespace("admission"),
    ...denials,
    post("policy: does not compile", policies, {
      ...policy("bad", { validations: [{ expression: "object.x +" }] }),
    }),
    post("policy: is no rule", policies, {
      ...policy("bad", { validations: [{ expression: "'text'" }] }),
    }),
    post("policy: without rules", policies, policy("bad", {})),
    post("policy: without anything", policies, { metadata: { name: "bad" } }),
    post("binding: without anything", `${group}/validatingadmissionpolicybindings`, {
      metadata: { name: "bad" },
    }),
    post("binding: denies and warns", `${group}/validatingadmissionpolicybindings`, {
      metadata: { name: "bad" },
      spec: { policyName: "p", validationActions: ["Deny", "Warn"] },
    }),
    post("hook", hooks, hook({})),
    post("hook: cannot be asked", dry, configMap("asked"), denied),
    remove("hook: gone", `${hooks}/admission-hook`),
    post("hook: to a service", hooks, {
      ...hook({ clientConfig: { service: { namespace: "admission", name: "none" } } }),
    }),
    post("hook: of a service that is not there", dry, configMap("asked"), denied),
    remove("hook: gone, too", `${hooks}/admission-hook`),
    post("hook: without a scheme", hooks, hook({ clientConfig: { url: "127.0.0.1/hook" } })),
    post("hook: by http", hooks, hook({ clientConfig: { url: "http://127.0.0.1/hook" } })),
    post("hook: nowhere", hooks, hook({ clientConfig: {} })),
    post("hook: with effects", hooks, hook({ sideEffects: "Some" })),
    post("hook: a short name", hooks, hook({ name: "hook" })),
    post("hook: patience", hooks, hook({ timeoutSeconds: 31 })),
    post("hook: of no version", hooks, hook({ admissionReviewVersions: [] })),
    post("hook: of an unknown version", hooks, hook({ admissionReviewVersions: ["v9"] })),
    post("hook: a bad condition", hooks, {
      ...hook({ matchConditions: [{ name: "c", expression: "object +" }] }),
    }),
    ...counted,
  ],
};
