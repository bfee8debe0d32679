/**
 * An agent: all that is done in a physical cluster by somebody who works in it, given a client for either side. Its APIs become imports upstream, what is
 * assigned to it is synced, and its SyncTarget says how it does. The same code as in the control plane's process, for one cluster.
 */
import { type Clock, type Random, systemClock, systemRandom } from "@kcp-ts/machinery/base";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { type Client, Manager, type ObjectKey, singleCluster } from "@kcp-ts/sdk";
import { ApiImporter } from "./api-importer/index.ts";
import { runStatusReporter, Targets } from "./registration/index.ts";
import { leaseMsDefault, type TargetIdentity, TunnelState } from "./syncer/index.ts";
import { Syncers } from "./syncers.ts";
import { PodProxy, runTunnel } from "./tunnel/index.ts";

export interface AgentOptions {
  /** The control plane, or the view of it that is made for the agent; not one cluster of it. */
  readonly upstream: Client;
  readonly downstream: Client;
  readonly target: TargetIdentity & { readonly cluster: ClusterName };
  /** What is imported and synced where the SyncTarget does not say. */
  readonly resources: readonly string[];
  readonly importPollMs?: number | undefined;
  readonly reportMs?: number | undefined;
  /** So long after its last heartbeat that counted, it stops what may run once at most; see `leaseMsDefault`. */
  readonly leaseMs?: number | undefined;
  readonly clock?: Clock | undefined;
  readonly random?: Random | undefined;
  /** What went wrong and is tried again, for a log. */
  readonly onError: (error: unknown, context: { controller: string; key?: ObjectKey }) => void;
}

/** Works until the signal aborts, and resolves when what was under way is finished. */
export async function runAgent(options: AgentOptions, signal: AbortSignal): Promise<void> {
  const { downstream, target, resources } = options;
  const upstream = options.upstream.withPreconditions("never-empty");
  const { clock = systemClock, random = systemRandom, importPollMs: pollMs } = options;
  const report = (controller: string) => (error: unknown, key?: ObjectKey) =>
    options.onError(error, key === undefined ? { controller } : { controller, key });
  const { cluster, name, uid } = target;
  const home = upstream.inCluster(cluster);
  const onError = report("informer");
  const clusters = singleCluster({ client: home, cluster, clock, random, onError });
  const targets = new Targets();
  const shared = { client: upstream, clusters, targets, resources, clock, random };
  const importer = new ApiImporter({ ...shared, pollMs, onError: report("api-importer") });
  const viewOf = () => upstream;
  const tunnel = new TunnelState();
  const own = {
    viewOf,
    agentTunnel: tunnel,
    agentLeaseMs: options.leaseMs ?? leaseMsDefault,
    onError: report("syncer"),
  };
  const syncers = new Syncers({ ...shared, ...own });
  targets.add({ cluster, name, uid, client: downstream, signal });
  const { reportMs: intervalMs } = options;
  const telling = { target, upstream: home, downstream, resources, intervalMs, clock, random };
  try {
    await Promise.all([
      new Manager({ clusters: [clusters], controllers: [importer.controller] }).run(signal),
      runStatusReporter({ ...telling, onError: report("report") }, signal),
      runTunnel(
        {
          home,
          target: name,
          door: new PodProxy({ client: downstream, target }),
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
