/**
 * Addresses from outside that several clusters give one object: all of them, each once, in the order of the clusters. Those of a cluster that does not count
 * are left out, unless there are no others.
 */
import { type JsonObject, jsonEqual } from "@kcp-ts/machinery/json";
import { isSharedIngress } from "../api/index.ts";
import { memberObject, memberObjects } from "./objects.ts";

export interface ClusterAddresses {
  readonly cluster: string;
  readonly counts: boolean;
  readonly addresses: readonly JsonObject[];
}

/** In a status, of a Service or of an Ingress. */
export function addressesIn(status: JsonObject | undefined): readonly JsonObject[] {
  return memberObjects(memberObject(status, "loadBalancer"), "ingress").filter(isSharedIngress);
}

export function aggregateAddresses(given: readonly ClusterAddresses[]): readonly JsonObject[] {
  const ordered = [...given].sort((a, b) => (a.cluster < b.cluster ? -1 : 1));
  const counted = ordered.filter(({ counts }) => counts);
  const isAnybodyCounted = counted.some(({ addresses }) => addresses.length > 0);
  const folded: JsonObject[] = [];
  for (const address of (isAnybodyCounted ? counted : ordered).flatMap((one) => one.addresses))
    if (!isAmong(address, folded)) folded.push(address);
  return folded;
}

export function isAmong(address: JsonObject, addresses: readonly JsonObject[]): boolean {
  return addresses.some((one) => jsonEqual(one, address));
}

/** The status with these addresses; the very status when it has them. */
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
