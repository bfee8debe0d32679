/** SyncTarget: a physical cluster, registered in a logical cluster. */
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { type Condition, defineResource, type KubernetesObject, type StringMap } from "@kcp-ts/sdk";
import type { DrainSpec, DrainStatus } from "./drain.ts";
import type { ResourceLimits, Taint } from "./scheduling.ts";

export interface SyncTarget extends KubernetesObject {
  readonly spec?: SyncTargetSpec;
  readonly status?: SyncTargetStatus;
}

/**
 * Push: the control plane connects to the cluster. Pull: an agent in the cluster connects to the
 * control plane. None: a user runs a syncer by hand.
 */
export type SyncMode = "Push" | "Pull" | "None";

export interface SyncTargetSpec {
  /** YAML or JSON; only the current context is used. */
  readonly kubeconfig?: string;
  readonly kubeconfigSecretRef?: SecretKeyReference;
  readonly mode?: SyncMode;
  /** No new workloads are assigned to the cluster. */
  readonly unschedulable?: boolean;
  /** From this time on, assigned workloads are evicted, too. */
  readonly evictAfter?: string;
  /**
   * Resources such as `deployments.apps`; "*" means all resources that can be synced. If omitted,
   * the resources that the control plane syncs by default.
   */
  readonly resources?: readonly string[];
  readonly taints?: readonly Taint[];
  /** Upper limits for scheduling, which replace the capacity that the cluster reports. */
  readonly resourceLimits?: ResourceLimits;
  /** All workloads are to leave the cluster, within a budget. */
  readonly drain?: DrainSpec;
}

export interface SecretKeyReference {
  readonly namespace: string;
  readonly name: string;
  /** The key in the Secret; `kubeconfig` if omitted. */
  readonly key?: string;
}

export interface SyncTargetStatus {
  readonly conditions?: readonly SeverityCondition[];
  /** The cluster's Kubernetes version. */
  readonly version?: string;
  readonly capacity?: StringMap;
  readonly allocatable?: StringMap;
  /** The resources that the assigned workloads reserve. */
  readonly reserved?: StringMap;
  /** Resources as `resource.group`, sorted. */
  readonly syncedResources?: readonly string[];
  /** The time of the syncer's last heartbeat. */
  readonly lastHeartbeatTime?: string;
  /**
   * The time, by the agent's own clock, at which the agent promises its next heartbeat. An agent
   * that omits the field promises none.
   */
  readonly nextHeartbeatTime?: string;
  /**
   * The agent promises to stop StopBeforeStart workloads this long after its last accepted
   * heartbeat.
   */
  readonly leaseDurationSeconds?: number;
  /** The newest tunnel of the agent. */
  readonly tunnel?: TunnelStatus;
  readonly drain?: DrainStatus;
}

export interface TunnelStatus {
  readonly id: string;
  /**
   * The server process that holds the tunnel; omitted where other processes cannot check whether it
   * is alive.
   */
  readonly server?: string;
  /** The time of the last heartbeat before the tunnel broke; empty if there was none. */
  readonly disconnectedAt?: string;
}

export type Severity = "Error" | "Warning" | "Info";

/** A condition with a severity when it is not True. */
export interface SeverityCondition extends Condition {
  readonly severity?: Severity;
}

/** The condition types; Ready summarizes the others. */
export const targetConditions = {
  ready: "Ready",
  syncerReady: "SyncerReady",
  apiImporterReady: "APIImporterReady",
  heartbeatHealthy: "HeartbeatHealthy",
} as const;

/**
 * The minimal lease of an agent. With a shorter lease, a single slow request would let it expire; a
 * longer lease delays the detection of a lost agent.
 */
export const leaseMsMin = 3000;
export const leaseMsMax = 600_000;

/**
 * How long after the last heartbeat the next one is due; undefined when the last one does not say
 * so, as with older agents.
 */
export function heartbeatIntervalMsOf(
  status: Pick<SyncTargetStatus, "lastHeartbeatTime" | "nextHeartbeatTime">,
): number | undefined {
  const { lastHeartbeatTime = "", nextHeartbeatTime = "" } = status;
  const promisedMs = Date.parse(nextHeartbeatTime) - Date.parse(lastHeartbeatTime);
  return promisedMs > 0 ? promisedMs : undefined;
}

/**
 * Whether the update contains only a heartbeat of the agent, which only the agent's observers need.
 */
export function isOnlyHeartbeat(now: SyncTarget, before: SyncTarget): boolean {
  return jsonEqual(withoutHeartbeat(now), withoutHeartbeat(before));
}

function withoutHeartbeat({ metadata, spec, status = {} }: SyncTarget): JsonValue {
  const { resourceVersion: _version, managedFields: _fields, ...about } = metadata;
  const { lastHeartbeatTime: _last, nextHeartbeatTime: _next, ...found } = status;
  return { about, spec: spec ?? {}, found } as unknown as JsonValue;
}

/** The interval of heartbeats of an agent without a tunnel; shorter where its lease is short. */
export const tunnellessHeartbeatMs = 2000;

export const defaultSecretKey = "kubeconfig";
/** The value in `spec.resources` for all resources. */
export const allResources = "*";

export const syncTargets = defineResource<SyncTarget>({
  group: "workload.kcp.io",
  version: "v1alpha1",
  resource: "synctargets",
  kind: "SyncTarget",
  namespaced: false,
});
