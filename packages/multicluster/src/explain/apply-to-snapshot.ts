/** Applies submitted objects to a workspace snapshot. */
import { type KubernetesObject, stringMember } from "@kcp-ts/sdk";
import type { Location, Placement, SyncTarget } from "../api/index.ts";
import { isUnassigned, type Strategy, strategiesDefault } from "../coordination/index.ts";
import { type SnapshotChange, withJoinedTarget } from "./plan-change.ts";
import type { SnapshotWorkload, WorkspaceSnapshot } from "./workspace-snapshot.ts";

/**
 * The snapshot with the object as the server would store it, with its current status. Throws for a
 * kind that affects no placement.
 */
export function applyToSnapshot(
  object: KubernetesObject,
  nowMs: number,
  strategies: readonly Strategy[] = strategiesDefault,
): SnapshotChange {
  const { name } = object.metadata;
  const policy = { ...object, spec: (object as Placement & Location).spec ?? {} };
  switch (object.kind) {
    case "SyncTarget":
      return (snapshot) => applyTarget(object as SyncTarget, nowMs)(snapshot);
    case "Location":
      return (snapshot) => ({ ...snapshot, locations: put(snapshot.locations, policy) });
    case "Placement":
      return (snapshot) => ({ ...snapshot, placements: put(snapshot.placements, policy) });
    case "Namespace":
      return (snapshot) => ({
        ...snapshot,
        namespaces: new Map([...snapshot.namespaces, [name, object.metadata.labels ?? {}]]),
      });
    default:
      return (snapshot) => applyWorkload(snapshot, object, strategies);
  }
}

function applyTarget(target: SyncTarget, nowMs: number): SnapshotChange {
  return (snapshot) => {
    const known = snapshot.targets.find(({ metadata }) => metadata.name === target.metadata.name);
    if (known === undefined) return withJoinedTarget(target, nowMs)(snapshot);
    return { ...snapshot, targets: put(snapshot.targets, target) };
  };
}

function applyWorkload(
  workspaceSnapshot: WorkspaceSnapshot,
  object: KubernetesObject,
  strategies: readonly Strategy[],
): WorkspaceSnapshot {
  const strategy = strategies.find(
    ({ workloads: { kind, group } }) => kind === object.kind && groupOf(object) === group,
  );
  const workload = strategy?.accept(object);
  if (strategy === undefined || workload === undefined || !isUnassigned(workload))
    throw new Error(
      `${object.kind} ${object.metadata.name} decides nothing about placement: give SyncTargets, Locations, Placements, Namespaces, or workloads that are assigned to no cluster`,
    );
  const isIt = (one: SnapshotWorkload) =>
    one.strategy === strategy &&
    one.workload.metadata.name === workload.metadata.name &&
    one.workload.metadata.namespace === workload.metadata.namespace;
  const known = workspaceSnapshot.workloads.find(isIt);
  const others = workspaceSnapshot.workloads.filter((one) => !isIt(one));
  return {
    ...workspaceSnapshot,
    workloads: [
      ...others,
      { strategy, workload, copies: known?.copies ?? [], placement: known?.placement },
    ],
  };
}

function groupOf(object: KubernetesObject): string {
  const apiVersion = stringMember(object as never, "apiVersion") ?? "";
  return apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
}

function put<Object extends KubernetesObject>(all: readonly Object[], object: Object): Object[] {
  const others = all.filter(({ metadata }) => metadata.name !== object.metadata.name);
  return [...others, object];
}
