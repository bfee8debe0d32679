import { builtInResource, type Condition, type KubernetesObject } from "@kcp-ts/sdk";

export interface Namespace extends KubernetesObject {
  readonly spec?: { readonly finalizers?: readonly string[] };
  readonly status?: {
    readonly phase?: "Active" | "Terminating";
    readonly conditions?: readonly Condition[];
  };
}

export const namespaces = builtInResource<Namespace>("namespaces");
