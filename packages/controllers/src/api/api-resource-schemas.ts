import { defineResource, type KubernetesObject } from "@kcp-ts/sdk";

/** Schemas that workspaces export; only their names are read. */
export const apiResourceSchemas = defineResource<KubernetesObject>({
  group: "apis.kcp.io",
  version: "v1alpha1",
  resource: "apiresourceschemas",
  kind: "APIResourceSchema",
  namespaced: false,
});
