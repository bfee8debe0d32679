/**
 * APIs as objects: the APIs that one cluster serves (APIResourceImport), and the APIs that all
 * clusters have in common (NegotiatedAPIResource).
 */
import {
  anyObject,
  atomic,
  bool,
  column,
  conditionColumn,
  int32,
  keyedBy,
  kindSchema,
  list,
  type ObjectOf,
  object,
  type SystemKind,
  string,
  type TypeOf,
} from "@kcp-ts/machinery/schema";
import { findCondition, type KubernetesObject } from "@kcp-ts/sdk";
import { categories, conditions, resourceOf, version } from "./kind-schemas.ts";
import { apiVersionAnnotation } from "./names.ts";

const group = "apiresource.kcp.io";

const apiResource = {
  groupVersion: object(
    {
      group: string("Left out, or core: the core group.", { maxLength: 253 }),
      version: string("", { minLength: 1, maxLength: 63 }),
    },
    { required: ["version"] },
  ),
  scope: string("", { enum: ["Namespaced", "Cluster"] }),
  plural: string("", { minLength: 1, maxLength: 63 }),
  singular: string(),
  kind: string("", { minLength: 1, maxLength: 63 }),
  listKind: string(),
  shortNames: list(string(), atomic),
  categories: list(string(), atomic),
  openAPIV3Schema: anyObject("The structural schema of the objects.", {
    "x-kubernetes-map-type": "atomic",
  }),
  subResources: list(object({ name: string() }, { required: ["name"] }), keyedBy("name")),
  columnDefinitions: list(
    object(
      {
        name: string(),
        type: string(),
        format: string(),
        description: string(),
        priority: int32(),
        jsonPath: string(),
      },
      { required: ["name", "type"] },
    ),
    keyedBy("name"),
  ),
};
const required = ["groupVersion", "scope", "plural", "kind", "openAPIV3Schema"] as const;
export type ApiResourceSpec = ObjectOf<typeof apiResource, (typeof required)[number]>;

const apiResourceStatus = object({ conditions });
type ApiResourceStatus = TypeOf<typeof apiResourceStatus>;

const apiColumns = [
  column("API Version", `.metadata.annotations.${apiVersionAnnotation.replaceAll(".", "\\.")}`),
  column("API Resource", ".spec.plural"),
];

const importSpec = object(
  {
    location: string("The SyncTarget of the cluster.", { minLength: 1, maxLength: 253 }),
    schemaUpdateStrategy: string(
      "Whether this import may narrow what was negotiated: never, until it is published, or also afterwards.",
      {
        enum: ["UpdateNever", "UpdateUnpublished", "UpdatePublished"],
        default: "UpdateUnpublished",
      },
    ),
    ...apiResource,
  },
  { required: ["location", ...required] },
);

export interface APIResourceImport extends KubernetesObject {
  readonly spec: TypeOf<typeof importSpec>;
  readonly status?: ApiResourceStatus;
}
export type SchemaUpdateStrategy = NonNullable<APIResourceImport["spec"]["schemaUpdateStrategy"]>;

export const apiResourceImportKind: SystemKind = {
  group,
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
  schema: kindSchema(
    "An API as one physical cluster serves it.",
    { spec: importSpec, status: apiResourceStatus },
    { required: ["spec"] },
  ),
};
export const apiResourceImports = resourceOf<APIResourceImport>(apiResourceImportKind);

/** An API is synced to a cluster when its import is both Compatible and Available. */
export const importConditions = { compatible: "Compatible", available: "Available" } as const;
/** The reason of an import that is not Available yet, and will be without further action. */
export const publishingReason = "Publishing";

/** Whether the negotiation of the import's API has not ended yet. */
export function isBeingNegotiated({ status }: APIResourceImport): boolean {
  const compatible = findCondition(status?.conditions, importConditions.compatible);
  if (compatible?.status === "False") return false;
  const available = findCondition(status?.conditions, importConditions.available);
  return available === undefined || available.reason === publishingReason;
}

const negotiatedSpec = object(
  {
    publish: bool("Whether a CustomResourceDefinition of the workspace serves the API.", {
      default: false,
    }),
    ...apiResource,
  },
  { required },
);

export interface NegotiatedAPIResource extends KubernetesObject {
  readonly spec: TypeOf<typeof negotiatedSpec>;
  readonly status?: ApiResourceStatus;
}

export const negotiatedApiResourceKind: SystemKind = {
  group,
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
  schema: kindSchema(
    "An API as all physical clusters that take part serve it.",
    { spec: negotiatedSpec, status: apiResourceStatus },
    { required: ["spec"] },
  ),
};
export const negotiatedApiResources = resourceOf<NegotiatedAPIResource>(negotiatedApiResourceKind);

export const negotiatedConditions = {
  submitted: "Submitted",
  published: "Published",
  enforced: "Enforced",
} as const;
