/**
 * What a copy of something that was born in a cluster is called upstream, where several clusters meet: `<name>--<SyncTarget>`, as parts of
 * workloads are. The name says where it is from, so it can be told from what goes down, and be found again.
 */
import type { KindPolicy } from "./policy.ts";

export function isNamedByCluster({ direction, copyNames }: KindPolicy): boolean {
  return direction !== "down" && copyNames === "by-cluster";
}

/** Whether an object with such a name upstream has a name without it in the cluster. */
export function isShorterInCluster(policy: KindPolicy): boolean {
  return isNamedByCluster(policy) || policy.partNames === "whole";
}

export function copyName(name: string, target: string): string {
  return name + suffixOf(target);
}

/** What it is called in the cluster; undefined for a name that no copy from there has. */
export function nameInCluster(name: string, target: string): string | undefined {
  const suffix = suffixOf(target);
  return name.length > suffix.length && name.endsWith(suffix)
    ? name.slice(0, -suffix.length)
    : undefined;
}

function suffixOf(target: string): string {
  // Names of other workspaces' clusters have a dot, which names of Pods had better not.
  return `--${target.replaceAll(".", "-")}`;
}
