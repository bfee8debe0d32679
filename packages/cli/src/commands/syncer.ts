/** `kcp syncer`: keeps one physical cluster in step with a control plane, from a shell or as the agent in the cluster. */
import {
  createLog,
  type ResolvedResources,
  ResourceSet,
  resolveResources,
  startSyncer,
  syncTargets,
} from "@kcp-ts/controlplane";
import { type Clock, sleep, systemClock } from "@kcp-ts/machinery/base";
import { parseClusterName } from "@kcp-ts/machinery/names";
import {
  type Client,
  type Connection,
  connect,
  connectDefault,
  inClusterKubeconfig,
  loadKubeconfig,
} from "@kcp-ts/sdk";
import type { Command } from "commander";
import { commaSeparated, integerFlag } from "./flags.ts";

interface SyncerFlags {
  readonly fromKubeconfig: string;
  readonly fromContext?: string;
  readonly fromCluster: string;
  readonly toKubeconfig?: string;
  readonly toContext?: string;
  readonly syncTarget: string;
  readonly syncTargetUid?: string;
  readonly resources: readonly string[];
  readonly v: number;
}

export function addSyncer(program: Command): void {
  program
    .command("syncer")
    .description("Sync what is assigned to a SyncTarget to its cluster, and statuses back.")
    .requiredOption("--from-kubeconfig <path>", "of the control plane")
    .option("--from-context <name>", "context in it")
    .option("--from-cluster <name>", "the logical cluster of the SyncTarget", "root")
    .option("--to-kubeconfig <path>", "of the physical cluster (default: the one this runs in)")
    .option("--to-context <name>", "context in it")
    .requiredOption("--sync-target <name>", "the SyncTarget")
    .option("--sync-target-uid <uid>", "refuse to sync if the SyncTarget is another one")
    .option("--resources <names>", "such as deployments.apps", commaSeparated, [])
    .option("-v <level>", "verbosity, as for kcp start", integerFlag("-v", 0, 10), 2)
    .action((flags: SyncerFlags) => run(flags));
}

/** How often kinds that were asked for and are not served yet are looked for again. */
const lookAgainMs = 10_000;

async function run(flags: SyncerFlags): Promise<void> {
  const log = createLog({
    format: process.stderr.isTTY === true ? "pretty" : "json",
    verbosity: flags.v,
  });
  const cluster = parseClusterName(flags.fromCluster);
  if (cluster === undefined)
    throw new Error(`--from-cluster ${flags.fromCluster} is not the name of a logical cluster`);
  const stopping = new AbortController();
  for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stopping.abort());
  const from = await connectDefault({ path: flags.fromKubeconfig, context: flags.fromContext });
  const to = await physicalCluster(flags);
  try {
    const upstream = from.client.inCluster(cluster);
    const { metadata } = await upstream.resource(syncTargets).get({ name: flags.syncTarget });
    const { uid = "" } = metadata;
    if (flags.syncTargetUid !== undefined && flags.syncTargetUid !== uid) {
      throw new Error(
        `unexpected SyncTarget UID ${uid}, expected ${flags.syncTargetUid}, refusing to sync`,
      );
    }
    const resources = new ResourceSet();
    const syncer = startSyncer({
      upstream,
      scope: { cluster },
      downstream: to.client,
      target: { cluster, name: flags.syncTarget, uid },
      resources,
      home: upstream,
      onError: (error) => log.warn({ err: error }, "the syncer tries again"),
    });
    log.info({ syncTarget: flags.syncTarget, resources: flags.resources.join() }, "ready");
    await followKinds({
      upstream,
      resources,
      names: flags.resources,
      signal: stopping.signal,
      clock: systemClock,
    });
    await syncer.stop();
  } finally {
    await from.close();
    await to.close();
  }
}

async function followKinds(options: {
  readonly upstream: Client;
  readonly resources: ResourceSet;
  readonly names: readonly string[];
  readonly signal: AbortSignal;
  readonly clock: Clock;
}): Promise<void> {
  const { upstream, resources, names, signal, clock } = options;
  while (!signal.aborted) {
    try {
      const found: ResolvedResources = await resolveResources(upstream, names);
      // A kind that is not served at the moment is not one to forget: what was synced of it stays frozen.
      if (found.resources.length >= resources.current.length) resources.set(found.resources);
      await sleep(clock, lookAgainMs, signal);
    } catch (error) {
      if (signal.aborted) return;
      process.stderr.write(`kcp: ${error instanceof Error ? error.message : String(error)}\n`);
      await sleep(clock, lookAgainMs, signal).catch(() => undefined);
    }
  }
}

async function physicalCluster(flags: SyncerFlags): Promise<Connection> {
  const { toKubeconfig: path, toContext: context } = flags;
  const kubeconfig = await (path === undefined ? inClusterKubeconfig() : loadKubeconfig({ path }));
  if (kubeconfig === undefined) {
    throw new Error("this is not a Pod: say which cluster by --to-kubeconfig");
  }
  return connect(kubeconfig, { context });
}
