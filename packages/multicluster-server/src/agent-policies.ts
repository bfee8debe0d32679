/** Sync policies of SyncTargets, for the views of their agents: by these it is known which kinds come up from the clusters, and which fields are lifted. */
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  type Policies,
  policiesFrom,
  policyConfigMaps,
  syncPolicyLabel,
} from "@kcp-ts/multicluster";
import type { Client, KubernetesObject } from "@kcp-ts/sdk";

/** Agents write often, and people seldom: a policy counts for agents within that time. */
const keptMs = 1000;
/** Logical clusters whose policies are kept; then it is begun anew. */
const keptMax = 1000;

interface CachedPolicies {
  readonly configMaps: Promise<readonly KubernetesObject[]>;
  readonly untilMs: number;
}

export class SyncPolicyCache {
  /** May do everything. */
  readonly #client: () => Client;
  readonly #kept = new Map<ClusterName, CachedPolicies>();

  constructor(client: () => Client) {
    this.#client = client;
  }

  /** `cluster` is that of the SyncTarget: nobody else says how it is synced to. */
  async of(cluster: ClusterName, target: string): Promise<Policies> {
    const nowMs = this.#client().clock.monotonic();
    const known = this.#kept.get(cluster);
    if (known !== undefined && known.untilMs > nowMs)
      return policiesFrom(await known.configMaps, target);
    if (this.#kept.size >= keptMax) this.#kept.clear();
    const configMaps = this.#read(cluster);
    this.#kept.set(cluster, { configMaps, untilMs: nowMs + keptMs });
    try {
      return policiesFrom(await configMaps, target);
    } catch (error) {
      this.#kept.delete(cluster);
      throw error;
    }
  }

  async #read(cluster: ClusterName): Promise<readonly KubernetesObject[]> {
    const { items } = await this.#client()
      .inCluster(cluster)
      .resource(policyConfigMaps)
      .list({ labelSelector: syncPolicyLabel });
    return items;
  }
}
