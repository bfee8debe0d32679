/**
 * An agent: everything that a process in a physical cluster does for it, given a client for each
 * side. The agent imports the cluster's APIs upstream, syncs the objects that are assigned to it,
 * and reports its health on its SyncTarget. The same code runs in the control plane's process; an
 * agent runs it for one cluster.
 */
import { type Clock, type Random, systemClock, systemRandom } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { type Client, Manager, type ObjectKey, singleCluster } from "@kcp-ts/sdk";
import { leaseMsDefault, syncTargets } from "./api/index.ts";
import { ApiImporter } from "./api-importer/index.ts";
import { OutageReports } from "./outage-reports.ts";
import { runStatusReporter, Targets } from "./registration/index.ts";
import { type TargetIdentity, TunnelState } from "./syncer/index.ts";
import { Syncers } from "./syncers.ts";
import { PodProxy, runTunnel } from "./tunnel/index.ts";

export interface AgentOptions {
  /** A client of the control plane, or of the view for the agent, for all logical clusters. */
  readonly upstream: Client;
  readonly downstream: Client;
  readonly target: TargetIdentity & { readonly cluster: ClusterName };
  /** The resources to import and sync when the SyncTarget does not list any. */
  readonly resources: readonly string[];
  readonly importPollMs?: number | undefined;
  readonly reportMs?: number | undefined;
  /**
   * The agent stops StopBeforeStart workloads this long after its last accepted renewal; see
   * `leaseMsDefault`.
   */
  readonly leaseMs?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  /** Logs an error that is retried. */
  readonly onError: (error: unknown, context: { controller: string; key?: ObjectKey }) => void;
}

/** Runs until the signal aborts, and resolves when all operations in flight have finished. */
export async function runAgent(options: AgentOptions, signal: AbortSignal): Promise<void> {
  const { target, resources } = options;
  const downstream = options.downstream.withRequiredPreconditions();
  const upstream = options.upstream.withRequiredPreconditions();
  const { clock = systemClock, random = systemRandom, importPollMs: pollMs } = options;
  const outages = new OutageReports(clock);
  const report = (controller: string) => (error: unknown, key?: ObjectKey) => {
    if (!outages.take(controller, error)) return;
    options.onError(error, key === undefined ? { controller } : { controller, key });
  };
  const { cluster, name, uid } = target;
  const syncTargetClient = upstream.inCluster(cluster);
  const onError = report("informer");
  const clusters = singleCluster({ client: syncTargetClient, cluster, clock, random, onError });
  const targets = new Targets();
  const shared = { client: upstream, clusters, targets, resources, clock, random };
  const importer = new ApiImporter({ ...shared, pollMs, onError: report("api-importer") });
  const agentViewOf = () => upstream;
  const tunnel = new TunnelState();
  const own = {
    agentViewOf,
    awaitsImport: true,
    agentTunnel: tunnel,
    agentLeaseMs: options.leaseMs ?? leaseMsDefault,
    onError: report("syncer"),
  };
  const syncers = new Syncers({ ...shared, ...own });
  targets.add({ cluster, name, uid, client: downstream, signal });
  const { reportMs: intervalMs } = options;
  const { store } = clusters.source(syncTargets);
  const telling = {
    target,
    syncTarget: () => store.get({ cluster, namespace: "", name }),
    upstream: syncTargetClient,
    downstream,
    resources,
    intervalMs,
    clock,
    random,
  };
  try {
    await Promise.all([
      new Manager({ clusters: [clusters], controllers: [importer.controller] }).run(signal),
      runStatusReporter({ ...telling, onError: report("report") }, signal),
      runTunnel(
        {
          syncTargetClient,
          target: name,
          podProxy: new PodProxy({ client: downstream, target }),
          clock,
          random,
          onError: report("tunnel"),
          onConnected: () => tunnel.set(true),
          onDisconnected: () => tunnel.set(false),
        },
        signal,
      ),
    ]);
  } finally {
    await syncers.close();
  }
}
