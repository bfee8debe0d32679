/**
 * All kinds that a simulated cluster serves in addition to the built-in ones: native kinds, with
 * what a cluster with nodes and addresses adds to them.
 */
import {
  type NativeKind,
  nativeDefinition,
  nativeKinds,
  type ResourceDefinition,
} from "@kcp-ts/apiserver/kinds";
import { type Generation, inGeneration } from "../shapes/index.ts";
import { claimPods } from "./job-selectors.ts";
import { type PodEndpointsOptions, podEndpoints } from "./pod-endpoints.ts";
import { clusterPods } from "./pods.ts";
import { allocateAddresses } from "./service-addresses.ts";

/** `resource.group` of the kinds that a simulated cluster has. */
const served = new Set([
  "endpoints.",
  "limitranges.",
  "nodes.",
  "persistentvolumeclaims.",
  "persistentvolumes.",
  "pods.",
  "podtemplates.",
  "replicationcontrollers.",
  "services.",
  "controllerrevisions.apps",
  "daemonsets.apps",
  "deployments.apps",
  "replicasets.apps",
  "statefulsets.apps",
  "horizontalpodautoscalers.autoscaling",
  "cronjobs.batch",
  "jobs.batch",
  "ingresses.networking.k8s.io",
  "ingressclasses.networking.k8s.io",
  "networkpolicies.networking.k8s.io",
  "servicecidrs.networking.k8s.io",
  "ipaddresses.networking.k8s.io",
  "poddisruptionbudgets.policy",
  "endpointslices.discovery.k8s.io",
  "priorityclasses.scheduling.k8s.io",
  "runtimeclasses.node.k8s.io",
]);

/** Served since 1.33. */
const newer = new Set(["servicecidrs.networking.k8s.io", "ipaddresses.networking.k8s.io"]);

export function workloadKinds(
  generation: Generation,
  endpoints: PodEndpointsOptions,
): readonly ResourceDefinition[] {
  return nativeKinds
    .filter((kind) => served.has(nameOf(kind)))
    .filter((kind) => generation !== "1.28" || !newer.has(nameOf(kind)))
    .map((kind) => inCluster(kind, generation, endpoints));
}

function inCluster(
  kind: NativeKind,
  generation: Generation,
  endpoints: PodEndpointsOptions,
): ResourceDefinition {
  const shape = inGeneration(kind.shape, generation);
  const made = nativeDefinition({
    ...withClusterRules(kind, generation, endpoints),
    shape,
    isNarrowed: shape !== kind.shape,
  });
  if (kind.storage === undefined) return made;
  // A version that is stored as another one.
  const { group, resource } = kind;
  return { ...made, storedAs: { group, resource, identity: "" } };
}

function withClusterRules(
  kind: NativeKind,
  generation: Generation,
  endpoints: PodEndpointsOptions,
): NativeKind {
  switch (nameOf(kind)) {
    case "pods.":
      return clusterPods(kind, generation, podEndpoints(endpoints));
    case "services.":
      return allocateAddresses(kind);
    case "jobs.batch":
      return { ...kind, prepareNew: claimPods };
    default:
      return kind;
  }
}

function nameOf({ resource, group }: NativeKind): string {
  return `${resource}.${group}`;
}
