import { builtInResource, type KubernetesObject, type StringMap } from "@kcp-ts/sdk";

export interface ResourceQuota extends KubernetesObject {
  readonly spec?: {
    readonly hard?: StringMap;
    readonly scopes?: readonly string[];
    readonly scopeSelector?: object;
  };
  readonly status?: { readonly hard?: StringMap; readonly used?: StringMap };
}

export const resourceQuotas = builtInResource<ResourceQuota>("resourcequotas");
