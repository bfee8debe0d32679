import { builtInResource, type KubernetesObject, type StringMap } from "@kcp-ts/sdk";

export interface Secret extends KubernetesObject {
  readonly type?: string;
  readonly data?: StringMap;
  /** Write-only: becomes part of `data`. */
  readonly stringData?: StringMap;
}

export const secrets = builtInResource<Secret>("secrets");
