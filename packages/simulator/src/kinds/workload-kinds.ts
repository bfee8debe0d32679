/** Every kind that a simulated cluster serves besides the built-in ones, in discovery order. */
import type { ResourceDefinition } from "@kcp-ts/server/kinds";
import type { Generation } from "../shapes/index.ts";
import { deploymentsKind, replicaSetsKind } from "./apps-kinds.ts";
import { nodesKind } from "./nodes.ts";
import { type PodEndpointsOptions, podEndpoints } from "./pod-endpoints.ts";
import { podsKind } from "./pods.ts";

export function workloadKinds(
  generation: Generation,
  endpoints: PodEndpointsOptions,
): readonly ResourceDefinition[] {
  return [
    nodesKind(generation),
    podsKind(generation, podEndpoints(endpoints)),
    deploymentsKind(generation),
    replicaSetsKind(generation),
  ];
}
