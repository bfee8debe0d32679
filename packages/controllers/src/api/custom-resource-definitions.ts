import { builtInResource, type Condition, type KubernetesObject } from "@kcp-ts/sdk";

export interface CustomResourceDefinition extends KubernetesObject {
  readonly spec: {
    readonly group: string;
    readonly scope: "Namespaced" | "Cluster";
    readonly names: { readonly plural: string; readonly kind: string };
    readonly versions: readonly {
      readonly name: string;
      readonly served: boolean;
      readonly storage: boolean;
    }[];
  };
  readonly status?: { readonly conditions?: readonly Condition[] };
}

export const customResourceDefinitions = builtInResource<CustomResourceDefinition>(
  "customresourcedefinitions.apiextensions.k8s.io",
);
