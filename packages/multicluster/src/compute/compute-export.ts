/**
 * The offer of a compute workspace: an APIExport named `kubernetes` with the annotation `extra.apis.kcp.io/compute.workload.kcp.io: "true"`. Whoever may make
 * that object in a workspace decides that others may use its clusters; whoever may `bind` it is one of them.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  defineResource,
  type KubernetesObject,
  type SharedInformerOptions,
  stringMember,
} from "@kcp-ts/sdk";
import { computeExportAnnotation } from "../api/index.ts";

export interface ExportedResource {
  readonly name: string;
  readonly group?: string;
  /** Of an APIResourceSchema. */
  readonly schema: string;
}

export interface ExportClaim {
  readonly group?: string;
  readonly resource: string;
  readonly verbs: readonly string[];
}

export interface APIExport extends KubernetesObject {
  readonly spec?: {
    readonly resources?: readonly ExportedResource[];
    readonly permissionClaims?: readonly ExportClaim[];
  };
  readonly status?: { readonly identityHash?: string };
}

export interface APIResourceSchema extends KubernetesObject {
  readonly spec: JsonObject;
}

const group = "apis.kcp.io";

export const apiExports = defineResource<APIExport>({
  group,
  version: "v1alpha2",
  resource: "apiexports",
  kind: "APIExport",
  namespaced: false,
});

export const apiResourceSchemas = defineResource<APIResourceSchema>({
  group,
  version: "v1alpha1",
  resource: "apiresourceschemas",
  kind: "APIResourceSchema",
  namespaced: false,
});

/** As upstream calls it: `root:compute:kubernetes`. */
export const computeExportName = "kubernetes";

export function isComputeExport({ metadata }: KubernetesObject): boolean {
  return (
    metadata.name === computeExportName &&
    stringMember(metadata.annotations, computeExportAnnotation) === "true"
  );
}

/** Below it are all who are bound to the offer of this logical cluster, for those who may see all of them. */
export function consumersPath(cluster: string): string {
  return `/services/apiexport/${cluster}/${computeExportName}`;
}

/** As much of an APIExport as is remembered. */
export interface ComputeExport {
  /** Of an APIExport that is one, and can be bound to. */
  readonly isOpen: boolean;
  /** What it brings, as in `deployments.apps`. */
  readonly resources: ReadonlySet<string>;
  /** What it asks to see of what the control plane serves by itself. */
  readonly claims: ReadonlySet<string>;
}

/** Whoever watches APIExports through shared sources uses these options. */
export const computeExportInformer: SharedInformerOptions<APIExport, ComputeExport> = {
  transform: (object) => computeExportOf(object),
};

export function computeExportOf(object: APIExport): ComputeExport {
  const { resources = [], permissionClaims = [] } = object.spec ?? {};
  const isOpen = isComputeExport(object) && (object.status?.identityHash ?? "") !== "";
  if (!isOpen) return closed;
  return {
    isOpen,
    resources: new Set(resources.map(({ name, group = "" }) => nameOf(name, group))),
    claims: new Set(permissionClaims.map(({ resource, group = "" }) => nameOf(resource, group))),
  };
}

/** Of an APIBinding, what says who is bound to whom. */
export interface APIBinding extends KubernetesObject {
  readonly spec?: {
    readonly reference?: { readonly export?: { readonly path?: string; readonly name?: string } };
  };
  readonly status?: { readonly phase?: string; readonly apiExportClusterName?: string };
}

export const apiBindings = defineResource<APIBinding>({
  group,
  version: "v1alpha2",
  resource: "apibindings",
  kind: "APIBinding",
  namespaced: false,
});

const closed: ComputeExport = { isOpen: false, resources: new Set(), claims: new Set() };

function nameOf(resource: string, group: string): string {
  return group === "" ? resource : `${resource}.${group}`;
}
