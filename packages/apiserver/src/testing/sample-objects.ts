/**
 * A valid object of every built-in kind, for tests that iterate over all of them. Each has a place
 * for a value that identifies its tenant.
 */
export interface SampleKind {
  /** `/api/v1` or `/apis/<group>/<version>`. */
  readonly base: string;
  readonly resource: string;
  readonly kind: string;
  readonly isNamespaced: boolean;
  /** The members besides metadata; `value` is somewhere in them. */
  readonly body: (value: string, namespace: string) => object;
}

/** For CN=sample, with a P-256 key that was discarded. */
export const sampleRequest =
  "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlITE1ITUNBUUF3RVRFUE1BMEdBMVVFQXd3R2MyRnRjR3hsTUZrd0V3WUhLb1pJemowQ0FRWUlLb1pJemowRApBUWNEUWdBRWlVeW5mMktDbU0wY2JFK05YZVlyV3U5QjNhZC9HbGw1enlMNXN5YUVoeWJqcXdpQzFsZ3ZZZ1paCnRaOVJpYkNKV3RoVUhITkF0MDZLK3lmTHUyRFAxYUFBTUFvR0NDcUdTTTQ5QkFNQ0EwZ0FNRVVDSUZRNWhoU04KTU1uU1JwcUFJZEIvRFB2bjJQZm9EeFc1bU9pVktNbVMwVDRBQWlFQXkvY0xaMjMvOEtFVk5NSHBHZjdTUC94MwpNditzamdVdlZqUFoyUDRJSnlBPQotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const flowcontrol = "/apis/flowcontrol.apiserver.k8s.io/v1";
const admission = "/apis/admissionregistration.k8s.io/v1";
const group = "rbac.authorization.k8s.io";
const rule = {
  operations: ["CREATE"],
  apiGroups: ["example.com"],
  apiVersions: ["v1"],
  resources: ["widgets"],
};
const webhook = (value: string) => ({
  name: "check.example.com",
  clientConfig: { url: `https://example.com/${value}` },
  rules: [rule],
  sideEffects: "None",
  admissionReviewVersions: ["v1"],
});
const policy = { matchConstraints: { resourceRules: [rule] } };

