import { defineResource, type KubernetesObject, type StringMap } from "@kcp-ts/sdk";

export interface ConfigMap extends KubernetesObject {
  readonly data?: StringMap;
  readonly binaryData?: StringMap;
  readonly immutable?: boolean;
}

export const configMaps = defineResource<ConfigMap>({
  group: "",
  version: "v1",
  resource: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
});
