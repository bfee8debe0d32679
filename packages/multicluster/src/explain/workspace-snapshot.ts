/**
 * A workspace snapshot: the complete input of decisions about the workloads of one workspace, at
 * one time or after a hypothetical change.
 *
 * Reservations of other tenants are known from the status of the SyncTargets.
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
import { type ComputeWorkspace, computeWorkspaceNames } from "./compute-workspaces.ts";

export interface WorkspaceSnapshot {
  readonly cluster: ClusterName;
  /** The SyncTargets that the workspace may use: shared ones by their names in this workspace. */
  readonly targets: readonly SyncTarget[];
  /** The compute workspaces whose clusters the workspace uses; none if omitted. */
  readonly computeWorkspaces?: readonly ComputeWorkspace[];
  readonly locations: readonly Location[];
  readonly placements: readonly Placement[];
  /** The global Placement in root, if it is readable. */
  readonly global: Placement | undefined;
  /** Namespaces with their labels. */
  readonly namespaces: ReadonlyMap<string, StringMap>;
  readonly workloads: readonly SnapshotWorkload[];
  /** Claims and volumes, as far as they are readable; none if omitted. */
  readonly storage?: Storage;
}

export interface SnapshotWorkload {
  readonly strategy: Strategy;
  readonly workload: Workload;
  readonly copies: readonly Workload[];
}

export interface EvaluationTime {
  readonly gracePeriods: GracePeriods;
  readonly nowMs: number;
}

/**
 * Decides about each workload, one after the other, in the order of their names: the reservations
 * of one limit the next. Yields each decision instead of collecting them: all decisions of a large
 * workspace need much memory.
 */
export function* decideEach(
  workspaceSnapshot: WorkspaceSnapshot,
  evaluationTime: EvaluationTime,
): Generator<readonly [SnapshotWorkload, Decision]> {
  const state = stateOf(workspaceSnapshot);
  for (const workload of [...workspaceSnapshot.workloads].sort(byName)) {
    const decision = decideIn(workspaceSnapshot, state, workload, evaluationTime);
    const { requests } = schedulableOf(workload.strategy, workload.workload);
    const held = new Map<string, ResourceAmounts>();
    for (const [target, share] of decision.plan.goal)
      if (share > 0) held.set(target, reservationOf(requests, share));
    state.reservations.reserve(
      subjectOf(workspaceSnapshot, workload),
      held,
      workload.workload.metadata.labels,
    );
    yield [workload, decision];
  }
}

export function decideOne(
  workspaceSnapshot: WorkspaceSnapshot,
  workload: SnapshotWorkload,
  evaluationTime: EvaluationTime,
): Decision {
  return decideIn(workspaceSnapshot, stateOf(workspaceSnapshot), workload, evaluationTime);
}

interface SchedulingState {
  readonly reservations: ReservationCache;
  readonly policies: Policies;
  readonly targets: readonly ClusterInfo[];
}

/** The scheduling state; a Placement whose selection changes has its new Location already. */
function stateOf(workspaceSnapshot: WorkspaceSnapshot): SchedulingState {
  const {
    cluster,
    locations,
    placements,
    global,
    namespaces,
    computeWorkspaces = [],
  } = workspaceSnapshot;
  const names = computeWorkspaceNames(computeWorkspaces);
  const offered = new Map(
    computeWorkspaces.map((computeWorkspace) => [
      computeWorkspace.cluster,
      computeWorkspace.locations,
    ]),
  );
  const own = global === undefined ? [] : [global];
  const policies = new Policies({
    placementsIn: (asked) => (asked === cluster ? placements : []),
    placement: (_, name) => own.find(({ metadata }) => metadata.name === name),
    locationsIn: (asked) => (asked === cluster ? locations : (offered.get(asked) ?? [])),
    computeWorkspacesOf: () => names,
    namespaceLabels: (_, name) => namespaces.get(name),
  });
  return {
    policies,
    reservations: reservationsOf(workspaceSnapshot),
    targets: workspaceSnapshot.targets.map(clusterInfoOf),
  };
}

