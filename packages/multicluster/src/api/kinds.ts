/**
 * The kinds of physical clusters as definitions: every logical cluster serves them without a
 * CustomResourceDefinition of its own.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { drainSpecSchema, drainStatusSchema } from "./drain.ts";
import { serviceExportKind, serviceImportKind } from "./multicluster-services.ts";
import { apiVersionAnnotation } from "./names.ts";
import { locationKind, placementKind, resourceLimits, taints } from "./scheduling-kinds.ts";
import {
  ageColumn,
  arrayType,
  column,
  conditionColumn,
  conditions,
  objectType,
  resourceSchema,
  stringType,
} from "./schema-builders.ts";
import { syncPolicyKind } from "./sync-policy.ts";
import { clusterDaemonSetKind, workloadStrategyKind } from "./workload-kinds.ts";

export interface KindDefinition {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly resource: string;
  /** Whether the kind is namespaced; false if omitted. */
  readonly isNamespaced?: boolean;
  readonly shortNames?: readonly string[];
  readonly categories: readonly string[];
  readonly columns: readonly JsonObject[];
  readonly hasStatus: boolean;
  /** The schema of the complete object. */
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
          description:
            "Cordoned: the scheduler assigns nothing new to the cluster; running workloads stay.",
        },
        evictAfter: stringType("From then on, what is assigned to the cluster has to leave it.", {
          format: "date-time",
        }),
        resources: arrayType(stringType("", { minLength: 1, maxLength: 317 }), {
          description:
            'What is synced, as in "deployments.apps"; "*" is everything that can be. The default is the list of the control plane.',
          maxItems: 500,
          "x-kubernetes-list-type": "set",
        }),
        taints,
        resourceLimits: {
          ...resourceLimits,
          description:
            "The most that all workspaces together may use of the cluster. A resource named here replaces the capacity that the cluster reports.",
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
      capacity: { ...quantities, description: "The capacity of all nodes together." },
      allocatable: {
        ...quantities,
        description: "The part of the capacity that workloads may use.",
      },
      reserved: {
        ...quantities,
        description: "The resource requests of the workloads that are assigned to the cluster.",
      },
      syncedResources: arrayType(stringType(), {
        description: "The synced resources, as resource.group.",
      }),
      lastHeartbeatTime: stringType("When the syncer was last heard of.", { format: "date-time" }),
      nextHeartbeatTime: stringType(
        "The time by which the agent writes its next heartbeat, by the agent's clock. Without a tunnel, an agent that misses it counts as lost.",
        { format: "date-time" },
      ),
      leaseDurationSeconds: {
        type: "integer",
        format: "int32",
        description:
          "The time after its last valid heartbeat at which the agent stops workloads whose failover strategy is StopBeforeStart.",
      },
      tunnel: objectType({
        id: stringType("Of the newest tunnel that the agent has dialled."),
        server: stringType(
          "The server process that holds the tunnel. When that process ends, the agent connects again or writes a heartbeat within seconds, or it counts as lost.",
        ),
        disconnectedAt: stringType(
          "The newest heartbeat when the tunnel broke. The agent counts as lost until the next heartbeat.",
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
          description: "Whether a CustomResourceDefinition of the workspace serves the API.",
        },
        ...apiResourceProperties,
      },
      { required: apiResourceRequired },
    ),
    objectType({ conditions }),
    { required: ["spec"] },
  ),
};

/** The kinds in the order of their registration. */
export const multiclusterKinds: readonly KindDefinition[] = [
  syncTargetKind,
  apiResourceImportKind,
  negotiatedApiResourceKind,
  clusterDaemonSetKind,
  workloadStrategyKind,
  syncPolicyKind,
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
