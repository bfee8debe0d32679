/** What every workload controller is given. */
import type { Clock, Random } from "@kcp-ts/machinery/base";
import type { Clusters, EventInput, KubernetesObject, ObjectKey } from "@kcp-ts/sdk";

export interface WorkloadContext {
  readonly clusters: Clusters;
  readonly clock: Clock;
  readonly random: Random;
  /** Fields that came later are not written to older clusters, which would drop them and look changed forever. */
  readonly knowsTerminatingReplicas: boolean;
  /** Whether the kinds of snapshots are served. */
  readonly hasSnapshots?: boolean;
  /** Tells people; never fails, never waits. */
  readonly tell: (object: KubernetesObject, happening: EventInput) => void;
  readonly onError: (error: unknown, key: ObjectKey) => void;
}
