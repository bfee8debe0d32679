/**
 * Which SyncTarget a workspace means by a name that is not of its own: those of compute workspaces that it is bound to (docs/adr/0031). Asked anew each time: bindings and offers
 * come and go, and nobody keeps a way into a cluster that is not offered any more.
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
  /** May do everything. */
  readonly client: () => Client;
}

export class SharedTargets {
  readonly #options: SharedTargetsOptions;

  constructor(options: SharedTargetsOptions) {
    this.#options = options;
  }

  /** Undefined for names that mean nothing in the workspace. Whether it is there, and still offered, is not asked. */
  async placeOf(cluster: ClusterName, shared: string): Promise<SyncTargetReference | undefined> {
    const home = await this.#homeOf(cluster, shared);
    if (home === undefined) return undefined;
    const name = ownTargetName(shared);
    if (name !== undefined) return { cluster: home, name };
    const found = await findSharedTarget(this.#options.client().inCluster(home), home, shared);
    return found && { cluster: home, name: found.metadata.name };
  }

  /** The same of what is there and offered now. */
  async offered(
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
