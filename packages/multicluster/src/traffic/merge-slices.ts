/**
 * Merges the EndpointSlices of an import from those of the clusters: one for each, with the same
 * endpoints, without fields that are meaningless in other clusters (the Pod, the node, topology
 * hints). A slice has endpoints of one cluster only. An address that is in two slices of a cluster
 * is published once: Kubernetes permits duplicates while slices are rearranged.
 *
 * A withdrawn cluster keeps its slices, without endpoints: a write withdraws endpoints and a write
 * restores them, and nothing has to be deleted in a cluster that may be unreachable.
 */
import { createHash } from "node:crypto";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { endpointsMax, portsMax, sharedAddresses, statesOf, stateUpsync } from "../api/index.ts";
import {
  type EndpointSlice,
  endpointsOf,
  isReadyEndpoint,
  memberObject,
  memberObjects,
  memberText,
} from "./objects.ts";

export interface ImportedSlice {
  readonly name: string;
  /** The cluster of the slice's endpoints. */
  readonly cluster: string;
  readonly addressType: string;
  readonly endpoints: readonly JsonObject[];
  readonly ports: readonly JsonObject[];
}

/** The cluster that a slice was synced up from. */
export function sourceOf({ metadata }: Pick<EndpointSlice, "metadata">): string | undefined {
  for (const [target, state] of statesOf(metadata.labels)) if (state === stateUpsync) return target;
  return undefined;
}

export function mergeSlices(
  service: string,
  sources: readonly EndpointSlice[],
  counts: (cluster: string) => boolean,
): readonly ImportedSlice[] {
  const ordered = [...sources].sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
  const merged = new Map<string, ImportedSlice & { readonly endpoints: JsonObject[] }>();
  const placed = new Map<string, Placed>();
  for (const source of ordered) {
    const cluster = sourceOf(source);
    if (cluster === undefined || source.metadata.deletionTimestamp !== undefined) continue;
    const ports = memberObjects(source as unknown as JsonObject, "ports").slice(0, portsMax);
    const slice = {
      name: importedSliceName(service, cluster, source.metadata.name),
      cluster,
      addressType: source.addressType,
      endpoints: [] as JsonObject[],
      ports,
    };
    merged.set(slice.name, slice);
    if (!counts(cluster)) continue;
    for (const endpoint of endpointsOf(source).slice(0, endpointsMax)) {
      const addresses = sharedAddresses(slice.addressType, endpoint);
      if (addresses === undefined) continue;
      const shown = shownEndpoint(endpoint, addresses);
      const id = JSON.stringify([cluster, slice.addressType, ports, addresses]);
      place(placed, id, { slice, endpoint: shown });
    }
  }
  for (const { slice, endpoint } of placed.values()) slice.endpoints.push(endpoint);
  return [...merged.values()];
}

interface Placed {
  readonly slice: { readonly endpoints: JsonObject[] };
  readonly endpoint: JsonObject;
}

/** The ready one of two duplicates: the other is being removed from its slice. */
function place(placed: Map<string, Placed>, id: string, one: Placed): void {
  const known = placed.get(id);
  const isBetter =
    known === undefined || (!isReadyEndpoint(known.endpoint) && isReadyEndpoint(one.endpoint));
  if (isBetter) placed.set(id, one);
}

function shownEndpoint(endpoint: JsonObject, addresses: readonly string[]): JsonObject {
  const conditions = memberObject(endpoint, "conditions");
  const [hostname, zone] = [memberText(endpoint, "hostname"), memberText(endpoint, "zone")];
  return {
    addresses: [...addresses],
    ...(Object.keys(conditions).length === 0 ? {} : { conditions }),
    ...(hostname === undefined ? {} : { hostname }),
    ...(zone === undefined ? {} : { zone }),
  };
}

/** The name ends with a hash, unlike the names of upsynced copies. */
export function importedSliceName(service: string, cluster: string, source: string): string {
  const hash = createHash("sha256").update(`${cluster}/${source}`).digest("hex").slice(0, 10);
  const readable = `${service}-${cluster}`.slice(0, 253 - hash.length - 1);
  return `${readable.replace(/[^a-z0-9]+$/, "")}-${hash}`;
}
