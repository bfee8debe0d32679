/**
 * The SyncPolicies of SyncTargets, for the views of their agents: they decide which kinds are
 * synced up from the clusters, and which fields are upsynced.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { type Policies, policiesOf, type SyncPolicy, syncPolicies } from "@kcp-ts/multicluster";
import type { Client } from "@kcp-ts/sdk";

/**
 * Agents write often, and users change policies seldom: a policy takes effect for agents within
 * this time.
 */
const keptMs = 1000;
/**
 * The number of logical clusters whose policies are cached; the cache is cleared when it is full.
 */
const keptMax = 1000;

interface CachedPolicies {
  readonly objects: Promise<readonly SyncPolicy[]>;
  readonly untilMs: number;
}

export class SyncPolicyCache {
  /** A client that may do everything. */
  readonly #client: () => Client;
  readonly #kept = new Map<ClusterName, CachedPolicies>();

  constructor(client: () => Client) {
    this.#client = client;
  }

  /** `cluster` is the SyncTarget's: no other logical cluster decides how it is synced. */
  async of(cluster: ClusterName, target: string): Promise<Policies> {
    const nowMs = this.#client().clock.monotonic();
    const known = this.#kept.get(cluster);
    if (known !== undefined && known.untilMs > nowMs)
      return policiesOf(await known.objects, target);
    if (this.#kept.size >= keptMax) this.#kept.clear();
    const objects = this.#read(cluster);
    this.#kept.set(cluster, { objects, untilMs: nowMs + keptMs });
    try {
      return policiesOf(await objects, target);
    } catch (error) {
      this.#kept.delete(cluster);
      throw error;
    }
  }

  async #read(cluster: ClusterName): Promise<readonly SyncPolicy[]> {
    const { items } = await this.#client().inCluster(cluster).resource(syncPolicies).list();
    return items;
  }
}
