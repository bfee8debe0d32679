/** Decides what to do with a dependent, given the states of its owners. Pure. */
import type { OwnerReference } from "@kcp-ts/sdk";
import { foregroundFinalizer, type GraphNode, orphanFinalizer } from "./graph-node.ts";

/**
 * `solid`: exists. `dangling`: does not exist, or not in a namespace that a reference can reach.
 * `waiting`: is being deleted and waits for its dependents to be deleted first. `unknown`: the
 * state cannot be determined, so nothing is done.
 */
export type OwnerState = "solid" | "dangling" | "waiting" | "unknown";

export interface ResolvedOwner {
  readonly reference: OwnerReference;
  readonly standing: OwnerState;
}

export type Propagation = "Orphan" | "Background" | "Foreground";

export type Decision =
  | { readonly do: "nothing" }
  /** Some owners exist: the references to the others are removed. */
  | { readonly do: "release"; readonly owners: readonly OwnerReference[] }
  | {
      readonly do: "delete";
      readonly policy: Propagation;
      /**
       * The object is part of a cycle of owners: it must stop blocking, or no object of the cycle
       * could be deleted.
       */
      readonly unblock: boolean;
    };

export interface Dependents {
  readonly count: number;
  /** One of the dependents waits for its own dependents, and so perhaps for this object. */
  readonly someDeletingDependents: boolean;
}

const nothing: Decision = { do: "nothing" };

export function decide(
  node: GraphNode,
  owners: readonly ResolvedOwner[],
  dependents: Dependents,
): Decision {
  const are = (ownerState: OwnerState) => owners.some((one) => one.standing === ownerState);
  if (owners.length === 0 || are("unknown")) return nothing;
  if (are("solid")) {
    const solid = owners.filter(({ standing: state }) => state === "solid");
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
