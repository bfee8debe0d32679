/**
 * The upstream name of an object that was created in a cluster: `<name>--<SyncTarget>`, like the
 * per-cluster objects of workloads, because objects of several clusters share the upstream
 * namespace. The name contains the cluster, so upsynced objects can be distinguished from
 * downsynced ones, and their originals can be found.
 */
import type { SyncRules } from "../api/index.ts";

export function isNamedByCluster({ direction, upsyncedNames }: SyncRules): boolean {
  return direction !== "Down" && upsyncedNames === "BySyncTarget";
}

/** Whether an object with such an upstream name has a name without the suffix in the cluster. */
export function isShorterInCluster(policy: SyncRules): boolean {
  return isNamedByCluster(policy) || policy.downstreamNames === "Workload";
}

export function copyName(name: string, target: string): string {
  return name + suffixOf(target);
}

/** The name in the cluster; undefined for a name that no copy from this cluster has. */
export function nameInCluster(name: string, target: string): string | undefined {
  const suffix = suffixOf(target);
  return name.length > suffix.length && name.endsWith(suffix)
    ? name.slice(0, -suffix.length)
    : undefined;
}

function suffixOf(target: string): string {
  // Names of other workspaces' SyncTargets contain a dot, which should not be in names of Pods.
  return `--${target.replaceAll(".", "-")}`;
}
