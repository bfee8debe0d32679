/**
 * The conditions of a workspace that is being deleted, about its remaining objects, in the words of
 * Kubernetes' namespaces.
 */
import type { Condition } from "./kinds/conditions.ts";
import { workspaces } from "./kinds/definitions.ts";
import type { RemainingContent } from "./logical-cluster-resources-deleter.ts";

export function remainingContentCondition({ resources, finalizers }: RemainingContent): Condition {
  const parts = [`Some resources are remaining: ${listed(resources, "has", "resource instances")}`];
  if (finalizers.size > 0) {
    parts.push(
      `Some content in the logical cluster has finalizers remaining: ${listed(finalizers, "in", "resource instances")}`,
    );
  }
  return {
    type: "WorkspaceContentDeleted",
    status: "False",
    severity: "Info",
    reason: "SomeResourcesRemain",
    message: parts.join("; "),
  };
}

export function hasOnlyWorkspaces({ resources }: RemainingContent): boolean {
  return resources.size === 1 && resources.has(`${workspaces.resource}.${workspaces.group}`);
}

function listed(counts: ReadonlyMap<string, number>, verb: string, noun: string): string {
  return [...counts]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([name, count]) => `${name} ${verb} ${count} ${noun}`)
    .join(", ");
}
