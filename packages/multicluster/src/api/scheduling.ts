/**
 * Policy: a Location groups the physical clusters of a workspace, a Placement says which Locations the workloads of some namespaces go to, and how.
 *
 * What of a Placement is left out is said by a less specific one: docs/guides/placement.md has the levels.
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
  /** SyncTargets: nothing else can be an instance. */
  readonly resource: GroupVersionResourceName;
  readonly description?: string;
  /** For people who choose; it selects nothing. */
  readonly availableSelectorLabels?: readonly AvailableSelectorLabel[];
  /** The SyncTargets of the same workspace that belong to it; left out or empty, all. */
  readonly instanceSelector?: LabelSelectorObject;
  /** What one workspace may use in all of its clusters together. */
  readonly bounds?: ResourceLimits;
  /** What Pods of workspaces that use its clusters may do there. */
  readonly podSecurity?: { readonly enforce?: PodSecurityLevel };
}

/** Of the Pod Security Standards. */
export type PodSecurityLevel = "privileged" | "baseline" | "restricted";

export interface AvailableSelectorLabel {
  readonly key: string;
  readonly values: readonly string[];
  readonly description?: string;
}

export interface LocationStatus {
  readonly instances?: number;
  /** Ready, and not cordoned. */
  readonly availableInstances?: number;
}

/** Resource to quantity; `pods` and `workloads` are counted. */
export type ResourceLimits = Readonly<Record<string, string | number>>;

/** In bounds and reservations: objects that are placed, whatever they need. */
export const workloadsResource = "workloads";
export const podsResource = "pods";

export interface Placement extends KubernetesObject {
  readonly spec: PlacementSpec;
  readonly status?: PlacementStatus;
}

export interface PlacementSpec {
  readonly locationResource: GroupVersionResourceName;
  /** Any of them, by the labels of Locations. An empty list selects none; left out, less specific Placements say where. */
  readonly locationSelectors?: readonly LabelSelectorObject[];
  /** The path of the workspace that has the Locations; its own if left out. */
  readonly locationWorkspace?: string;
  /** Left out: no namespace. Empty: every namespace, which makes it the Placement of the workspace. */
  readonly namespaceSelector?: LabelSelectorObject;
  /** By the labels of workloads; all if left out. */
  readonly workloadSelector?: LabelSelectorObject;
  /** SyncTarget to its share relative to the others: 1 if left out, 0 is none. */
  readonly weights?: Readonly<Record<string, number>>;
  /** The widest domain first. */
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
  /** So uneven domains may be before something is moved; 1 if left out. */
  readonly maxSkew?: number;
}

/** Being where, or where not, other workloads of the namespace are. */
export interface WorkloadAffinity {
  readonly workloadSelector: LabelSelectorObject;
  /** A label of SyncTargets: those with the same value are one place. Left out, each cluster is one. */
  readonly topologyKey?: string;
  /** Nothing new goes elsewhere. Otherwise it is a preference. */
  readonly required?: boolean;
}

export type TaintEffect = "NoSchedule" | "PreferNoSchedule" | "NoExecute";

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: TaintEffect;
}

export interface Toleration {
  /** Left out with the operator Exists: every taint. */
  readonly key?: string;
  readonly operator?: "Equal" | "Exists";
  readonly value?: string;
  /** Every effect if left out. */
  readonly effect?: TaintEffect;
}

/** A budget for all clusters together. */
export interface RolloutPolicy {
  readonly maxSurge?: number | string;
  readonly maxUnavailable?: number | string;
  readonly paused?: boolean;
  readonly progressDeadlineSeconds?: number;
  readonly rollback?: boolean;
}

export interface FailoverPolicy {
  /** So long a lost cluster is waited for. */
  readonly tolerationSeconds?: number;
  /** Nothing is started elsewhere before the lost cluster has surely stopped its own. */
  readonly atMostOne?: boolean;
}

export interface ClusterOverride {
  /** By the labels of SyncTargets. */
  readonly clusterSelector: LabelSelectorObject;
  readonly patches: readonly OverridePatch[];
}

/** An operation of a JSON patch, on the whole object. */
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

/** Ready: it has a Location. Scheduled: clusters in it take workloads. */
export const placementConditions = { ready: "Ready", scheduled: "Scheduled" } as const;
/** Of namespaces. */
export const namespaceScheduledCondition = "NamespaceScheduled";

/** The Location that every workspace with a SyncTarget has, and the Placement that `root` may have for all. */
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
