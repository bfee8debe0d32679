/** The resources of a SyncTarget that does not list any, and the word for all. */

/** The value in `spec.resources` for all resources. */
export const allResources = "*";

/**
 * Workloads and their dependencies; ReplicaSets and ControllerRevisions for the revision history of
 * divided workloads, the other resources for traffic over several clusters.
 */
export const syncedResourcesDefault: readonly string[] = [
  "deployments.apps",
  "pods",
  "replicasets.apps",
  "statefulsets.apps",
  "daemonsets.apps",
  "controllerrevisions.apps",
  "jobs.batch",
  "cronjobs.batch",
  "horizontalpodautoscalers.autoscaling",
  "poddisruptionbudgets.policy",
  "configmaps",
  "secrets",
  "serviceaccounts",
  "persistentvolumeclaims",
  "services",
  "ingresses.networking.k8s.io",
  "endpointslices.discovery.k8s.io",
  "serviceimports.multicluster.x-k8s.io",
];

/**
 * Kinds that applications bring along. They are imported and served, so that applications apply
 * unchanged; their objects stay in the logical cluster until a SyncTarget names the kind.
 */
const servedResourcesDefault: readonly string[] = [
  "endpoints",
  "limitranges",
  "podtemplates",
  "replicationcontrollers",
  "networkpolicies.networking.k8s.io",
  "ingressclasses.networking.k8s.io",
  "priorityclasses.scheduling.k8s.io",
  "runtimeclasses.node.k8s.io",
  "storageclasses.storage.k8s.io",
];

/**
 * The resources that are imported from a SyncTarget: its own list, or those that are synced and,
 * unless these were narrowed, those that are served only.
 */
export function importedResources(
  own: readonly string[] | undefined,
  synced: readonly string[],
): readonly string[] {
  return own ?? [...synced, ...servedBeside(synced)];
}

/** Imported resources of a SyncTarget without a list of its own of which no object is synced. */
export function servedBeside(synced: readonly string[]): readonly string[] {
  const asked = new Set(synced);
  return syncedResourcesDefault.every((name) => asked.has(name))
    ? servedResourcesDefault.filter((name) => !asked.has(name))
    : [];
}
