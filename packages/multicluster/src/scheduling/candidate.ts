/**
 * A physical cluster as the scheduler sees it: the content of its SyncTarget except its health,
 * which the cluster state covers.
 */
import { isJsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import type { StringMap } from "@kcp-ts/sdk";
import { clusterLabel, type ResourceLimits, type SyncTarget, type Taint } from "../api/index.ts";

export interface ClusterCandidate {
  readonly name: string;
  readonly labels: StringMap;
  /** The logical cluster of the SyncTarget; that of the workload if omitted. */
  readonly computeWorkspace?: string | undefined;
  readonly taints?: readonly Taint[] | undefined;
  readonly resourceLimits?: ResourceLimits | undefined;
  readonly allocatable?: StringMap | undefined;
  /** The SyncTargets that share the cluster and its allocatable resources; one if omitted. */
  readonly registrations?: number | undefined;
  /**
   * The resources that the cluster syncs, such as `deployments.apps`: its own API is compatible
   * with the served one. Unknown if omitted.
   */
  readonly resources?: readonly string[] | undefined;
}

export function clusterCandidateOf({ metadata, spec, status }: SyncTarget): ClusterCandidate {
  const { taints, resourceLimits: limits } = spec ?? {};
  const { allocatable, syncedResources: resources, registrations } = status ?? {};
  return {
    name: metadata.name,
    // The name is a label, too, so that a selector can select a single cluster.
    labels: { ...metadata.labels, [clusterLabel]: metadata.name },
    ...(Array.isArray(taints) && taints.length > 0 ? { taints } : {}),
    ...(isJsonObject(limits as JsonValue | undefined) ? { resourceLimits: limits } : {}),
    ...(isJsonObject(allocatable as JsonValue | undefined) ? { allocatable } : {}),
    ...(registrations === undefined ? {} : { registrations }),
    ...(resources === undefined ? {} : { resources }),
  };
}
