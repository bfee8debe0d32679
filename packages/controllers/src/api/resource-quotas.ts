import { defineResource, type KubernetesObject, type StringMap } from "@kcp-ts/sdk";
import * as kinds from "@kcp-ts/sdk/kinds";

export interface ResourceQuota extends KubernetesObject {
  readonly spec?: {
    readonly hard?: StringMap;
    readonly scopes?: readonly string[];
    readonly scopeSelector?: object;
  };
  readonly status?: { readonly hard?: StringMap; readonly used?: StringMap };
}

export const resourceQuotas = defineResource<ResourceQuota>(kinds.resourceQuotas);
