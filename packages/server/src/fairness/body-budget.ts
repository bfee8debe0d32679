/** Bytes of request bodies that are held in memory, from the moment they arrive until their request is answered. */
import { tooBusy } from "./too-busy.ts";

export interface BodyLimits {
  readonly bodyBytesMax: number;
  /** What one logical cluster may have of it. */
  readonly bodyBytesPerClusterMax: number;
}

export const bodyLimitDefaults: BodyLimits = {
  bodyBytesMax: 256 << 20,
  bodyBytesPerClusterMax: 64 << 20,
};

export class BodyBudget {
  readonly #limits: BodyLimits;
  readonly #ofClusters = new Map<string, number>();
  #held = 0;

  constructor(limits: BodyLimits = bodyLimitDefaults) {
    this.#limits = limits;
  }

  get held(): number {
    return this.#held;
  }

  /** Clusters of which a body is held. */
  get clusterCount(): number {
    return this.#ofClusters.size;
  }

  /** Throws a 429 when there is no room; the sender keeps what it has not sent. */
  take(cluster: string, bytes: number): void {
    const ofCluster = this.#ofClusters.get(cluster) ?? 0;
    const { bodyBytesMax, bodyBytesPerClusterMax } = this.#limits;
    if (this.#held + bytes > bodyBytesMax || ofCluster + bytes > bodyBytesPerClusterMax)
      throw tooBusy;
    this.#held += bytes;
    this.#ofClusters.set(cluster, ofCluster + bytes);
  }

  release(cluster: string, bytes: number): void {
    const left = (this.#ofClusters.get(cluster) ?? 0) - bytes;
    this.#held -= bytes;
    if (left <= 0) this.#ofClusters.delete(cluster);
    else this.#ofClusters.set(cluster, left);
  }
}
