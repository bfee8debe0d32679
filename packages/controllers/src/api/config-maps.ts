import { builtInResource, type KubernetesObject, type StringMap } from "@kcp-ts/sdk";

export interface ConfigMap extends KubernetesObject {
  readonly data?: StringMap;
  readonly binaryData?: StringMap;
  readonly immutable?: boolean;
}

export const configMaps = builtInResource<ConfigMap>("configmaps");
