/** Kinds that people have a WorkloadStrategy for, as users of claims. What they use stands on their parts; stopping one is taking it away, since nobody knows what else would. */
import { defineResource } from "@kcp-ts/sdk";
import type { WorkloadStrategy } from "../api/index.ts";
import type { ClaimUserKind } from "./objects.ts";

/** Of those that say what their objects refer to, each once. */
export function customKinds(strategies: readonly WorkloadStrategy[]): readonly ClaimUserKind[] {
  const kinds = new Map<string, ClaimUserKind>();
  for (const { spec } of strategies) {
    const { group = "", version, resource, kind, podTemplatePath, references } = spec;
    if (podTemplatePath === undefined && references === undefined) continue;
    kinds.set(`${resource}.${version}.${group}`, {
      resource: defineResource({ group, version, resource, kind, namespaced: true }),
      stopOf: () => ({ by: "removal" }),
      hasEnded: () => false,
      replicasOf: () => 1,
      runningOf: () => 1,
      // What readiness means is its coordinator's to know; that the cluster says something at all is the least.
      hasStarted: ({ status }) => status !== undefined,
    });
  }
  return [...kinds.values()];
}
