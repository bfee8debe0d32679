/**
 * A fleet: everything that decides where the workloads of one workspace go, as it is at one time or as it would be.
 *
 * What of the clusters is reserved from elsewhere is known from the status of their SyncTargets.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { formatGroupResource } from "@kcp-ts/machinery/status";
import { keyInCluster, type StringMap } from "@kcp-ts/sdk";
import type { Location, Placement, SyncTarget } from "../api/index.ts";
import {
  type ClusterInfo,
  clusterInfoOf,
  type Decision,
  decide,
  type GracePeriods,
  ownerLabelValue,
  type Strategy,
  schedulableOf,
  type Workload,
} from "../coordination/index.ts";
import {
  observedCopyOf,
  Policies,
  parseResourceAmounts,
  planWorkspace,
  ReservationCache,
  type ResourceAmounts,
  readInFlight,
  reservationOf,
  type SchedulingSubject,
  snapshotFrom,
} from "../scheduling/index.ts";
import type { Storage } from "../volumes/index.ts";
import { type ComputeWorkspace, computeWorkspaceNames } from "./homes.ts";

export interface WorkspaceSnapshot {
  readonly cluster: ClusterName;
  /** All that it may use: those of others by the names that they have here. */
  readonly targets: readonly SyncTarget[];
  /** Workspaces whose clusters it uses; none if left out. */
  readonly homes?: readonly ComputeWorkspace[];
  readonly locations: readonly Location[];
  readonly placements: readonly Placement[];
  /** The one of root for all, where it can be seen. */
  readonly global: Placement | undefined;
  /** To their labels. */
  readonly namespaces: ReadonlyMap<string, StringMap>;
  readonly workloads: readonly SnapshotWorkload[];
  /** Claims and volumes, as far as they can be read; none if left out. */
  readonly storage?: Storage;
}

export interface SnapshotWorkload {
  readonly strategy: Strategy;
  readonly whole: Workload;
  readonly parts: readonly Workload[];
}

export interface EvaluationTime {
  readonly patience: GracePeriods;
  readonly nowMs: number;
}

/**
 * What would be decided for each workload, one after the other: what one takes, the next cannot have. In the order of their names. Each is handed over and
 * not kept: of a large fleet, all of them together are a lot.
 */
export function* decideEach(
  fleet: WorkspaceSnapshot,
  moment: EvaluationTime,
): Generator<readonly [SnapshotWorkload, Decision]> {
  const state = stateOf(fleet);
  for (const workload of [...fleet.workloads].sort(byName)) {
    const decision = decideIn(fleet, state, workload, moment);
    const { requests } = schedulableOf(workload.strategy, workload.whole);
    const held = new Map<string, ResourceAmounts>();
    for (const [target, share] of decision.plan.goal)
      if (share > 0) held.set(target, reservationOf(requests, share));
    state.ledger.hold(subjectOf(fleet, workload), held, workload.whole.metadata.labels);
    yield [workload, decision];
  }
}

export function decideOne(
  fleet: WorkspaceSnapshot,
  workload: SnapshotWorkload,
  moment: EvaluationTime,
): Decision {
  return decideIn(fleet, stateOf(fleet), workload, moment);
}

interface SchedulingState {
  readonly ledger: ReservationCache;
  readonly policies: Policies;
  readonly targets: readonly ClusterInfo[];
}

/** Policies as they are said; a Location that is selected anew is selected now. */
function stateOf(fleet: WorkspaceSnapshot): SchedulingState {
  const { cluster, locations, placements, global, namespaces, homes = [] } = fleet;
  const names = computeWorkspaceNames(homes);
  const offered = new Map(homes.map((home) => [home.cluster, home.locations]));
  const own = global === undefined ? [] : [global];
  const policies = new Policies({
    placementsIn: (asked) => (asked === cluster ? placements : []),
    placement: (_, name) => own.find(({ metadata }) => metadata.name === name),
    locationsIn: (asked) => (asked === cluster ? locations : (offered.get(asked) ?? [])),
    homesOf: () => names,
    namespaceLabels: (_, name) => namespaces.get(name),
  });
  return { policies, ledger: reservationsOf(fleet), targets: fleet.targets.map(clusterInfoOf) };
}

function reservationsOf(fleet: WorkspaceSnapshot): ReservationCache {
  const { cluster, workloads, targets } = fleet;
  const ledger = new ReservationCache({ placeOf: (_, target) => target });
  for (const workload of workloads) {
    const { strategy, parts, whole } = workload;
    const { annotations, labels } = whole.metadata;
    ledger.seeUnderWay(subjectOf(fleet, workload), readInFlight(annotations), labels);
    const resource = formatGroupResource(strategy.parts);
    for (const part of parts) {
      const seen = observedCopyOf(part, keyInCluster(cluster, part), resource);
      if (seen !== undefined) ledger.see(seen);
    }
  }
  for (const { metadata, status } of targets) {
    const own = ledger.reserved(cluster, metadata.name);
    const amounts = new Map(
      [...parseResourceAmounts(status?.reserved)]
        .map(([name, amount]) => [name, amount - (own.get(name) ?? 0)] as const)
        .filter(([, amount]) => amount > 0),
    );
    if (amounts.size > 0) ledger.see(otherTenants(metadata.name, amounts));
  }
  return ledger;
}

function otherTenants(target: string, amounts: ResourceAmounts) {
  const nobody = { namespace: "", resource: "", name: "", labels: {} };
  return { ...nobody, key: `elsewhere ${target}`, cluster: "elsewhere", target, amounts };
}

function decideIn(
  fleet: WorkspaceSnapshot,
  { policies, ledger, targets }: SchedulingState,
  workload: SnapshotWorkload,
  moment: EvaluationTime,
): Decision {
  const { strategy, whole: parent, parts } = workload;
  return (strategy.decide ?? decide)({
    strategy,
    parent,
    parts,
    takenNames: new Set(),
    targets,
    ...moment,
    surroundings: snapshotFrom(policies, ledger, subjectOf(fleet, workload)),
  });
}

function subjectOf(
  { cluster }: WorkspaceSnapshot,
  { strategy, whole }: SnapshotWorkload,
): SchedulingSubject {
  const { namespace = "", name, labels = {} } = whole.metadata;
  const resource = formatGroupResource(strategy.parts);
  return { cluster, namespace, resource, name: ownerLabelValue(name), labels };
}

/** With what Placements would say: which Location they select is in their status. */
export function withPlacementStatus(fleet: WorkspaceSnapshot, nowMs: number): WorkspaceSnapshot {
  const namespaces = [...fleet.namespaces].map(([name, labels]) => ({
    name,
    labels,
    isAnnotated: false,
    isDeleting: false,
    scheduled: undefined,
  }));
  const offered = new Map(
    [...computeWorkspaceNames(fleet.homes ?? [])].map(([name, path]) => {
      const home = fleet.homes?.find(({ cluster }) => cluster === path);
      return [name, { path, locations: home?.locations ?? [] }] as const;
    }),
  );
  const said = planWorkspace({ ...fleet, offered, namespaces, nowMs }).placements;
  const statuses = new Map(said.map(({ placement, status }) => [placement, status]));
  const placements = fleet.placements.map((placement) => {
    const status = statuses.get(placement);
    return status === undefined ? placement : { ...placement, status };
  });
  return { ...fleet, placements };
}

function byName({ whole: a }: SnapshotWorkload, { whole: b }: SnapshotWorkload): number {
  const text = ({ metadata, kind }: Workload) => `${metadata.namespace}/${metadata.name}/${kind}`;
  const [one, other] = [text(a), text(b)];
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
