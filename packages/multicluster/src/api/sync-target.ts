/** SyncTarget: a physical cluster, registered in a logical cluster. */
import { type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import { type Condition, defineResource, type KubernetesObject, type StringMap } from "@kcp-ts/sdk";
import type { DrainSpec, DrainStatus } from "./drain.ts";
import type { ResourceLimits, Taint } from "./scheduling.ts";

export interface SyncTarget extends KubernetesObject {
  readonly spec?: SyncTargetSpec;
  readonly status?: SyncTargetStatus;
}

/** Push: our process connects to the cluster. Pull: an agent in the cluster connects to us. None: somebody runs a syncer by hand. */
export type SyncMode = "Push" | "Pull" | "None";

export interface SyncTargetSpec {
  /** YAML or JSON; only its current context counts. */
  readonly kubeconfig?: string;
  readonly kubeconfigSecretRef?: SecretKeyReference;
  readonly mode?: SyncMode;
  /** Nothing new is assigned. */
  readonly unschedulable?: boolean;
  /** From then on also what is there has to leave. */
  readonly evictAfter?: string;
  /** `deployments.apps`; "*" stands for everything that can be synced. Left out: what the control plane is told to sync. */
  readonly resources?: readonly string[];
  readonly taints?: readonly Taint[];
  /** What may be used at most; instead of what the cluster reports. */
  readonly bounds?: ResourceLimits;
  /** Everything is to leave, on a budget. */
  readonly drain?: DrainSpec;
}

export interface SecretKeyReference {
  readonly namespace: string;
  readonly name: string;
  /** Defaults to `kubeconfig`. */
  readonly key?: string;
}

export interface SyncTargetStatus {
  readonly conditions?: readonly SeverityCondition[];
  /** The cluster's version of Kubernetes. */
  readonly version?: string;
  readonly capacity?: StringMap;
  readonly allocatable?: StringMap;
  /** What is asked for by what is placed here. */
  readonly reserved?: StringMap;
  /** `resource.group`, sorted. */
  readonly syncedResources?: readonly string[];
  /** Of the syncer. */
  readonly lastHeartbeatTime?: string;
  /** What the agent promises with its last heartbeat, by its own clock: the next one comes by then. Who does not say so promises nothing. */
  readonly nextHeartbeatTime?: string;
  /** What the agent promises: so long after a heartbeat that counted it stops what may run once at most. */
  readonly leaseDurationSeconds?: number;
  /** Of the agent, the newest. */
  readonly tunnel?: TunnelStatus;
  readonly drain?: DrainStatus;
}

export interface TunnelStatus {
  readonly id: string;
  /** The server process that has it; left out where others could not tell whether that is still there. */
  readonly server?: string;
  /** It broke off, and this was the last heartbeat then; empty if there was none. */
  readonly brokenAfter?: string;
}

export type Severity = "Error" | "Warning" | "Info";

/** With a severity when it is not True. */
export interface SeverityCondition extends Condition {
  readonly severity?: Severity;
}

/** Ready is the summary of the others. */
export const targetConditions = {
  ready: "Ready",
  syncerReady: "SyncerReady",
  apiImporterReady: "APIImporterReady",
  heartbeatHealthy: "HeartbeatHealthy",
} as const;

/** An agent's lease. Shorter, and a request that is slow for once costs it; longer, and nobody knows for too long that it is gone. */
export const leaseMsMin = 3000;
export const leaseMsMax = 600_000;

/** How long after the last heartbeat the next one is due; undefined when the last one does not say so, as those of agents from before do not. */
export function heartbeatIntervalMsOf(
  status: Pick<SyncTargetStatus, "lastHeartbeatTime" | "nextHeartbeatTime">,
): number | undefined {
  const { lastHeartbeatTime = "", nextHeartbeatTime = "" } = status;
  const promisedMs = Date.parse(nextHeartbeatTime) - Date.parse(lastHeartbeatTime);
  return promisedMs > 0 ? promisedMs : undefined;
}

/** Whether nothing has changed but that the agent was heard of, which concerns those who listen for it and nobody else. */
export function isOnlyHeartbeat(now: SyncTarget, before: SyncTarget): boolean {
  return jsonEqual(withoutHeartbeat(now), withoutHeartbeat(before));
}

function withoutHeartbeat({ metadata, spec, status = {} }: SyncTarget): JsonValue {
  const { resourceVersion: _version, managedFields: _fields, ...about } = metadata;
  const { lastHeartbeatTime: _last, nextHeartbeatTime: _next, ...found } = status;
  return { about, spec: spec ?? {}, found } as unknown as JsonValue;
}

/** An agent without a tunnel writes a heartbeat this often, or more often where its lease is short. */
export const tunnellessHeartbeatMs = 2000;

export const defaultSecretKey = "kubeconfig";
/** In `spec.resources`: all of them. */
export const allResources = "*";

export const syncTargets = defineResource<SyncTarget>({
  group: "workload.kcp.io",
  version: "v1alpha1",
  resource: "synctargets",
  kind: "SyncTarget",
  namespaced: false,
});
