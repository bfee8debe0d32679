/**
 * Scheduling policy: a Location groups the physical clusters of a workspace; a Placement selects
 * the Locations for the workloads of some namespaces, and configures their scheduling.
 *
 * Fields that a Placement omits are taken from a less specific Placement: docs/guides/placement.md
 * lists the levels.
 */
import type { JsonValue } from "@kcp-ts/machinery/json";
import type { LabelSelectorObject } from "@kcp-ts/machinery/selectors";
import { type Condition, defineResource, type KubernetesObject } from "@kcp-ts/sdk";

export interface GroupVersionResourceName {
  readonly group?: string;
  readonly version: string;
  readonly resource: string;
}

export interface Location extends KubernetesObject {
  readonly spec: LocationSpec;
  readonly status?: LocationStatus;
}

export interface LocationSpec {
  /** Always SyncTargets: no other resource can be an instance. */
  readonly resource: GroupVersionResourceName;
  readonly description?: string;
  /** Information for users who choose labels; the field selects nothing. */
  readonly availableSelectorLabels?: readonly AvailableSelectorLabel[];
  /** The SyncTargets of the same workspace that belong to the Location; all if omitted or empty. */
  readonly instanceSelector?: LabelSelectorObject;
  /** The limits of each workspace over all clusters of the Location together. */
  readonly resourceLimits?: ResourceLimits;
  /** The Pod security level for Pods of workspaces that use the Location's clusters. */
  readonly podSecurity?: { readonly enforce?: PodSecurityLevel };
}

/** The levels of the Pod Security Standards. */
export type PodSecurityLevel = "privileged" | "baseline" | "restricted";

export interface AvailableSelectorLabel {
  readonly key: string;
  readonly values: readonly string[];
  readonly description?: string;
}

export interface LocationStatus {
  readonly instances?: number;
  /** The number of SyncTargets that are Ready and not Cordoned. */
  readonly availableInstances?: number;
}

/** Quantities by resource; `pods` and `workloads` are counts. */
export type ResourceLimits = Readonly<Record<string, string | number>>;

/** The resource name, in limits and reservations, of the number of scheduled workloads. */
export const workloadsResource = "workloads";
export const podsResource = "pods";

export interface Placement extends KubernetesObject {
  readonly spec: PlacementSpec;
  readonly status?: PlacementStatus;
}

export interface PlacementSpec {
  readonly locationResource: GroupVersionResourceName;
  /**
   * A Location matches if any selector matches its labels. An empty list selects none; if omitted,
   * less specific Placements decide.
   */
  readonly locationSelectors?: readonly LabelSelectorObject[];
  /** The path of the workspace of the Locations; the Placement's own workspace if omitted. */
  readonly locationWorkspace?: string;
  /**
   * Omitted: no namespace. Empty: every namespace, which makes it the Placement of the workspace.
   */
  readonly namespaceSelector?: LabelSelectorObject;
  /** Selects workloads by their labels; all if omitted. */
  readonly workloadSelector?: LabelSelectorObject;
  /** The weight of each SyncTarget relative to the others: 1 if omitted; 0 means no replicas. */
  readonly weights?: Readonly<Record<string, number>>;
  /** The spread constraints, the widest domain first. */
  readonly spread?: readonly SpreadConstraint[];
  readonly affinity?: readonly WorkloadAffinity[];
  readonly antiAffinity?: readonly WorkloadAffinity[];
  readonly tolerations?: readonly Toleration[];
  readonly rollout?: RolloutPolicy;
  readonly failover?: FailoverPolicy;
  readonly overrides?: readonly ClusterOverride[];
}

export interface SpreadConstraint {
  /** A label of SyncTargets. */
  readonly topologyKey: string;
  /** The largest permitted skew between domains before replicas move; 1 if omitted. */
  readonly maxSkew?: number;
}

/** Affinity and anti-affinity to other workloads of the namespace. */
export interface WorkloadAffinity {
  readonly workloadSelector: LabelSelectorObject;
  /**
   * A label of SyncTargets: SyncTargets with the same value are one domain. If omitted, each
   * cluster is a domain.
   */
  readonly topologyKey?: string;
  /**
   * New replicas are scheduled only to clusters that match; otherwise the affinity is a preference.
   */
  readonly required?: boolean;
}

export type TaintEffect = "NoSchedule" | "PreferNoSchedule" | "NoExecute";

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: TaintEffect;
}

export interface Toleration {
  /** Omitted with the operator Exists: matches every taint. */
  readonly key?: string;
  readonly operator?: "Equal" | "Exists";
  readonly value?: string;
  /** Matches every effect if omitted. */
  readonly effect?: TaintEffect;
}

/** The rolling update limits over all clusters together. */
export interface RolloutPolicy {
  readonly maxSurge?: number | string;
  readonly maxUnavailable?: number | string;
  readonly paused?: boolean;
  readonly progressDeadlineSeconds?: number;
  readonly rollback?: boolean;
}

/** Whether a replacement is started after its predecessor has certainly stopped, or before. */
export type FailoverStrategy = "StopBeforeStart" | "StartBeforeStop";

export interface FailoverPolicy {
  /** How long an Unreachable cluster is tolerated before its replicas are replaced. */
  readonly tolerationSeconds?: number;
  /**
   * `StopBeforeStart`: no other cluster starts a replacement before the Unreachable cluster has
   * certainly stopped its own replicas.
   */
  readonly strategy?: FailoverStrategy;
}

export interface ClusterOverride {
  /** Selects SyncTargets by their labels. */
  readonly clusterSelector: LabelSelectorObject;
  readonly patches: readonly OverridePatch[];
}

/** An operation of a JSON patch on the complete object. */
export interface OverridePatch {
  readonly op: "add" | "replace" | "remove";
  readonly path: string;
  readonly value?: JsonValue;
}

export type PlacementPhase = "Pending" | "Unbound" | "Bound";

export interface PlacementStatus {
  /** Pending: no Location. Unbound: no namespace. Bound: both. */
  readonly phase?: PlacementPhase;
  readonly selectedLocation?: LocationReference;
  readonly conditions?: readonly Condition[];
}

export interface LocationReference {
  readonly path: string;
  readonly locationName: string;
}

/** Ready: the Placement has a Location. Scheduled: clusters of the Location accept workloads. */
export const placementConditions = { ready: "Ready", scheduled: "Scheduled" } as const;
/** A condition of namespaces. */
export const namespaceScheduledCondition = "NamespaceScheduled";

/**
 * The name of the Location that every workspace with a SyncTarget has, and of the Placement that
 * `root` may have for all workspaces.
 */
export const defaultLocationName = "default";
export const globalPlacement = { cluster: "root", name: "default" } as const;

export const regionLabel = "topology.kubernetes.io/region";
export const zoneLabel = "topology.kubernetes.io/zone";

const group = "scheduling.kcp.io";
const version = "v1alpha1";

export const locations = defineResource<Location>({
  group,
  version,
  resource: "locations",
  kind: "Location",
  namespaced: false,
});

export const placements = defineResource<Placement>({
  group,
  version,
  resource: "placements",
  kind: "Placement",
  namespaced: false,
});

export const syncTargetResource: GroupVersionResourceName = {
  group: "workload.kcp.io",
  version: "v1alpha1",
  resource: "synctargets",
};
