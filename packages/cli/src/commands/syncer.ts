/**
 * `kcp syncer`: syncs one physical cluster with a control plane, from a shell or as the agent in
 * the cluster.
 */
import { createLog } from "@kcp-ts/controlplane";
import { type Clock, sleep, systemClock, systemRandom } from "@kcp-ts/machinery/base";
import { type ClusterName, parseClusterName } from "@kcp-ts/machinery/names";
import {
  AgentTokenRenewer,
  leaseMsDefault,
  leaseMsMax,
  leaseMsMin,
  type ResolvedResources,
  ResourceSet,
  resolveResources,
  runAgent,
  startSyncer,
  syncTargets,
} from "@kcp-ts/multicluster";
import {
  type Client,
  type Connection,
  connect,
  formatKey,
  inClusterKubeconfig,
  type Kubeconfig,
  loadKubeconfig,
  type ObjectKey,
} from "@kcp-ts/sdk";
import { type Command, InvalidArgumentError } from "commander";
import { commaSeparated, durationFlag, integerFlag } from "./flags.ts";
import { abortOnSignal } from "./signals.ts";

interface SyncerFlags {
  readonly fromKubeconfig: string;
  readonly fromContext?: string;
  readonly fromCluster: string;
  readonly toKubeconfig?: string;
  readonly toContext?: string;
  readonly syncTarget: string;
  readonly syncTargetUid?: string;
  readonly resources: readonly string[];
  readonly importApis?: boolean;
  readonly apiImportPollInterval: number;
  readonly tokenSecret?: SecretName;
  readonly leaseDuration: number;
  readonly v: number;
}

interface SecretName {
  readonly namespace: string;
  readonly name: string;
}

type Log = ReturnType<typeof createLog>;

export function addSyncer(program: Command): void {
  program
    .command("syncer")
    .description(
      "Run the syncer: sync assigned objects to the cluster of a SyncTarget, and their status back.",
    )
    .requiredOption("--from-kubeconfig <path>", "of the control plane")
    .option("--from-context <name>", "context in it")
    .option("--from-cluster <name>", "the logical cluster of the SyncTarget", "root")
    .option("--to-kubeconfig <path>", "of the physical cluster (default: the one this runs in)")
    .option("--to-context <name>", "context in it")
    .requiredOption("--sync-target <name>", "the SyncTarget")
    .option("--sync-target-uid <uid>", "refuse to sync if the SyncTarget is another one")
    .option("--resources <names>", "such as deployments.apps", commaSeparated, [])
    .option("--import-apis", "bring the cluster's APIs up, and sync those that were negotiated")
    .option(
      "--api-import-poll-interval <duration>",
      "how often the cluster is asked whether its APIs have changed (default: 1m)",
      durationFlag("--api-import-poll-interval"),
      60_000,
    )
    .option(
      "--token-secret <namespace/name>",
      "renew the token of --from-kubeconfig, and put it into this Secret of the cluster",
      secretFlag,
    )
    .option(
      "--lease-duration <duration>",
      "so long after the control plane was last heard of, what may run once at most is stopped; with --import-apis (default: 1m)",
      leaseFlag,
      leaseMsDefault,
    )
    .option("-v <level>", "verbosity, as for kcp start", integerFlag("-v", 0, 10), 2)
    .action((flags: SyncerFlags) => run(flags));
}

/** The interval at which requested kinds that are not served yet are discovered again. */
const lookAgainMs = 10_000;

/**
 * The control plane detects missed renewals of an agent without a tunnel within seconds, so a
 * half-open connection is closed soon, too. A control plane that stalls for a shorter time loses no
 * watch.
 */
const agentPings = { intervalMs: 5000, timeoutMs: 5000 } as const;

