/** The state that all parts of one syncer share. */
import type { Clock, Random } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { Client, Resource } from "@kcp-ts/sdk";
import type { Lease } from "./lease.ts";
import type { TargetIdentity } from "./origin.ts";
import type { PodSecuritySetting } from "./pod-security.ts";

export { namespaces, persistentVolumeClaims } from "@kcp-ts/sdk/kinds";

export interface SyncContext {
  readonly target: TargetIdentity;
  readonly downstream: Client;
  /** The Pod security level for tenants in the cluster. */
  readonly podSecurity: PodSecuritySetting;
  /**
   * The key by which the syncer identifies its namespaces in the cluster; without a key, by their
   * annotations alone.
   */
  readonly namespaceKey?: Uint8Array | undefined;
  readonly upstreamIn: (cluster: ClusterName) => Client;
  /** The name of the SyncTarget in a logical cluster. */
  readonly nameIn: (cluster: ClusterName) => string;
  /**
   * Whether objects of the logical cluster may be in the SyncTarget: the name of a SyncTarget means
   * nothing in another tenant's logical cluster.
   */
  readonly serves: (cluster: ClusterName) => boolean;
  /** Whether other logical clusters may use the SyncTarget; the control plane decides which. */
  readonly isShared: boolean;
  /**
   * Throws unless a live read confirms that the SyncTarget in the control plane is the known one.
   * Called before every deletion in the cluster.
   */
  readonly confirmTarget: () => Promise<void>;
  /** The lease of an agent: StopBeforeStart workloads run only while it is held. */
  readonly lease?: Lease | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly signal: AbortSignal;
  /** Logs an error; errors that concern the owners of objects are reported on the objects. */
  readonly onError: (error: unknown) => void;
}

/** One kind to sync. */
export interface SyncedResource {
  readonly resource: Resource;
  /** Whether `.status` is a subresource upstream. */
  readonly hasStatus: boolean;
  /** Whether objects of other logical clusters that use the physical clusters are synced, too. */
  readonly isShared?: boolean;
  /**
   * Objects of another logical cluster without this label are not synced: the owner has not
   * accepted the permission claim, or has revoked it.
   */
  readonly consentLabel?: string | undefined;
}
