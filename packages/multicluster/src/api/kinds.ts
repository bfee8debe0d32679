/** The kinds of physical clusters as definitions: every logical cluster serves them without a CustomResourceDefinition of its own. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { drainSpecSchema, drainStatusSchema } from "./drain.ts";
import { serviceExportKind, serviceImportKind } from "./multicluster-services.ts";
import { apiVersionAnnotation } from "./names.ts";
import {
  ageColumn,
  arrayType,
  column,
  conditionColumn,
  conditions,
  objectType,
  resourceSchema,
  stringType,
} from "./notation.ts";
import { locationKind, placementKind, resourceLimits, taints } from "./scheduling-kinds.ts";
import { clusterDaemonSetKind, workloadStrategyKind } from "./workload-kinds.ts";

export interface KindDefinition {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly resource: string;
  /** False if left out. */
  readonly isNamespaced?: boolean;
  readonly shortNames?: readonly string[];
  readonly categories: readonly string[];
  readonly columns: readonly JsonObject[];
  readonly hasStatus: boolean;
  /** Of the whole object. */
  readonly schema: JsonObject;
}

const version = "v1alpha1";
const categories = ["kcp"];

const quantities: JsonObject = {
  type: "object",
  additionalProperties: {
    anyOf: [{ type: "integer" }, { type: "string" }],
    "x-kubernetes-int-or-string": true,
  },
};

export const syncTargetKind: KindDefinition = {
  group: "workload.kcp.io",
  version,
  kind: "SyncTarget",
  resource: "synctargets",
  shortNames: ["cluster", "clusters", "st"],
  categories,
  hasStatus: true,
  columns: [
    column("Location", ".metadata.name", { priority: 1 }),
    conditionColumn("Ready"),
    column("Reason", '.status.conditions[?(@.type=="Ready")].reason'),
    column("Version", ".status.version"),
    column("Mode", ".spec.mode", { priority: 1 }),
    column("Synced API resources", ".status.syncedResources", { priority: 1 }),
    ageColumn,
  ],
  schema: resourceSchema(
    "A physical cluster: what is assigned to it by name is synced to it.",
    objectType(
      {
        kubeconfig: stringType(
          "How to connect to the cluster: a kubeconfig, of which the current context counts. Shown only to those who may read Secrets here.",
          { maxLength: 262_144 },
        ),
        kubeconfigSecretRef: objectType(
          {
            namespace: stringType("", { minLength: 1, maxLength: 63 }),
            name: stringType("", { minLength: 1, maxLength: 253 }),
            key: stringType("The key in the Secret's data.", {
              default: "kubeconfig",
              minLength: 1,
              maxLength: 253,
            }),
          },
          {
            description: "The Secret that holds the kubeconfig, instead of kubeconfig.",
            required: ["namespace", "name"],
          },
        ),
        mode: stringType(
          "Push: the control plane connects to the cluster. Pull: an agent in the cluster connects to the control plane. None: somebody runs a syncer by hand.",
          { enum: ["Push", "Pull", "None"], default: "Push" },
        ),
        unschedulable: {
          type: "boolean",
          default: false,
          description: "Nothing new is assigned to the cluster; what is there stays.",
        },
        evictAfter: stringType("From then on, what is assigned to the cluster has to leave it.", {
          format: "date-time",
        }),
        resources: arrayType(stringType("", { minLength: 1, maxLength: 317 }), {
          description:
            'What is synced, as in "deployments.apps"; "*" is everything that can be. By default what the control plane is told to sync.',
          maxItems: 500,
          "x-kubernetes-list-type": "set",
        }),
        taints,
        bounds: {
          ...resourceLimits,
          description:
            "What may be used of the cluster at most, by all workspaces together. What is named here takes the place of what the cluster reports.",
        },
        drain: drainSpecSchema,
      },
      {
        default: {},
        "x-kubernetes-validations": [
          {
            rule: "!(has(self.kubeconfig) && size(self.kubeconfig) > 0 && has(self.kubeconfigSecretRef))",
            message: "kubeconfig and kubeconfigSecretRef exclude each other",
          },
        ],
      },
    ),
    objectType({
      conditions,
      version: stringType("The cluster's version of Kubernetes."),
      capacity: { ...quantities, description: "What all nodes together have." },
      allocatable: { ...quantities, description: "What of it workloads may use." },
      reserved: { ...quantities, description: "What is asked for by what is placed here." },
      syncedResources: arrayType(stringType(), {
        description: "What is synced, by resource.group.",
      }),
      lastHeartbeatTime: stringType("When the syncer was last heard of.", { format: "date-time" }),
      nextHeartbeatTime: stringType(
        "When the agent will have written its next heartbeat, by its own clock. Without a tunnel, one that stays away makes the agent count as silent.",
        { format: "date-time" },
      ),
      leaseDurationSeconds: {
        type: "integer",
        format: "int32",
        description:
          "So long after its last heartbeat that counted, the agent stops what may run once at most.",
      },
      tunnel: objectType({
        id: stringType("Of the newest tunnel that the agent has dialled."),
        server: stringType(
          "The server process that has it. Once that is gone, the agent has to dial or to write a heartbeat within seconds, or counts as silent.",
        ),
        brokenAfter: stringType(
          "It broke off, and this was the last heartbeat then. The agent counts as silent until the next one comes.",
        ),
      }),
      drain: drainStatusSchema,
    }),
  ),
};

