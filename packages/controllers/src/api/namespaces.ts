import { type Condition, defineResource, type KubernetesObject } from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";

export interface Namespace extends KubernetesObject {
  readonly spec?: { readonly finalizers?: readonly string[] };
  readonly status?: {
    readonly phase?: "Active" | "Terminating";
    readonly conditions?: readonly Condition[];
  };
}

export const namespaces = defineResource<Namespace>(kinds.namespaces);