async function run(flags: SyncerFlags): Promise<void> {
  const log = createLog({
    format: process.stderr.isTTY === true ? "pretty" : "json",
    verbosity: flags.v,
  });
  const cluster = parseClusterName(flags.fromCluster);
  if (cluster === undefined)
    throw new Error(`--from-cluster ${flags.fromCluster} is not the name of a logical cluster`);
  const signal = abortOnSignal();
  const kubeconfig = await loadKubeconfig({ path: flags.fromKubeconfig });
  const pings = flags.importApis === true ? agentPings : undefined;
  const from = connect(kubeconfig, { context: flags.fromContext, pings });
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
    const target = { cluster, name: flags.syncTarget, uid };
    log.info({ syncTarget: flags.syncTarget, resources: flags.resources.join() }, "ready");
    const sides = { upstream: from.client, downstream: to.client, target, log, signal };
    await Promise.all([
      keepToken(flags, kubeconfig, sides),
      flags.importApis === true ? runAsAgent(flags, sides) : syncNamed(flags, sides),
    ]);
  } finally {
    await from.close();
    await to.close();
  }
}

interface SyncerConnections {
  readonly upstream: Client;
  readonly downstream: Client;
  readonly target: { readonly cluster: ClusterName; readonly name: string; readonly uid: string };
  readonly log: Log;
  readonly signal: AbortSignal;
}

/** Imports the cluster's APIs, and syncs the negotiated resources. */
async function runAsAgent(flags: SyncerFlags, syncerConnections: SyncerConnections): Promise<void> {
  const { upstream, downstream, target, log, signal } = syncerConnections;
  const { resources, apiImportPollInterval: importPollMs, leaseDuration: leaseMs } = flags;
  const onError = (error: unknown, about: { controller: string; key?: ObjectKey }) => {
    const { controller, key } = about;
    log.warn({ err: error, controller, key: key && formatKey(key) }, "the agent tries again");
  };
  const settings = { resources, importPollMs, leaseMs, onError };
  await runAgent({ upstream, downstream, target, ...settings }, signal);
}

/** Syncs the named resources, as the control plane serves them. */
async function syncNamed(flags: SyncerFlags, syncerConnections: SyncerConnections): Promise<void> {
  const { upstream: from, downstream, target, log, signal } = syncerConnections;
  const { cluster } = target;
  const upstream = from.inCluster(cluster);
  const resources = new ResourceSet();
  const syncer = startSyncer({
    upstream,
    scope: { cluster },
    downstream,
    target,
    resources,
    syncTargetClient: upstream,
    onError: (error) => log.warn({ err: error }, "the syncer tries again"),
  });
  const { resources: names } = flags;
  await followKinds({ upstream, resources, names, signal, clock: systemClock });
  await syncer.stop();
}

/** The token is in a file of a mounted Secret, where it is renewed. */
async function keepToken(
  flags: SyncerFlags,
  kubeconfig: Kubeconfig,
  syncerConnections: SyncerConnections,
): Promise<void> {
  const { tokenSecret: secret, fromContext = kubeconfig.currentContext ?? "" } = flags;
  if (secret === undefined) return;
  const user = kubeconfig.contexts.get(fromContext)?.user ?? "";
  const tokenFile = kubeconfig.users.get(user)?.tokenFile;
  if (tokenFile === undefined)
    throw new Error("--token-secret needs a --from-kubeconfig whose user has a tokenFile");
  const { upstream, downstream, target, log, signal } = syncerConnections;
  const keeper = new AgentTokenRenewer({
    tokenFile,
    secret,
    // Beside the virtual workspace, in the logical cluster itself.
    upstream: upstream.withBasePath("").inCluster(target.cluster),
    downstream,
    clock: systemClock,
    random: systemRandom,
    onError: (error) => log.warn({ err: error }, "the token could not be renewed yet"),
    onRenewed: (expiresAtMs) =>
      log.info({ expires: new Date(expiresAtMs).toISOString() }, "the token was renewed"),
  });
  await keeper.run(signal);
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
      // A kind that is not served at the moment is kept: its synced objects stay as they are.
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

function leaseFlag(text: string): number {
  const ms = durationFlag("--lease-duration")(text);
  if (ms < leaseMsMin || ms > leaseMsMax)
    throw new InvalidArgumentError(
      `--lease-duration is from ${leaseMsMin / 1000}s to ${leaseMsMax / 60_000}m.`,
    );
  return ms;
}

function secretFlag(text: string): SecretName {
  const [namespace = "", name = "", ...more] = text.split("/");
  if (namespace === "" || name === "" || more.length > 0)
    throw new InvalidArgumentError("--token-secret takes a namespace and a name: ns/name.");
  return { namespace, name };
}
