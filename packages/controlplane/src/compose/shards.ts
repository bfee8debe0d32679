/** The connections of a shard, from its options and the credentials in its directory. */
import type { Clock } from "@kcp-ts/machinery/base";
import { loadShardCredentials } from "@kcp-ts/pki";
import { processMetrics } from "@kcp-ts/sdk";
import { forwardedRequestsMetric, isShardName, TlsShardNetwork } from "@kcp-ts/tenancy";
import { type ControlPlaneOptions, OptionsError } from "../options.ts";

/** Undefined where this server is the only shard. */
export async function composeShards(
  {
    shardName: ownName = "root",
    rootShardUrl: rootUrl,
    shards,
    rootDirectory,
  }: ControlPlaneOptions,
  { clock, serverCaPem }: { readonly clock: Clock; readonly serverCaPem: string },
): Promise<TlsShardNetwork | undefined> {
  const isRoot = ownName === "root";
  if (shards === undefined && isRoot) return undefined;
  if (!isShardName(ownName))
    throw new OptionsError(`--shard-name ${ownName} is no name of at most 40 letters and digits`);
  if (!isRoot && rootUrl === undefined)
    throw new OptionsError(`--shard-name ${ownName}: give --root-shard-kubeconfig-file, too`);
  const credentials = await loadShardCredentials(rootDirectory, ownName, {
    clock,
    mayCreate: isRoot,
  });
  const counter = processMetrics.counter(forwardedRequestsMetric);
  return new TlsShardNetwork({
    ...{ ...credentials, ownName, rootUrl, serverCaPem, clock },
    onForwarded: (shard, code) => counter.with({ shard, code: String(code) }).increment(),
  });
}
