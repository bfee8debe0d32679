/**
 * Secrets of the system logical cluster: all servers of one store share them, and no other client
 * can read them.
 */
import { builtInResource, type KubernetesObject, type StringMap } from "@kcp-ts/sdk";

export interface Secret extends KubernetesObject {
  readonly data?: StringMap;
}

export const secrets = builtInResource<Secret>("secrets");

export const systemNamespace = { cluster: "system:admin", namespace: "default" } as const;
