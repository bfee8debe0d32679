/**
 * APIs as objects: the APIs that one cluster serves (APIResourceImport), and the APIs that all
 * clusters have in common (NegotiatedAPIResource).
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { type Condition, defineResource, type KubernetesObject } from "@kcp-ts/sdk";

export interface ApiResourceSpec {
  readonly groupVersion: {
    /** The core group if omitted or `core`. */
    readonly group?: string;
    readonly version: string;
  };
  readonly scope: "Namespaced" | "Cluster";
  readonly plural: string;
  readonly singular?: string;
  readonly kind: string;
  readonly listKind?: string;
  readonly shortNames?: readonly string[];
  readonly categories?: readonly string[];
  readonly openAPIV3Schema: JsonObject;
  readonly subResources?: readonly { readonly name: string }[];
  readonly columnDefinitions?: readonly ColumnDefinition[];
}

export interface ColumnDefinition {
  readonly name: string;
  readonly type: string;
  readonly format?: string;
  readonly description?: string;
  readonly priority?: number;
  readonly jsonPath?: string;
}

/**
 * Whether an import may narrow the negotiated schema. UpdateUnpublished, the default: until the
 * schema is published. UpdatePublished: at any time. UpdateNever: the import is only compared.
 */
export type SchemaUpdateStrategy = "UpdateNever" | "UpdateUnpublished" | "UpdatePublished";

export interface APIResourceImport extends KubernetesObject {
  readonly spec: ApiResourceSpec & {
    /** The name of the SyncTarget. */
    readonly location: string;
    readonly schemaUpdateStrategy?: SchemaUpdateStrategy;
  };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export interface NegotiatedAPIResource extends KubernetesObject {
  readonly spec: ApiResourceSpec & { readonly publish?: boolean };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

/** An API is synced to a cluster when its import is both Compatible and Available. */
export const importConditions = { compatible: "Compatible", available: "Available" } as const;
export const negotiatedConditions = {
  submitted: "Submitted",
  published: "Published",
  enforced: "Enforced",
} as const;

const group = "apiresource.kcp.io";
const version = "v1alpha1";

export const apiResourceImports = defineResource<APIResourceImport>({
  group,
  version,
  resource: "apiresourceimports",
  kind: "APIResourceImport",
  namespaced: false,
});

export const negotiatedApiResources = defineResource<NegotiatedAPIResource>({
  group,
  version,
  resource: "negotiatedapiresources",
  kind: "NegotiatedAPIResource",
  namespaced: false,
});
