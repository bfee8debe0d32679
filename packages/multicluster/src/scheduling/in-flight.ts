/** Replicas in flight, which have left one cluster and are not in the next one yet. */
import type { ResourceAmounts } from "./resource-amounts.ts";

export interface InFlightReplicas {
  readonly replicas: number;
  readonly reserved: ResourceAmounts;
}

/** In-flight replicas by destination cluster. */
export type InFlightByCluster = ReadonlyMap<string, InFlightReplicas>;

/** The sum over all destinations. */
export function inFlightReplicas(all: InFlightByCluster): number {
  let sum = 0;
  for (const { replicas } of all.values()) sum += replicas;
  return sum;
}