export const sampleKinds: readonly SampleKind[] = [
  sampleKind("/api/v1", "configmaps", "ConfigMap", "namespaced", (value) => ({
    data: { k: value },
  })),
  sampleKind("/api/v1", "events", "Event", "namespaced", (value, namespace) => ({
    involvedObject: { kind: "ConfigMap", name: "x", namespace },
    message: value,
  })),
  sampleKind("/api/v1", "namespaces", "Namespace", "cluster", () => ({})),
  sampleKind("/api/v1", "resourcequotas", "ResourceQuota", "namespaced", (value) => ({
    spec: { hard: { [`count/${value}.example.com`]: "5" } },
  })),
  sampleKind("/api/v1", "secrets", "Secret", "namespaced", (value) => ({
    stringData: { k: value },
  })),
  sampleKind("/api/v1", "serviceaccounts", "ServiceAccount", "namespaced", (value) => ({
    imagePullSecrets: [{ name: value }],
  })),
  sampleKind("/apis/events.k8s.io/v1", "events", "Event", "namespaced", (value, namespace) => ({
    eventTime: "2026-11-15T10:00:00.000000Z",
    reportingController: "example.com/c",
    reportingInstance: "c-1",
    action: "Testing",
    reason: "Tested",
    type: "Normal",
    note: value,
    regarding: { kind: "ConfigMap", name: "x", namespace },
  })),
  sampleKind(
    "/apis/certificates.k8s.io/v1",
    "certificatesigningrequests",
    "CertificateSigningRequest",
    "cluster",
    (value) => ({
      spec: { request: sampleRequest, signerName: `example.com/${value}`, usages: ["client auth"] },
    }),
  ),
  sampleKind(rbac, "clusterrolebindings", "ClusterRoleBinding", "cluster", (value) => ({
    roleRef: { apiGroup: group, kind: "ClusterRole", name: "x" },
    subjects: [{ apiGroup: group, kind: "User", name: value }],
  })),
  sampleKind(rbac, "clusterroles", "ClusterRole", "cluster", (value) => ({
    rules: [{ apiGroups: [value], resources: ["*"], verbs: ["get"] }],
  })),
  sampleKind(rbac, "rolebindings", "RoleBinding", "namespaced", (value) => ({
    roleRef: { apiGroup: group, kind: "Role", name: "x" },
    subjects: [{ apiGroup: group, kind: "User", name: value }],
  })),
  sampleKind(rbac, "roles", "Role", "namespaced", (value) => ({
    rules: [{ apiGroups: [value], resources: ["*"], verbs: ["get"] }],
  })),
  sampleKind(
    admission,
    "mutatingadmissionpolicies",
    "MutatingAdmissionPolicy",
    "cluster",
    (value) => ({
      spec: {
        ...policy,
        reinvocationPolicy: "Never",
        mutations: [
          { patchType: "JSONPatch", jsonPatch: { expression: `[JSONPatch{op: "${value}"}]` } },
        ],
      },
    }),
  ),
  sampleKind(
    admission,
    "mutatingadmissionpolicybindings",
    "MutatingAdmissionPolicyBinding",
    "cluster",
    (value) => ({ spec: { policyName: value } }),
  ),
  sampleKind(
    admission,
    "mutatingwebhookconfigurations",
    "MutatingWebhookConfiguration",
    "cluster",
    (value) => ({ webhooks: [webhook(value)] }),
  ),
  sampleKind(
    admission,
    "validatingadmissionpolicies",
    "ValidatingAdmissionPolicy",
    "cluster",
    (value) => ({ spec: { ...policy, validations: [{ expression: `object.x == "${value}"` }] } }),
  ),
  sampleKind(
    admission,
    "validatingadmissionpolicybindings",
    "ValidatingAdmissionPolicyBinding",
    "cluster",
    (value) => ({ spec: { policyName: value, validationActions: ["Deny"] } }),
  ),
  sampleKind(
    admission,
    "validatingwebhookconfigurations",
    "ValidatingWebhookConfiguration",
    "cluster",
    (value) => ({ webhooks: [webhook(value)] }),
  ),
  sampleKind("/apis/coordination.k8s.io/v1", "leases", "Lease", "namespaced", (value) => ({
    spec: { holderIdentity: value },
  })),
  sampleKind(flowcontrol, "flowschemas", "FlowSchema", "cluster", (value) => ({
    spec: { priorityLevelConfiguration: { name: value } },
  })),
  sampleKind(
    flowcontrol,
    "prioritylevelconfigurations",
    "PriorityLevelConfiguration",
    "cluster",
    // The kind has no place for a text; its labels identify the tenant.
    (value) => ({
      spec: {
        type: "Limited",
        limited: {
          nominalConcurrencyShares: value.charCodeAt(0),
          limitResponse: { type: "Reject" },
        },
      },
    }),
  ),
];

export function sampleKind(
  base: string,
  resource: string,
  name: string,
  scope: "namespaced" | "cluster",
  body: SampleKind["body"],
): SampleKind {
  return { base, resource, kind: name, isNamespaced: scope === "namespaced", body };
}

export function sampleObject(sample: SampleKind, name: string, namespace = "default"): object {
  const apiVersion = sample.base.replace(/^\/apis?\//, "");
  return { kind: sample.kind, apiVersion, metadata: { name }, ...sample.body("x", namespace) };
}

export function collectionPath(
  { base, resource, isNamespaced }: SampleKind,
  namespace = "default",
) {
  return isNamespaced ? `${base}/namespaces/${namespace}/${resource}` : `${base}/${resource}`;
}
