/**
 * The compute export of a compute workspace: an APIExport named `kubernetes` with the annotation
 * `extra.apis.kcp.io/compute.workload.kcp.io: "true"`. A user who may create that object in a
 * workspace decides that tenants may use its clusters; a user who may `bind` it makes a workspace
 * its tenant.
 */
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  defineResource,
  type KubernetesObject,
  type SharedInformerOptions,
  stringMember,
} from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";
import { computeExportAnnotation } from "../api/index.ts";

export interface ExportedResource {
  readonly name: string;
  readonly group?: string;
  /** The name of an APIResourceSchema. */
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

export const apiExports = defineResource<APIExport>(kinds.apiExports);

export const apiResourceSchemas = defineResource<APIResourceSchema>(kinds.apiResourceSchemas);

/** The name as in kcp: `root:compute:kubernetes`. */
export const computeExportName = "kubernetes";

export function isComputeExport({ metadata }: KubernetesObject): boolean {
  return (
    metadata.name === computeExportName &&
    stringMember(metadata.annotations, computeExportAnnotation) === "true"
  );
}

/**
 * The path of the virtual workspace with all workspaces that are bound to the compute export of
 * this logical cluster, for privileged clients.
 */
export function consumersPath(cluster: string): string {
  return `/services/apiexport/${cluster}/${computeExportName}`;
}

/** The cached properties of an APIExport. */
export interface ComputeExport {
  /** The APIExport is a compute export, and can be bound. */
  readonly isShared: boolean;
  /** The exported resources, such as `deployments.apps`. */
  readonly resources: ReadonlySet<string>;
  /** The built-in resources that the export claims. */
  readonly claims: ReadonlySet<string>;
}

/** The informer options that all watchers of APIExports through shared sources use. */
export const computeExportInformer: SharedInformerOptions<APIExport, ComputeExport> = {
  transform: (object) => computeExportOf(object),
};

export function computeExportOf(object: APIExport): ComputeExport {
  const { resources = [], permissionClaims = [] } = object.spec ?? {};
  const isShared = isComputeExport(object) && (object.status?.identityHash ?? "") !== "";
  if (!isShared) return closed;
  return {
    isShared,
    resources: new Set(resources.map(({ name, group = "" }) => nameOf(name, group))),
    claims: new Set(permissionClaims.map(({ resource, group = "" }) => nameOf(resource, group))),
  };
}

/** The fields of an APIBinding that name the export and the workspace. */
export interface APIBinding extends KubernetesObject {
  readonly spec?: {
    readonly reference?: { readonly export?: { readonly path?: string; readonly name?: string } };
  };
  readonly status?: { readonly phase?: string; readonly apiExportClusterName?: string };
}

export const apiBindings = defineResource<APIBinding>(kinds.apiBindings);

const closed: ComputeExport = { isShared: false, resources: new Set(), claims: new Set() };

function nameOf(resource: string, group: string): string {
  return group === "" ? resource : `${resource}.${group}`;
}
