/**
 * All kinds that a simulated cluster serves in addition to the built-in ones, in discovery order.
 */
import type { ResourceDefinition } from "@kcp-ts/apiserver/kinds";
import type { Generation } from "../shapes/index.ts";
import { deploymentsKind, replicaSetsKind } from "./apps-kinds.ts";
import { autoscalersKinds } from "./autoscalers.ts";
import { cronJobsKind, jobsKind } from "./batch-kinds.ts";
import { disruptionBudgetsKind } from "./disruption-budgets.ts";
import { nodesKind } from "./nodes.ts";
import { type PodEndpointsOptions, podEndpoints } from "./pod-endpoints.ts";
import { podsKind } from "./pods.ts";
import { endpointSlicesKind, endpointsKind, servicesKind } from "./services.ts";
import { controllerRevisionsKind, daemonSetsKind, statefulSetsKind } from "./sets-kinds.ts";
import { claimsKind, volumesKind } from "./storage-kinds.ts";
import { trafficKinds } from "./traffic-kinds.ts";

export function workloadKinds(
  generation: Generation,
  endpoints: PodEndpointsOptions,
): readonly ResourceDefinition[] {
  return [
    endpointsKind,
    nodesKind(generation),
    claimsKind(generation),
    volumesKind(generation),
    podsKind(generation, podEndpoints(endpoints)),
    servicesKind(generation),
    controllerRevisionsKind,
    daemonSetsKind(generation),
    deploymentsKind(generation),
    replicaSetsKind(generation),
    statefulSetsKind(generation),
    ...autoscalersKinds(generation),
    cronJobsKind(generation),
    jobsKind(generation),
    ...trafficKinds(generation),
    disruptionBudgetsKind(generation),
    endpointSlicesKind(generation),
  ];
}
