/** What an agent can stop when its lease is gone, by what every cluster knows of it: `replicas: 0`, `suspend: true`, or deleting it. Other kinds have no such thing. */
export const fencedKinds = [
  { group: "apps", resource: "deployments", kind: "Deployment" },
  { group: "apps", resource: "statefulsets", kind: "StatefulSet" },
  { group: "apps", resource: "replicasets", kind: "ReplicaSet" },
  { group: "batch", resource: "jobs", kind: "Job" },
  { group: "batch", resource: "cronjobs", kind: "CronJob" },
  { group: "", resource: "pods", kind: "Pod" },
] as const;

/** Whether somebody in a lost cluster stops it. What nobody stops may run for as long as its cluster does. */
export function isFenceable(of: { readonly group: string; readonly resource: string }): boolean {
  return fencedKinds.some(({ group, resource }) => group === of.group && resource === of.resource);
}
