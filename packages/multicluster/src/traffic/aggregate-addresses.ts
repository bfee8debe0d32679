/**
 * Aggregates the external addresses that several clusters assign to one object: all of them, each
 * once, in the order of the clusters. Addresses of a withdrawn cluster are left out, unless there
 * are no others.
 */
import { type JsonObject, jsonEqual, stringifyJson } from "@kcp-ts/machinery/json";
import { isSharedIngress } from "../api/index.ts";
import { memberObject, memberObjects } from "./objects.ts";

export interface ClusterAddresses {
  readonly cluster: string;
  readonly isVisible: boolean;
  readonly addresses: readonly JsonObject[];
}

/** The addresses in the status of a Service or an Ingress. */
export function addressesIn(status: JsonObject | undefined): readonly JsonObject[] {
  return memberObjects(memberObject(status, "loadBalancer"), "ingress").filter(isSharedIngress);
}

export function aggregateAddresses(given: readonly ClusterAddresses[]): readonly JsonObject[] {
  const ordered = [...given].sort((a, b) => (a.cluster < b.cluster ? -1 : 1));
  const counted = ordered.filter(({ isVisible }) => isVisible);
  const isAnybodyCounted = counted.some(({ addresses }) => addresses.length > 0);
  const folded = new Map<string, JsonObject>();
  for (const address of (isAnybodyCounted ? counted : ordered).flatMap((one) => one.addresses)) {
    const text = addressText(address);
    if (!folded.has(text)) folded.set(text, address);
  }
  return [...folded.values()];
}

/** Equal for equal addresses: servers write the members of a status in one order. */
export function addressText(address: JsonObject): string {
  return stringifyJson(address);
}

/** The status with these addresses; the identical object when nothing changes. */
export function withAddresses(
  status: JsonObject | undefined,
  addresses: readonly JsonObject[],
): JsonObject | undefined {
  const present = addressesIn(status);
  const isSame =
    present.length === addresses.length &&
    present.every((one, index) => jsonEqual(one, addresses[index] ?? null));
  if (isSame) return status;
  const loadBalancer = addresses.length === 0 ? {} : { ingress: [...addresses] };
  return { ...status, loadBalancer };
}
