/**
 * What has left one cluster and is not in the next one yet, as a whole carries it: `{"us-west1":{"replicas":1,"reserved":"cpu=500m,pods=1"}}`. Parts say what they have reserved; of what is
 * between two of them nobody else would know.
 */
import { type StringMap, stringMember } from "@kcp-ts/sdk";
import { noResources, type ResourceAmounts } from "./amounts.ts";
import { formatReservation, readReservationText } from "./reservation.ts";

export const inFlightAnnotation = "scheduling.kcp.io/under-way";

export interface InFlightReplicas {
  readonly replicas: number;
  readonly reserved: ResourceAmounts;
}

/** By the cluster that it is to be in. */
export type InFlightByCluster = ReadonlyMap<string, InFlightReplicas>;

const none: InFlightByCluster = new Map();

export function formatInFlight(all: InFlightByCluster): string {
  const entries = [...all].map(([cluster, { replicas, reserved }]) => {
    return [cluster, { replicas, reserved: formatReservation(reserved) }];
  });
  return JSON.stringify(Object.fromEntries(entries));
}

/** What cannot be read is nothing: anybody may write annotations. */
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

/** How many, wherever they go. */
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
