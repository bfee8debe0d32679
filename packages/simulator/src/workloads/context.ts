/** The dependencies of every workload controller. */
import type { Clock, Random } from "@kcp-ts/machinery/base";
import type { Clusters, EventInput, KubernetesObject, ObjectKey } from "@kcp-ts/sdk";

export interface WorkloadContext {
  readonly clusters: Clusters;
  readonly clock: Clock;
  readonly random: Random;
  /**
   * Newer fields are not written to older clusters, which would prune them and cause a write in
   * every reconcile.
   */
  readonly knowsTerminatingReplicas: boolean;
  /** Whether the snapshot kinds are served. */
  readonly hasSnapshots?: boolean;
  /** Records an Event; never fails and never waits. */
  readonly recordEvent: (object: KubernetesObject, eventInput: EventInput) => void;
  readonly onError: (error: unknown, key: ObjectKey) => void;
}
