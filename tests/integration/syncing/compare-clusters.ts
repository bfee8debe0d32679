/**
 * Whether the sides of a history agree, looked at behind the syncers' backs: what is assigned is in
 * its cluster, as it is upstream, and nothing else is.
 */
import type { SyncedResource } from "@kcp-ts/multicluster";
import type { DynamicObject } from "@kcp-ts/sdk";
import type { FaultyServer, widgets } from "./faulty-server.ts";
import { differencesOf, isAssigned, originOf } from "./object-queries.ts";

export interface ComparedCluster {
  readonly name: string;
  readonly uid: string;
  readonly server: FaultyServer;
}

export interface Comparison {
  readonly up: FaultyServer;
  readonly clusters: readonly string[];
  readonly kinds: readonly SyncedResource[];
  readonly members: readonly ComparedCluster[];
}

export async function differences({ up, clusters, kinds, members }: Comparison): Promise<string[]> {
  const found: string[] = [];
  for (const { resource } of kinds) {
    const originals = new Map<string, DynamicObject>();
    for (const cluster of clusters) {
      const client = up.client.inCluster(cluster).resource(resource as typeof widgets);
      for (const one of (await client.list()).items) {
        originals.set(`${resource.kind} ${cluster}/${one.metadata.name}`, one);
      }
    }
    for (const member of members) {
      const copies = await copiesIn(member, resource as typeof widgets);
      found.push(...compare(member, resource.kind, originals, copies));
    }
  }
  return found;
}

/** Of the SyncTarget as it is now. */
export async function copiesIn(
  { server, uid }: ComparedCluster,
  resource: typeof widgets,
): Promise<readonly DynamicObject[]> {
  const { items } = await server.client.resource(resource).list();
  return items.filter(({ metadata }) =>
    metadata.annotations?.["workload.kcp.io/origin"]?.includes(`"${uid}"`),
  );
}

function compare(
  { name: target }: ComparedCluster,
  kind: string,
  originals: ReadonlyMap<string, DynamicObject>,
  copies: readonly DynamicObject[],
): string[] {
  const found: string[] = [];
  const seen = new Set<string>();
  const homes = new Map<string, string>();
  for (const copy of copies) {
    const { cluster, name, uid } = originOf(copy);
    const id = `${kind} ${cluster}/${name}`;
    seen.add(id);
    const { namespace = "" } = copy.metadata;
    if ((homes.get(namespace) ?? cluster) !== cluster) found.push(`${namespace} is of two tenants`);
    homes.set(namespace, cluster ?? "");
    const original = originals.get(id);
    if (original === undefined || !isAssigned(original, target)) {
      found.push(`${id} should not be in ${target}`);
    } else if (original.metadata.uid !== uid) {
      found.push(`${id} in ${target} is of an earlier one`);
    } else {
      found.push(...differencesOf(id, target, original, copy));
    }
  }
  for (const [id, original] of originals) {
    const isHeld = original.metadata.finalizers?.includes(`workload.kcp.io/syncer-${target}`);
    if (isAssigned(original, target)) {
      if (!seen.has(id)) found.push(`${id} is missing in ${target}`);
      if (isHeld !== true) found.push(`${id} is not held by ${target}`);
    } else if (isHeld === true) found.push(`${id} is still held by ${target}`);
  }
  return found;
}
