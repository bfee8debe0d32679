/**
 * Custom kinds with a WorkloadStrategy, as users of claims. The claims that they use are listed on
 * their per-cluster objects; a custom kind is stopped by deleting its object in the cluster,
 * because no other way to stop it is known.
 */
import { defineResource } from "@kcp-ts/sdk";
import type { WorkloadStrategy } from "../api/index.ts";
import type { ClaimUserKind } from "./objects.ts";

/** The kinds whose strategy lists the objects that they refer to, each once. */
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
      // The meaning of readiness is known only to the coordinator; a reported status is the
      // minimum.
      hasStarted: ({ status }) => status !== undefined,
    });
  }
  return [...kinds.values()];
}