const apiResourceProperties: Readonly<Record<string, JsonObject>> = {
  groupVersion: objectType(
    {
      group: stringType("Left out, or core: the core group.", { maxLength: 253 }),
      version: stringType("", { minLength: 1, maxLength: 63 }),
    },
    { required: ["version"] },
  ),
  scope: stringType("", { enum: ["Namespaced", "Cluster"] }),
  plural: stringType("", { minLength: 1, maxLength: 63 }),
  singular: stringType(),
  kind: stringType("", { minLength: 1, maxLength: 63 }),
  listKind: stringType(),
  shortNames: arrayType(stringType(), { "x-kubernetes-list-type": "atomic" }),
  categories: arrayType(stringType(), { "x-kubernetes-list-type": "atomic" }),
  openAPIV3Schema: {
    type: "object",
    "x-kubernetes-preserve-unknown-fields": true,
    "x-kubernetes-map-type": "atomic",
    description: "The structural schema of the objects.",
  },
  subResources: arrayType(objectType({ name: stringType() }, { required: ["name"] }), {
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
  }),
  columnDefinitions: arrayType(
    objectType(
      {
        name: stringType(),
        type: stringType(),
        format: stringType(),
        description: stringType(),
        priority: { type: "integer", format: "int32" },
        jsonPath: stringType(),
      },
      { required: ["name", "type"] },
    ),
    { "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"] },
  ),
};
const apiResourceRequired = ["groupVersion", "scope", "plural", "kind", "openAPIV3Schema"];
const apiColumns = [
  column("API Version", `.metadata.annotations.${apiVersionAnnotation.replaceAll(".", "\\.")}`),
  column("API Resource", ".spec.plural"),
];

export const apiResourceImportKind: KindDefinition = {
  group: "apiresource.kcp.io",
  version,
  kind: "APIResourceImport",
  resource: "apiresourceimports",
  categories,
  hasStatus: true,
  columns: [
    column("Location", ".spec.location"),
    column("Schema update strategy", ".spec.schemaUpdateStrategy"),
    ...apiColumns,
    conditionColumn("Compatible"),
    conditionColumn("Available"),
  ],
  schema: resourceSchema(
    "An API as one physical cluster serves it.",
    objectType(
      {
        location: stringType("The SyncTarget of the cluster.", { minLength: 1, maxLength: 253 }),
        schemaUpdateStrategy: stringType(
          "Whether this import may narrow what was negotiated: never, until it is published, or also afterwards.",
          {
            enum: ["UpdateNever", "UpdateUnpublished", "UpdatePublished"],
            default: "UpdateUnpublished",
          },
        ),
        ...apiResourceProperties,
      },
      { required: ["location", ...apiResourceRequired] },
    ),
    objectType({ conditions }),
    { required: ["spec"] },
  ),
};

export const negotiatedApiResourceKind: KindDefinition = {
  group: "apiresource.kcp.io",
  version,
  kind: "NegotiatedAPIResource",
  resource: "negotiatedapiresources",
  categories,
  hasStatus: true,
  columns: [
    column("Publish", ".spec.publish", { type: "boolean" }),
    ...apiColumns,
    conditionColumn("Published"),
    conditionColumn("Enforced"),
  ],
  schema: resourceSchema(
    "An API as all physical clusters that take part serve it.",
    objectType(
      {
        publish: {
          type: "boolean",
          default: false,
          description: "Whether the API is served here, by a CustomResourceDefinition.",
        },
        ...apiResourceProperties,
      },
      { required: apiResourceRequired },
    ),
    objectType({ conditions }),
    { required: ["spec"] },
  ),
};

/** In the order in which they are registered. */
export const multiclusterKinds: readonly KindDefinition[] = [
  syncTargetKind,
  apiResourceImportKind,
  negotiatedApiResourceKind,
  clusterDaemonSetKind,
  workloadStrategyKind,
  locationKind,
  placementKind,
  serviceExportKind,
  serviceImportKind,
];

/** The kind as a CustomResourceDefinition, for servers that do not have it built in. */
export function definitionOfKind(kind: KindDefinition): JsonObject {
  const { group, resource, shortNames = [], columns, schema, hasStatus } = kind;
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${resource}.${group}` },
    spec: {
      group,
      scope: kind.isNamespaced === true ? "Namespaced" : "Cluster",
      names: {
        plural: resource,
        singular: kind.kind.toLowerCase(),
        kind: kind.kind,
        listKind: `${kind.kind}List`,
        shortNames: [...shortNames],
        categories: [...kind.categories],
      },
      versions: [
        {
          name: kind.version,
          served: true,
          storage: true,
          schema: { openAPIV3Schema: schema },
          additionalPrinterColumns: [...columns],
          ...(hasStatus ? { subresources: { status: {} } } : {}),
        },
      ],
    },
  };
}
