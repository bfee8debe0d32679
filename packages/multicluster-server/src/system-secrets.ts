/** Secrets of the system's own logical cluster: all servers of one store have the same, and nobody else can read them. */
import { defineResource, type KubernetesObject, type StringMap } from "@kcp-ts/sdk";

export interface Secret extends KubernetesObject {
  readonly data?: StringMap;
}

export const secrets = defineResource<Secret>({
  group: "",
  version: "v1",
  resource: "secrets",
  kind: "Secret",
  namespaced: true,
});

export const systemNamespace = { cluster: "system:admin", namespace: "default" } as const;
