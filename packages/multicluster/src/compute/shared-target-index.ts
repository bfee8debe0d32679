/**
 * Resolves the name of a SyncTarget in a workspace to the physical cluster: tenants have other
 * names for it, and their reservations count for the same cluster.
 */
import type { Clusters } from "@kcp-ts/sdk";
import { type NamedTarget, sharedTargetName, syncTargets } from "../api/index.ts";

export class SharedTargetIndex {
  /** The SyncTargets by their shared names. */
  readonly #places = new Map<string, NamedTarget>();

  constructor(clusters: Clusters) {
    clusters
      .source(syncTargets)
      .addHandler({
        added: (_target, { key: { cluster, name } }) =>
          void this.#places.set(sharedTargetName({ cluster, name }), { cluster, name }),
        deleted: (_target, { key: { cluster, name } }) =>
          void this.#places.delete(sharedTargetName({ cluster, name })),
      });
  }

  clusterKeyOf(cluster: string, target: string): string {
    const place = this.targetOf(cluster, target);
    return `${place.cluster}|${place.name}`;
  }

  /** The SyncTarget that objects in the logical cluster mean by a name. */
  targetOf(cluster: string, target: string): NamedTarget {
    return this.#places.get(target) ?? { cluster, name: target };
  }
}
