import { type Condition, defineResource, type KubernetesObject } from "@kcp-ts/sdk";

export interface Namespace extends KubernetesObject {
  readonly spec?: { readonly finalizers?: readonly string[] };
  readonly status?: {
    readonly phase?: "Active" | "Terminating";
    readonly conditions?: readonly Condition[];
  };
}

export const namespaces = defineResource<Namespace>({
  group: "",
  version: "v1",
  resource: "namespaces",
  kind: "Namespace",
  namespaced: false,
});

/** What the control loops remember of a namespace: one of two shared values, so that a namespace costs them its key. */
export type NamespacePhase = "Active" | "Terminating";

/** All loops that follow namespaces share one watch, and therefore this one transform. */
export function phaseOf({ metadata }: Namespace): NamespacePhase {
  return metadata.deletionTimestamp === undefined ? "Active" : "Terminating";
}
