/**
 * A workspace snapshot: the complete input of decisions about the workloads of one workspace, at
 * one time or after a hypothetical change.
 *
 * Reservations of other tenants are known from the status of the SyncTargets.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { apiVersionOf, keyInCluster, type StringMap } from "@kcp-ts/sdk";
import {
  type Location,
  type Placement,
  type SyncTarget,
  type WorkloadPlacement,
  workloadPlacementName,
  workloadPlacements,
} from "../api/index.ts";
import {
  type ClusterInfo,
  clusterInfoOf,
  type Decision,
  decide,
  type GracePeriods,
  type PlacementRecord,
  type Strategy,
  schedulableOf,
  type Workload,
} from "../coordination/index.ts";
import {
  observePlacement,
  Policies,
  parseResourceAmounts,
  placedWorkloadOf,
  planWorkspace,
  ReservationCache,
  type ResourceAmounts,
  reservationOf,
  type SchedulingSubject,
  snapshotFrom,
  workloadKindKey,
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
  /** Undefined before the first decision, and where it is not readable. */
  readonly placement?: WorkloadPlacement | undefined;
}

export interface EvaluationTime {
  readonly gracePeriods: GracePeriods;
  readonly nowMs: number;
}

/**
 * The decisions about the workloads of one workspace, with the functions and the state with which
 * the coordinators decide: the reservations of one workload limit the next.
 */
export class WorkspaceDecisions {
  readonly #snapshot: WorkspaceSnapshot;
  readonly #evaluationTime: EvaluationTime;
  readonly #state: SchedulingState;

  constructor(workspaceSnapshot: WorkspaceSnapshot, evaluationTime: EvaluationTime) {
    this.#snapshot = workspaceSnapshot;
    this.#evaluationTime = evaluationTime;
    this.#state = stateOf(workspaceSnapshot);
  }

  /** The workloads in the order of their names. */
  inOrder(): readonly SnapshotWorkload[] {
    return [...this.#snapshot.workloads].sort(byName);
  }

  /** Decides and reserves; `claims` are the PersistentVolumeClaims of the workload's namespace. */
  decide(
    workload: SnapshotWorkload,
    claims = claimsBeside(this.#snapshot, workload.workload),
  ): Decision {
    const { strategy, workload: parent, copies, placement } = workload;
    const { policies, reservations, targets } = this.#state;
    const subject = subjectOf(this.#snapshot, workload);
    const decision = (strategy.decide ?? decide)({
      strategy,
      parent,
      copies,
      record: placement?.status,
      ...(strategy.capabilities.unit === "Ordinal" ? { related: claims } : {}),
      takenNames: new Set(),
      targets,
      ...this.#evaluationTime,
      scheduling: snapshotFrom(policies, reservations, subject),
    });
    const { requests } = schedulableOf(strategy, parent);
    const held = new Map<string, ResourceAmounts>();
    for (const [target, share] of decision.plan.goal)
      if (share > 0) held.set(target, reservationOf(requests, share));
    reservations.reserve(subject, held, parent.metadata.labels);
    return decision;
  }

  /** Counts the new record of a workload instead of its former one. */
  observe({ placement: former }: SnapshotWorkload, { placement }: SnapshotWorkload): void {
    if (placement === undefined) return;
    const key = keyInCluster(this.#snapshot.cluster, placement);
    const before = former && placedWorkloadOf(former);
    observePlacement(this.#state.reservations, key, placedWorkloadOf(placement), before);
  }
}

/** The workload with the record that a decision writes. */
export function withRecord(workload: SnapshotWorkload, status: PlacementRecord): SnapshotWorkload {
  const { workloads } = workload.strategy;
  const { name, namespace = "", labels = {} } = workload.workload.metadata;
  const workloadRef = { apiVersion: apiVersionOf(workloads), kind: workloads.kind, name };
  const created: WorkloadPlacement = {
    apiVersion: apiVersionOf(workloadPlacements),
    kind: workloadPlacements.kind,
    metadata: { name: workloadPlacementName(workloads, name), namespace, labels },
    spec: { workloadRef },
  };
  return { ...workload, placement: { ...(workload.placement ?? created), status } };
}

function claimsBeside(
  { storage }: WorkspaceSnapshot,
  { metadata: { namespace } }: Workload,
): readonly Workload[] {
  const claims = storage?.claims.filter(({ metadata }) => metadata.namespace === namespace);
  return (claims ?? []) as unknown as readonly Workload[];
}

/**
 * Decides about each workload, one after the other. Yields each decision instead of collecting
 * them: all decisions of a large workspace need much memory.
 */
export function* decideEach(
  workspaceSnapshot: WorkspaceSnapshot,
  evaluationTime: EvaluationTime,
): Generator<readonly [SnapshotWorkload, Decision]> {
  const decisions = new WorkspaceDecisions(workspaceSnapshot, evaluationTime);
  for (const workload of decisions.inOrder()) yield [workload, decisions.decide(workload)];
}

export function decideOne(
  workspaceSnapshot: WorkspaceSnapshot,
  workload: SnapshotWorkload,
  evaluationTime: EvaluationTime,
): Decision {
  return new WorkspaceDecisions(workspaceSnapshot, evaluationTime).decide(workload);
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
  for (const { placement } of workloads)
    if (placement !== undefined)
      observePlacement(reservations, keyInCluster(cluster, placement), placedWorkloadOf(placement));
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
  const noWorkload = { namespace: "", resource: "", name: "", labels: {} };
  return { ...noWorkload, key: `tenant ${target}`, cluster: "tenant", target, amounts };
}

function subjectOf(
  { cluster }: WorkspaceSnapshot,
  { strategy, workload }: SnapshotWorkload,
): SchedulingSubject {
  const { namespace = "", name, labels = {} } = workload.metadata;
  const resource = workloadKindKey(strategy.workloads);
  return { cluster, namespace, resource, name, labels };
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
