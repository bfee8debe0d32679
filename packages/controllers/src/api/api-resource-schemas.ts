import { builtInResource, type KubernetesObject } from "@kcp-ts/sdk";

/** Schemas that workspaces export; only their names are read. */
export const apiResourceSchemas = builtInResource<KubernetesObject>(
  "apiresourceschemas.apis.kcp.io",
);
