/** Which physical cluster a SyncTarget's name means in a workspace: tenants have other names for it, and what they reserve is reserved of the same one. */
import type { Clusters } from "@kcp-ts/sdk";
import { type NamedTarget, sharedTargetName, syncTargets } from "../api/index.ts";

export class SharedTargetIndex {
  /** By the name that tenants have for it. */
  readonly #places = new Map<string, NamedTarget>();

  constructor(clusters: Clusters) {
    clusters.source(syncTargets).addHandler({
      added: (_target, { key: { cluster, name } }) =>
        void this.#places.set(sharedTargetName({ cluster, name }), { cluster, name }),
      deleted: (_target, { key: { cluster, name } }) =>
        void this.#places.delete(sharedTargetName({ cluster, name })),
    });
  }

  placeOf(cluster: string, target: string): string {
    const place = this.targetOf(cluster, target);
    return `${place.cluster}|${place.name}`;
  }

  /** The SyncTarget that objects in the logical cluster mean by a name. */
  targetOf(cluster: string, target: string): NamedTarget {
    return this.#places.get(target) ?? { cluster, name: target };
  }
}
