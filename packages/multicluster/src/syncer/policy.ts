/**
 * The rules by which a kind is synced: those of SyncPolicies, then `defaultPolicies`, then
 * `defaultRules`.
 */
import { formatGroupResource } from "@kcp-ts/machinery/status";
import { appliesTo, type SyncPolicy, type SyncRules } from "../api/index.ts";

/** Policies by `resource.group`. */
export type Policies = Readonly<Record<string, Partial<SyncRules>>>;

export const defaultRules: SyncRules = {
  direction: "Down",
  upsyncedNames: "Same",
  downstreamNames: "Same",
  statusDirection: "Up",
  onDownstreamDeletion: "Recreate",
  onUpstreamDeletion: "Recreate",
  conflictingFields: [],
  omittedFields: [],
  renamedObjects: {},
  workspaces: "All",
};

const scaled = {
  conflictingFields: [{ path: "spec.replicas", resolution: "KeepDownstream" }],
} as const;

const classes = {
  direction: "Up",
  upsyncedNames: "BySyncTarget",
  statusDirection: "None",
  workspaces: "Own",
} as const;

export const defaultPolicies: Policies = {
  "deployments.apps": scaled,
  "replicasets.apps": scaled,
  // Clients know the Pods of a StatefulSet by their names. No controller in the cluster scales it:
  // the next ordinal may belong to another cluster.
  "statefulsets.apps": { downstreamNames: "Workload" },
  // Every namespace of a cluster already has a ConfigMap of this name.
  configmaps: {
    renamedObjects: { "kube-root-ca.crt": "kcp-root-ca.crt" },
    statusDirection: "None",
  },
  secrets: { statusDirection: "None" },
  // Each side has its own tokens.
  serviceaccounts: { statusDirection: "None", omittedFields: ["secrets"] },
  // PersistentVolumes of synced claims are synced up; those that are bound in another cluster are
  // synced down.
  persistentvolumes: { direction: "Both", upsyncedNames: "BySyncTarget", workspaces: "Own" },
  // The same for snapshots; snapshot classes and storage classes show which claims are possible in
  // the cluster.
  "volumesnapshotcontents.snapshot.storage.k8s.io": {
    direction: "Both",
    upsyncedNames: "BySyncTarget",
    workspaces: "Own",
  },
  "volumesnapshotclasses.snapshot.storage.k8s.io": classes,
  "storageclasses.storage.k8s.io": classes,
  // Pods of workloads are synced up, bare Pods are synced down. Deleting an upsynced Pod restarts
  // it; a downsynced Pod that is deleted in the cluster has ended.
  pods: {
    direction: "Both",
    onDownstreamDeletion: "Propagate",
    onUpstreamDeletion: "Propagate",
    // Ephemeral containers are added in the cluster, by their own subresource, and shown upstream.
    omittedFields: ["spec.ephemeralContainers"],
  },
  endpoints: { direction: "Up", statusDirection: "None" },
  // EndpointSlices of a cluster's Services are synced up; those of imported Services are synced
  // down.
  "endpointslices.discovery.k8s.io": {
    direction: "Both",
    upsyncedNames: "BySyncTarget",
    statusDirection: "None",
  },
  // The control plane knows the clusters of the import; each cluster assigns its own address.
  "serviceimports.multicluster.x-k8s.io": {
    statusDirection: "Down",
    conflictingFields: [{ path: "spec.ips", resolution: "KeepDownstream" }],
  },
};

export function policyFor(
  policies: Policies,
  { group, resource }: { readonly group: string; readonly resource: string },
): SyncRules {
  const name = formatGroupResource({ group, resource });
  return {
    ...defaultRules,
    ...(Object.hasOwn(defaultPolicies, name) ? defaultPolicies[name] : {}),
    ...(Object.hasOwn(policies, name) ? policies[name] : {}),
  };
}

/**
 * The policies of a SyncTarget. A policy that names SyncTargets takes precedence over a policy for
 * all; among equals, the first by name wins.
 */
export function policiesOf(objects: readonly SyncPolicy[], target: string): Policies {
  const rank = ({ metadata, spec }: SyncPolicy) =>
    `${spec.syncTargets === undefined ? 1 : 0} ${metadata.name}`;
  const ordered = objects
    .filter((policy) => appliesTo(policy, target))
    .sort((a, b) => (rank(a) < rank(b) ? -1 : 1));
  const policies: Record<string, Partial<SyncRules>> = Object.create(null);
  for (const { spec } of ordered)
    for (const { group = "", resource, ...rules } of spec.resources)
      policies[formatGroupResource({ group, resource })] ??= rules;
  return policies;
}