function reservationsOf(workspaceSnapshot: WorkspaceSnapshot): ReservationCache {
  const { cluster, workloads, targets } = workspaceSnapshot;
  const reservations = new ReservationCache({ clusterKeyOf: (_, target) => target });
  for (const workload of workloads) {
    const { strategy, copies, workload: whole } = workload;
    const { annotations, labels } = whole.metadata;
    reservations.observeInFlight(
      subjectOf(workspaceSnapshot, workload),
      readInFlight(annotations),
      labels,
    );
    const resource = formatGroupResource(strategy.copies);
    for (const copy of copies) {
      const observed = observedCopyOf(copy, keyInCluster(cluster, copy), resource);
      if (observed !== undefined) reservations.observe(observed);
    }
  }
  for (const { metadata, status } of targets) {
    const own = reservations.reserved(cluster, metadata.name);
    const amounts = new Map(
      [...parseResourceAmounts(status?.reserved)]
        .map(([name, amount]) => [name, amount - (own.get(name) ?? 0)] as const)
        .filter(([, amount]) => amount > 0),
    );
    if (amounts.size > 0) reservations.observe(otherTenants(metadata.name, amounts));
  }
  return reservations;
}

function otherTenants(target: string, amounts: ResourceAmounts) {
  const nobody = { namespace: "", resource: "", name: "", labels: {} };
  return { ...nobody, key: `elsewhere ${target}`, cluster: "elsewhere", target, amounts };
}

function decideIn(
  workspaceSnapshot: WorkspaceSnapshot,
  { policies, reservations, targets }: SchedulingState,
  workload: SnapshotWorkload,
  evaluationTime: EvaluationTime,
): Decision {
  const { strategy, workload: parent, copies } = workload;
  return (strategy.decide ?? decide)({
    strategy,
    parent,
    copies,
    takenNames: new Set(),
    targets,
    ...evaluationTime,
    scheduling: snapshotFrom(policies, reservations, subjectOf(workspaceSnapshot, workload)),
  });
}

function subjectOf(
  { cluster }: WorkspaceSnapshot,
  { strategy, workload }: SnapshotWorkload,
): SchedulingSubject {
  const { namespace = "", name, labels = {} } = workload.metadata;
  const resource = formatGroupResource(strategy.copies);
  return { cluster, namespace, resource, name: ownerLabelValue(name), labels };
}

/** The snapshot with the status that Placements would get: it contains the selected Location. */
export function withPlacementStatus(
  workspaceSnapshot: WorkspaceSnapshot,
  nowMs: number,
): WorkspaceSnapshot {
  const namespaces = [...workspaceSnapshot.namespaces].map(([name, labels]) => ({
    name,
    uid: undefined,
    labels,
    isAnnotated: false,
    isDeleting: false,
    scheduled: undefined,
  }));
  const sharedLocations = new Map(
    [...computeWorkspaceNames(workspaceSnapshot.computeWorkspaces ?? [])].map(([name, path]) => {
      const computeWorkspace = workspaceSnapshot.computeWorkspaces?.find(
        ({ cluster }) => cluster === path,
      );
      return [name, { path, locations: computeWorkspace?.locations ?? [] }] as const;
    }),
  );
  const said = planWorkspace({
    ...workspaceSnapshot,
    sharedLocations,
    namespaces,
    nowMs,
  }).placements;
  const statuses = new Map(said.map(({ placement, status }) => [placement, status]));
  const placements = workspaceSnapshot.placements.map((placement) => {
    const status = statuses.get(placement);
    return status === undefined ? placement : { ...placement, status };
  });
  return { ...workspaceSnapshot, placements };
}

function byName({ workload: a }: SnapshotWorkload, { workload: b }: SnapshotWorkload): number {
  const text = ({ metadata, kind }: Workload) => `${metadata.namespace}/${metadata.name}/${kind}`;
  const [one, other] = [text(a), text(b)];
  if (one === other) return 0;
  return one < other ? -1 : 1;
}
