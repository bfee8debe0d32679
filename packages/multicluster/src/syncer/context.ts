/** What all parts of one syncer share. */
import type { Clock, Random } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { type Client, defineResource, type KubernetesObject, type Resource } from "@kcp-ts/sdk";
import type { Lease } from "./lease.ts";
import type { TargetIdentity } from "./origin.ts";
import type { PodSecuritySetting } from "./pod-security.ts";

export interface SyncContext {
  readonly target: TargetIdentity;
  readonly downstream: Client;
  /** What Pods of tenants may do in the cluster. */
  readonly podSecurity: PodSecuritySetting;
  /** By which the namespaces in the cluster are known; without one, by what they say of themselves. */
  readonly namespaceKey?: Uint8Array | undefined;
  readonly upstreamIn: (cluster: ClusterName) => Client;
  /** What objects of a logical cluster call the SyncTarget. */
  readonly nameIn: (cluster: ClusterName) => string;
  /** Whose objects may be in the target: a SyncTarget's name means nothing in another tenant's logical cluster. */
  readonly serves: (cluster: ClusterName) => boolean;
  /** Whether other logical clusters may use the SyncTarget; who they are says the control plane. */
  readonly isShared: boolean;
  /** Throws unless the control plane says, live, that the SyncTarget is the one we know. Asked before anything is deleted in the cluster. */
  readonly confirmTarget: () => Promise<void>;
  /** Of an agent: what may run once at most runs only while it is held. */
  readonly lease?: Lease | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** For a log; what is of interest to owners of objects is told on the objects. */
  readonly onError: (error: unknown) => void;
}

/** One kind to sync. */
export interface SyncedResource {
  readonly resource: Resource;
  /** Whether `.status` is written by an endpoint of its own upstream. */
  readonly hasStatus: boolean;
  /** Also those of other logical clusters that use this one's physical clusters. */
  readonly isShared?: boolean;
  /** Without this label, an object of another logical cluster is none of ours: its owner has not agreed, or not any more. */
  readonly consentLabel?: string | undefined;
}

export const namespaces: Resource<KubernetesObject> = defineResource({
  group: "",
  version: "v1",
  resource: "namespaces",
  kind: "Namespace",
  namespaced: false,
});
