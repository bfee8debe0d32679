/** The resources of the objects in an agent's account and installation. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import {
  builtInResource,
  type DynamicObject,
  defineResource,
  type KubernetesObject,
  type Resource,
  type StringMap,
} from "@kcp-ts/sdk";

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

export interface Secret extends KubernetesObject {
  readonly data?: StringMap;
}

export interface Deployment extends KubernetesObject {
  readonly spec?: { readonly replicas?: number };
  readonly status?: {
    readonly availableReplicas?: number;
    readonly observedGeneration?: number;
    readonly updatedReplicas?: number;
  };
}

export const serviceAccounts = builtInResource<KubernetesObject>("serviceaccounts");

export const secrets = builtInResource<Secret>("secrets");

export const deployments = builtInResource<Deployment>("deployments.apps");

const rbac = { group: "rbac.authorization.k8s.io", version: "v1" };

const byKind: ReadonlyMap<string, Resource> = new Map<string, Resource>(
  [
    { group: "", version: "v1", resource: "namespaces", kind: "Namespace", namespaced: false },
    serviceAccounts,
    secrets,
    deployments,
    { ...rbac, resource: "clusterroles", kind: "ClusterRole", namespaced: false },
    { ...rbac, resource: "clusterrolebindings", kind: "ClusterRoleBinding", namespaced: false },
    { ...rbac, resource: "roles", kind: "Role", namespaced: true },
    { ...rbac, resource: "rolebindings", kind: "RoleBinding", namespaced: true },
  ].map((one) => [one.kind, one]),
);

/** The resource of an object in one of the agent's manifests. */
export function resourceOf(object: JsonObject): Resource<DynamicObject> {
  const found = byKind.get(String(object["kind"]));
  if (found === undefined) throw new Error(`${String(object["kind"])} is not part of an agent`);
  return defineResource<DynamicObject>(found);
}
