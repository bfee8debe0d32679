import { defineResource, type KubernetesObject } from "@kcp-ts/sdk";

/** Schemas that workspaces offer; nothing is looked into but their names. */
export const apiResourceSchemas = defineResource<KubernetesObject>({
  group: "apis.kcp.io",
  version: "v1alpha1",
  resource: "apiresourceschemas",
  kind: "APIResourceSchema",
  namespaced: false,
});
