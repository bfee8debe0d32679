/** Objects that would be applied, put into a fleet. */
import { type KubernetesObject, stringMember } from "@kcp-ts/sdk";
import type { Location, Placement, SyncTarget } from "../api/index.ts";
import { isUnassigned, type Strategy, strategiesDefault } from "../coordination/index.ts";
import type { SnapshotWorkload, WorkspaceSnapshot } from "./fleet.ts";
import { type SnapshotChange, withJoinedTarget } from "./plan-change.ts";

/** As the server would store it, with what its status says now. Throws for a kind that decides nothing. */
export function applyToSnapshot(
  object: KubernetesObject,
  nowMs: number,
  strategies: readonly Strategy[] = strategiesDefault,
): SnapshotChange {
  const { name } = object.metadata;
  switch (object.kind) {
    case "SyncTarget":
      return (fleet) => applyTarget(object as SyncTarget, nowMs)(fleet);
    case "Location":
      return (fleet) => ({ ...fleet, locations: put(fleet.locations, object as Location) });
    case "Placement":
      return (fleet) => ({ ...fleet, placements: put(fleet.placements, object as Placement) });
    case "Namespace":
      return (fleet) => ({
        ...fleet,
        namespaces: new Map([...fleet.namespaces, [name, object.metadata.labels ?? {}]]),
      });
    default:
      return (fleet) => applyWorkload(fleet, object, strategies);
  }
}

function applyTarget(target: SyncTarget, nowMs: number): SnapshotChange {
  return (fleet) => {
    const known = fleet.targets.find(({ metadata }) => metadata.name === target.metadata.name);
    if (known === undefined) return withJoinedTarget(target, nowMs)(fleet);
    return { ...fleet, targets: put(fleet.targets, target) };
  };
}

function applyWorkload(
  fleet: WorkspaceSnapshot,
  object: KubernetesObject,
  strategies: readonly Strategy[],
): WorkspaceSnapshot {
  const strategy = strategies.find(
    ({ wholes: { kind, group } }) => kind === object.kind && groupOf(object) === group,
  );
  const whole = strategy?.accept(object);
  if (strategy === undefined || whole === undefined || !isUnassigned(whole))
    throw new Error(
      `${object.kind} ${object.metadata.name} decides nothing about placement: give SyncTargets, Locations, Placements, Namespaces, or workloads that are assigned to no cluster`,
    );
  const isIt = (one: SnapshotWorkload) =>
    one.strategy === strategy &&
    one.whole.metadata.name === whole.metadata.name &&
    one.whole.metadata.namespace === whole.metadata.namespace;
  const known = fleet.workloads.find(isIt);
  const others = fleet.workloads.filter((one) => !isIt(one));
  return { ...fleet, workloads: [...others, { strategy, whole, parts: known?.parts ?? [] }] };
}

function groupOf(object: KubernetesObject): string {
  const apiVersion = stringMember(object as never, "apiVersion") ?? "";
  return apiVersion.includes("/") ? (apiVersion.split("/")[0] ?? "") : "";
}

function put<Object extends KubernetesObject>(all: readonly Object[], object: Object): Object[] {
  const others = all.filter(({ metadata }) => metadata.name !== object.metadata.name);
  return [...others, object];
}
