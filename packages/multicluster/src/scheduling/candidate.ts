/** A physical cluster as the scheduler sees it: what its SyncTarget says but for its health, which is judged elsewhere. */
import { isJsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import type { StringMap } from "@kcp-ts/sdk";
import { clusterLabel, type ResourceLimits, type SyncTarget, type Taint } from "../api/index.ts";

export interface ClusterCandidate {
  readonly name: string;
  readonly labels: StringMap;
  /** The logical cluster of the SyncTarget; that of the workload if left out. */
  readonly home?: string | undefined;
  readonly taints?: readonly Taint[] | undefined;
  readonly bounds?: ResourceLimits | undefined;
  readonly allocatable?: StringMap | undefined;
  /** What it takes, as in `deployments.apps`: its own API is compatible with what is served here. Unknown if left out. */
  readonly resources?: readonly string[] | undefined;
}

export function clusterCandidateOf({ metadata, spec, status }: SyncTarget): ClusterCandidate {
  const { taints, bounds } = spec ?? {};
  const { allocatable, syncedResources: resources } = status ?? {};
  return {
    name: metadata.name,
    // By its name, too: who selects clusters may mean this one.
    labels: { ...metadata.labels, [clusterLabel]: metadata.name },
    ...(Array.isArray(taints) && taints.length > 0 ? { taints } : {}),
    ...(isJsonObject(bounds as JsonValue | undefined) ? { bounds } : {}),
    ...(isJsonObject(allocatable as JsonValue | undefined) ? { allocatable } : {}),
    ...(resources === undefined ? {} : { resources }),
  };
}
