/** The resources of the objects in an agent's account and installation. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { type DynamicObject, defineResource, type Resource } from "@kcp-ts/sdk";
import {
  clusterRoleBindings,
  clusterRoles,
  deployments,
  namespaces,
  roleBindings,
  roles,
  secrets,
  serviceAccounts,
} from "@kcp-ts/sdk/kinds";

export {
  type Deployment,
  deployments,
  type Secret,
  secrets,
  serviceAccounts,
} from "@kcp-ts/sdk/kinds";

/** The namespace of the agents' ServiceAccounts in the logical cluster. */
export const accountNamespace = "default";

export interface TokenRequest {
  readonly spec: {
    readonly expirationSeconds: number;
    readonly boundObjectRef?: {
      readonly apiVersion: "v1";
      readonly kind: "Secret";
      readonly name: string;
      readonly uid: string;
    };
  };
  readonly status?: { readonly token?: string };
}

const byKind: ReadonlyMap<string, Resource> = new Map<string, Resource>(
  [
    namespaces,
    serviceAccounts,
    secrets,
    deployments,
    clusterRoles,
    clusterRoleBindings,
    roles,
    roleBindings,
  ].map((one) => [one.kind, one]),
);

/** The resource of an object in one of the agent's manifests. */
export function resourceOf(object: JsonObject): Resource<DynamicObject> {
  const found = byKind.get(String(object["kind"]));
  if (found === undefined) throw new Error(`${String(object["kind"])} is not part of an agent`);
  return defineResource<DynamicObject>(found);
}
