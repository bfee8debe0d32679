/**
 * Replicas in flight, which have left one cluster and are not in the next one yet, as a workload's
 * annotation: `{"us-west1":{"replicas":1,"reserved":"cpu=500m,pods=1"}}`. Per-cluster objects carry
 * their reservations; replicas between two of them have no other record.
 */
import { type StringMap, stringMember } from "@kcp-ts/sdk";
import { formatReservation, readReservationText } from "./reservation.ts";
import { noResources, type ResourceAmounts } from "./resource-amounts.ts";

export const inFlightAnnotation = "workload.kcp.io/in-flight";

export interface InFlightReplicas {
  readonly replicas: number;
  readonly reserved: ResourceAmounts;
}

/** In-flight replicas by destination cluster. */
export type InFlightByCluster = ReadonlyMap<string, InFlightReplicas>;

const none: InFlightByCluster = new Map();

export function formatInFlight(all: InFlightByCluster): string {
  const entries = [...all].map(([cluster, { replicas, reserved }]) => {
    return [cluster, { replicas, reserved: formatReservation(reserved) }];
  });
  return JSON.stringify(Object.fromEntries(entries));
}

/** The in-flight replicas; none for an invalid annotation: users may write annotations. */
export function readInFlight(annotations: StringMap | undefined): InFlightByCluster {
  const text = stringMember(annotations, inFlightAnnotation);
  if (text === undefined) return none;
  try {
    const entries: unknown = JSON.parse(text);
    if (typeof entries !== "object" || entries === null) return none;
    return new Map(Object.entries(entries).flatMap(([cluster, one]) => entryOf(cluster, one)));
  } catch (error) {
    if (error instanceof SyntaxError) return none;
    throw error;
  }
}

/** The sum over all destinations. */
export function inFlightReplicas(all: InFlightByCluster): number {
  let sum = 0;
  for (const { replicas } of all.values()) sum += replicas;
  return sum;
}

function entryOf(
  cluster: string,
  value: unknown,
): readonly (readonly [string, InFlightReplicas])[] {
  if (typeof value !== "object" || value === null) return [];
  const { replicas, reserved } = value as {
    readonly replicas?: unknown;
    readonly reserved?: unknown;
  };
  if (typeof replicas !== "number" || !Number.isSafeInteger(replicas) || replicas <= 0) return [];
  const amounts = typeof reserved === "string" ? readReservationText(reserved) : noResources;
  return [[cluster, { replicas, reserved: amounts }]];
}
