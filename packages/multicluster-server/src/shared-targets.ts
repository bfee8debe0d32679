/**
 * Resolves a workspace's name for a SyncTarget of another workspace: SyncTargets of compute
 * workspaces that it is bound to (docs/adr/0031). Resolved for each request: bindings and exports
 * change, and no workspace keeps access to a cluster that is no longer exported.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  apiExports,
  computeExportName,
  findSharedTarget,
  isComputeExport,
  isSharedFrom,
  isSharedTargetName,
  ownTargetName,
  type SyncTargetReference,
} from "@kcp-ts/multicluster";
import type { Client } from "@kcp-ts/sdk";
import type { ExportConsumers } from "@kcp-ts/tenancy";

export interface SharedTargetsOptions {
  readonly consumers: () => ExportConsumers;
  /** A client that may do everything. */
  readonly client: () => Client;
}

export class SharedTargets {
  readonly #options: SharedTargetsOptions;

  constructor(options: SharedTargetsOptions) {
    this.#options = options;
  }

  /**
   * Undefined for unknown names. Whether the SyncTarget exists, and is still exported, is not
   * checked.
   */
  async targetOf(cluster: ClusterName, shared: string): Promise<SyncTargetReference | undefined> {
    const home = await this.#homeOf(cluster, shared);
    if (home === undefined) return undefined;
    const name = ownTargetName(shared);
    if (name !== undefined) return { cluster: home, name };
    const found = await findSharedTarget(this.#options.client().inCluster(home), home, shared);
    return found && { cluster: home, name: found.metadata.name };
  }

  /** The SyncTargets that currently exist and are exported. */
  async sharedTargetsOf(
    cluster: ClusterName,
    shared: string,
    signal: AbortSignal,
  ): Promise<SyncTargetReference | undefined> {
    const home = await this.#homeOf(cluster, shared);
    if (home === undefined) return undefined;
    const client = this.#options.client().inCluster(home);
    const [offer, target] = await Promise.all([
      client.resource(apiExports).find({ name: computeExportName }, { signal }),
      findSharedTarget(client, home, shared, signal),
    ]);
    if (offer === undefined || !isComputeExport(offer) || target === undefined) return undefined;
    return { cluster: home, name: target.metadata.name };
  }

  async #homeOf(cluster: ClusterName, shared: string): Promise<ClusterName | undefined> {
    if (!isSharedTargetName(shared)) return undefined;
    const homes = await this.#options.consumers().providersOf(cluster, computeExportName);
    return homes.find((home) => home !== cluster && isSharedFrom(shared, home));
  }
}
