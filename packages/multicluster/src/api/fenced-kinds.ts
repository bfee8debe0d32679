/**
 * The kinds that an agent can stop when its lease has expired, with fields that every cluster
 * supports: `replicas: 0`, `suspend: true`, or deletion. Other kinds have no such field.
 */
export const fencedKinds = [
  { group: "apps", resource: "deployments", kind: "Deployment" },
  { group: "apps", resource: "statefulsets", kind: "StatefulSet" },
  { group: "apps", resource: "replicasets", kind: "ReplicaSet" },
  { group: "batch", resource: "jobs", kind: "Job" },
  { group: "batch", resource: "cronjobs", kind: "CronJob" },
  { group: "", resource: "pods", kind: "Pod" },
] as const;

/**
 * Whether the agent of an Unreachable cluster stops the kind. Other kinds may run as long as their
 * cluster runs.
 */
export function isFenceable(of: { readonly group: string; readonly resource: string }): boolean {
  return fencedKinds.some(({ group, resource }) => group === of.group && resource === of.resource);
}
