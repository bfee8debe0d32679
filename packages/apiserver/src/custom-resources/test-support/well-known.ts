/**
 * Definitions modelled on widely used projects: certificates, compositions, applications, monitors,
 * routes. They are smaller than the originals, and use the same keywords.
 */
import type { AnyObject } from "../../testing/index.ts";

const reason = { type: "string" };
const integer = { type: "integer" };
const texts = { type: "array", items: reason };
const map = { type: "object", additionalProperties: reason };
const object = (properties: object, more: object = {}) => ({ type: "object", properties, ...more });
const list = (items: object, more: object = {}) => ({ type: "array", items, ...more });
const keyed = (items: object, ...keys: string[]) =>
  list(items, { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": keys });

const conditions = keyed(
  object(
    {
      type: { ...reason, maxLength: 316 },
      status: { ...reason, enum: ["True", "False", "Unknown"] },
      reason,
      message: { ...reason, maxLength: 32768 },
      lastTransitionTime: { ...reason, format: "date-time" },
      observedGeneration: { ...integer, format: "int64", minimum: 0 },
    },
    { required: ["type", "status"] },
  ),
  "type",
);

interface Kind {
  readonly group: string;
  readonly plural: string;
  readonly kind: string;
  readonly version: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly scope?: string;
  readonly spec: object;
  readonly status?: object;
  readonly columns?: readonly object[];
  readonly annotations?: Record<string, string>;
}

function define(kind: Kind): AnyObject {
  const { group, plural, version, shortNames = [], categories = [], scope = "Namespaced" } = kind;
  const names = {
    plural,
    kind: kind.kind,
    singular: kind.kind.toLowerCase(),
    shortNames,
    categories,
  };
  const status = kind.status ?? object({ conditions });
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}`, annotations: kind.annotations ?? {} },
    spec: {
      group,
      scope,
      names,
      versions: [
        {
          name: version,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: kind.columns ?? [],
          schema: { openAPIV3Schema: object({ spec: kind.spec, status }, { required: ["spec"] }) },
        },
      ],
    },
  };
}

const readyColumn = (name: string, type: string) => ({
  name,
  type: "string",
  jsonPath: `.status.conditions[?(@.type=="${type}")].status`,
});

export const certificate = define({
  group: "cert-manager.io",
  plural: "certificates",
  kind: "Certificate",
  version: "v1",
  shortNames: ["cert", "certs"],
  categories: ["cert-manager"],
  columns: [
    readyColumn("Ready", "Ready"),
    { name: "Secret", type: "string", jsonPath: ".spec.secretName" },
    { name: "Issuer", type: "string", jsonPath: ".spec.issuerRef.name", priority: 1 },
    { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ],
  spec: object(
    {
      secretName: reason,
      duration: reason,
      dnsNames: texts,
      issuerRef: object({ name: reason, kind: reason, group: reason }, { required: ["name"] }),
      privateKey: object({
        algorithm: { ...reason, enum: ["RSA", "ECDSA", "Ed25519"] },
        rotationPolicy: { ...reason, enum: ["Never", "Always"], default: "Always" },
        size: integer,
      }),
      usages: list({ ...reason, enum: ["signing", "server auth", "client auth"] }),
      secretTemplate: object({ annotations: map, labels: map }),
    },
    { required: ["issuerRef", "secretName"] },
  ),
});

export const composition = define({
  group: "apiextensions.crossplane.io",
  plural: "compositions",
  kind: "Composition",
  version: "v1",
  scope: "Cluster",
  shortNames: ["comp"],
  categories: ["crossplane"],
  columns: [
    { name: "XR-KIND", type: "string", jsonPath: ".spec.compositeTypeRef.kind" },
    { name: "AGE", type: "date", jsonPath: ".metadata.creationTimestamp" },
  ],
  spec: object(
    {
      compositeTypeRef: object(
        { apiVersion: reason, kind: reason },
        {
          required: ["apiVersion", "kind"],
          "x-kubernetes-validations": [{ rule: "self == oldSelf", message: "Value is immutable" }],
        },
      ),
      mode: { ...reason, enum: ["Pipeline"], default: "Pipeline" },
      pipeline: {
        ...keyed(
          object(
            {
              step: { ...reason, maxLength: 63 },
              functionRef: object({ name: reason }, { required: ["name"] }),
              input: {
                type: "object",
                "x-kubernetes-embedded-resource": true,
                "x-kubernetes-preserve-unknown-fields": true,
              },
            },
            { required: ["step", "functionRef"] },
          ),
          "step",
        ),
        maxItems: 99,
      },
    },
    {
      required: ["compositeTypeRef"],
      "x-kubernetes-validations": [
        {
          rule: "self.mode == 'Pipeline' && has(self.pipeline)",
          message: "an array of pipeline steps is required in Pipeline mode",
        },
      ],
    },
  ),
});

export const application = define({
  group: "argoproj.io",
  plural: "applications",
  kind: "Application",
  version: "v1alpha1",
  shortNames: ["app", "apps"],
  columns: [
    { name: "Sync Status", type: "string", jsonPath: ".status.sync.status" },
    { name: "Health Status", type: "string", jsonPath: ".status.health.status" },
  ],
  spec: object(
    {
      project: reason,
      destination: object({ server: reason, namespace: reason, name: reason }),
      source: object(
        {
          repoURL: reason,
          path: reason,
          targetRevision: reason,
          helm: object({
            valuesObject: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
            parameters: list(
              object({ name: reason, value: reason, forceString: { type: "boolean" } }),
            ),
          }),
        },
        { required: ["repoURL"] },
      ),
      syncPolicy: object({
        automated: object({ prune: { type: "boolean" }, selfHeal: { type: "boolean" } }),
        syncOptions: texts,
        retry: object({ limit: { ...integer, format: "int64" } }),
      }),
    },
    { required: ["destination", "project"] },
  ),
  status: object({
    sync: object({ status: reason, revision: reason }, { required: ["status"] }),
    health: object({ status: reason }),
  }),
});

export const serviceMonitor = define({
  group: "monitoring.coreos.com",
  plural: "servicemonitors",
  kind: "ServiceMonitor",
  version: "v1",
  shortNames: ["smon"],
  categories: ["prometheus-operator"],
  spec: object(
    {
      selector: object(
        {
          matchLabels: map,
          matchExpressions: list(
            object(
              { key: reason, operator: reason, values: texts },
              { required: ["key", "operator"] },
            ),
            { "x-kubernetes-list-type": "atomic" },
          ),
        },
        { "x-kubernetes-map-type": "atomic" },
      ),
      endpoints: list(
        object({
          port: reason,
          targetPort: {
            anyOf: [{ type: "integer" }, { type: "string" }],
            "x-kubernetes-int-or-string": true,
          },
          interval: {
            ...reason,
            pattern:
              "^(0|(([0-9]+)y)?(([0-9]+)w)?(([0-9]+)d)?(([0-9]+)h)?(([0-9]+)m)?(([0-9]+)s)?(([0-9]+)ms)?)$",
          },
          scheme: { ...reason, enum: ["http", "https"] },
          params: { type: "object", additionalProperties: texts },
        }),
      ),
      sampleLimit: { ...integer, format: "int64" },
    },
    { required: ["endpoints", "selector"] },
  ),
});

export const httpRoute = define({
  group: "gateway.networking.k8s.io",
  plural: "httproutes",
  kind: "HTTPRoute",
  version: "v1",
  categories: ["gateway-api"],
  annotations: {
    "api-approved.kubernetes.io": "https://github.com/kubernetes-sigs/gateway-api/pull/3328",
  },
  columns: [{ name: "Hostnames", type: "string", jsonPath: ".spec.hostnames" }],
  spec: object({
    hostnames: list({ ...reason, minLength: 1, maxLength: 253 }, { maxItems: 16 }),
    rules: {
      ...list(
        object({
          name: { ...reason, minLength: 1, maxLength: 253 },
          matches: {
            ...list(
              object({
                method: { ...reason, enum: ["GET", "POST"] },
                path: object(
                  {
                    type: { ...reason, enum: ["Exact", "PathPrefix"], default: "PathPrefix" },
                    value: { ...reason, maxLength: 1024, default: "/" },
                  },
                  {
                    default: { type: "PathPrefix", value: "/" },
                    "x-kubernetes-validations": [
                      {
                        rule: "(self.type in ['Exact','PathPrefix']) ? self.value.startsWith('/') : true",
                        message:
                          "value must be an absolute path and start with '/' when type one of ['Exact', 'PathPrefix']",
                      },
                    ],
                  },
                ),
              }),
            ),
            maxItems: 64,
            default: [{ path: { type: "PathPrefix", value: "/" } }],
          },
          backendRefs: list(
            object(
              {
                name: { ...reason, minLength: 1, maxLength: 253 },
                port: { ...integer, format: "int32", minimum: 1, maximum: 65535 },
                weight: { ...integer, format: "int32", default: 1, minimum: 0, maximum: 1_000_000 },
                kind: { ...reason, default: "Service", maxLength: 63 },
              },
              {
                required: ["name"],
                "x-kubernetes-validations": [
                  {
                    rule: "self.kind == 'Service' ? has(self.port) : true",
                    message: "Must have port for Service reference",
                  },
                ],
              },
            ),
            { maxItems: 16 },
          ),
        }),
        { "x-kubernetes-list-type": "atomic" },
      ),
      maxItems: 16,
      "x-kubernetes-validations": [
        {
          rule: "self.all(l1, !has(l1.name) || self.exists_one(l2, has(l2.name) && l1.name == l2.name))",
          message: "Rule name must be unique within the route",
        },
      ],
    },
  }),
});

/** For each kind, an object that users write and an object that is rejected. */
export const samples: readonly {
  readonly definition: AnyObject;
  readonly spec: object;
  readonly stored?: object;
  readonly bad: object;
  readonly message: RegExp;
}[] = [
  {
    definition: certificate,
    spec: {
      secretName: "s",
      issuerRef: { name: "ca" },
      dnsNames: ["a.example.com"],
      privateKey: {},
    },
    stored: {
      secretName: "s",
      issuerRef: { name: "ca" },
      dnsNames: ["a.example.com"],
      privateKey: { rotationPolicy: "Always" },
    },
    bad: { secretName: "s", issuerRef: { name: "ca" }, usages: ["nothing"] },
    message:
      /spec\.usages\[0\]: Unsupported value: "nothing": supported values: "signing", "server auth", "client auth"/,
  },
  {
    definition: composition,
    spec: {
      compositeTypeRef: { apiVersion: "x.example.com/v1", kind: "X" },
      pipeline: [
        {
          step: "one",
          functionRef: { name: "f" },
          input: { apiVersion: "pt.fn/v1", kind: "Resources", anything: { goes: [1, 2] } },
        },
      ],
      mode: "Pipeline",
    },
    bad: { compositeTypeRef: { apiVersion: "x.example.com/v1", kind: "X" } },
    message: /spec: Invalid value: an array of pipeline steps is required in Pipeline mode/,
  },
  {
    definition: application,
    spec: {
      project: "default",
      destination: { server: "https://x", namespace: "n" },
      source: { repoURL: "https://git", helm: { valuesObject: { a: { b: 1 } } } },
    },
    bad: { project: "default" },
    message: /spec\.destination: Required value/,
  },
  {
    definition: serviceMonitor,
    spec: {
      selector: { matchLabels: { app: "x" } },
      endpoints: [{ targetPort: 80, interval: "30s" }],
    },
    bad: { selector: {}, endpoints: [{ interval: "soon" }] },
    message: /spec\.endpoints\[0\]\.interval in body should match/,
  },
  {
    definition: httpRoute,
    spec: { hostnames: ["a"], rules: [{ backendRefs: [{ name: "svc", port: 80 }] }] },
    stored: {
      hostnames: ["a"],
      rules: [
        {
          backendRefs: [{ name: "svc", port: 80, weight: 1, kind: "Service" }],
          matches: [{ path: { type: "PathPrefix", value: "/" } }],
        },
      ],
    },
    bad: { rules: [{ backendRefs: [{ name: "svc" }] }] },
    message:
      /spec\.rules\[0\]\.backendRefs\[0\]: Invalid value: Must have port for Service reference/,
  },
];
