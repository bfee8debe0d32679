/** A type for an API that every server has; `kcp generate types` writes such files for any other. */
import { defineResource, type KubernetesObject } from "kcp-ts/sdk";

export interface ConfigMap extends KubernetesObject {
  readonly data?: Readonly<Record<string, string>>;
}

export const configMaps = defineResource<ConfigMap>({
  group: "",
  version: "v1",
  resource: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
});
