/** What is to be done about a dependent, given how its owners stand. Pure. */
import type { OwnerReference } from "@kcp-ts/sdk";
import { foregroundFinalizer, type GraphNode, orphanFinalizer } from "./graph-node.ts";

/**
 * `solid`: exists. `dangling`: does not, or not where a reference can reach. `waiting`: is being deleted and waits for its dependents to
 * go first. `unknown`: nobody can tell, so nothing is done.
 */
export type OwnerState = "solid" | "dangling" | "waiting" | "unknown";

export interface ResolvedOwner {
  readonly reference: OwnerReference;
  readonly standing: OwnerState;
}

export type Propagation = "Orphan" | "Background" | "Foreground";

export type Decision =
  | { readonly do: "nothing" }
  /** Some owners live: the references to the others go. */
  | { readonly do: "release"; readonly owners: readonly OwnerReference[] }
  | {
      readonly do: "delete";
      readonly policy: Propagation;
      /** The object is part of a circle of owners: it must stop blocking, or nobody in the circle could go. */
      readonly unblock: boolean;
    };

export interface Dependents {
  readonly count: number;
  /** One of them waits for its own dependents, and so perhaps for us. */
  readonly someDeletingDependents: boolean;
}

const nothing: Decision = { do: "nothing" };

export function decide(
  node: GraphNode,
  owners: readonly ResolvedOwner[],
  dependents: Dependents,
): Decision {
  const are = (standing: OwnerState) => owners.some((one) => one.standing === standing);
  if (owners.length === 0 || are("unknown")) return nothing;
  if (are("solid")) {
    const solid = owners.filter(({ standing }) => standing === "solid");
    return solid.length === owners.length
      ? nothing
      : { do: "release", owners: solid.map(({ reference }) => reference) };
  }
  if (are("waiting") && dependents.count > 0) {
    return { do: "delete", policy: "Foreground", unblock: dependents.someDeletingDependents };
  }
  return { do: "delete", policy: ownPolicy(node), unblock: false };
}

function ownPolicy({ finalizers }: GraphNode): Propagation {
  if (finalizers.includes(orphanFinalizer)) return "Orphan";
  if (finalizers.includes(foregroundFinalizer)) return "Foreground";
  return "Background";
}
