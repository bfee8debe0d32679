/**
 * A simulated physical cluster: the project's own server on an in-memory store, with workload
 * kinds, their controllers, a scheduler, and kubelets that run no containers. kubectl and
 * controllers use it like any cluster; it needs no Docker, no virtual machine and no second
 * process.
 *
 *     const east = await startSimulatedCluster({ name: "east", nodes: 3 });
 *     await east.client.resource(deployments).create(…);
 *     await east.close();
 */
import { ApiServer, type ServerLog } from "@kcp-ts/apiserver";
import { MemoryStorage } from "@kcp-ts/apiserver/storage/memory";
import { type Clock, type Random, systemClock, systemRandom } from "@kcp-ts/machinery/base";
import { Client, type Transport } from "@kcp-ts/sdk";
import { serverTransport } from "@kcp-ts/sdk/client";
import { administrator } from "./administrator.ts";
import { ClusterControllers } from "./cluster-controllers.ts";
import {
  asSingleCluster,
  ClusterFaults,
  formatKubeconfig,
  Port,
  type PortOptions,
} from "./frontend/index.ts";
import { clusterControllerUserAgent, workloadKinds } from "./kinds/index.ts";
import { metricsKinds } from "./metrics-kinds.ts";
import type { NodeOptions } from "./nodes/index.ts";
import { podSecurityAdmission } from "./pod-security/index.ts";
import { type PodServices, podServices } from "./pod-services.ts";
import type { Generation } from "./shapes/index.ts";
import type { KubeletSettings, NodeControls } from "./simulated-nodes.ts";
import { warningsToStderr } from "./warnings-log.ts";

export interface SimulatedClusterOptions {
  /** The name in kubeconfigs and in the names of nodes. */
  readonly name: string;
  /** The number of nodes, or their options; 3 if omitted. */
  readonly nodes?: number | readonly NodeOptions[];
  /** The simulated release of Kubernetes; the newest if omitted. */
  readonly generation?: Generation;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Opens a port; without it, the cluster is reachable in process only. */
  readonly listen?: PortOptions;
  readonly kubelet?: Partial<KubeletSettings>;
  /** False for a cluster without metrics-server, which serves no metrics. */
  readonly metrics?: boolean;
  /**
   * True for a cluster with a CSI driver that supports snapshots: StorageClasses and the
   * VolumeSnapshot kinds are served, with a class `snap` of each.
   */
  readonly snapshots?: boolean;
  /** Warnings and errors go to stderr if omitted. */
  readonly log?: ServerLog;
}

export interface SimulatedCluster {
  readonly name: string;
  readonly generation: Generation;
  /**
   * An administrator's client in this process. It is subject to the same faults as clients over the
   * network.
   */
  readonly client: Client;
  readonly transport: Transport;
  /** The kubeconfig for clients over sockets; undefined without a port. */
  readonly kubeconfig: string | undefined;
  readonly url: string | undefined;
  readonly nodes: NodeControls;
  readonly faults: ClusterFaults;
  /** Stops controllers, watches and the port. Idempotent. */
  close(): Promise<void>;
  [Symbol.asyncDispose](): Promise<void>;
}

export async function startSimulatedCluster(
  options: SimulatedClusterOptions,
): Promise<SimulatedCluster> {
  const { name, clock = systemClock, random = systemRandom, generation = "1.36" } = options;
  const { log = warningsToStderr() } = options;
  const { token, authorization, gates } = administrator();
  const storage = new MemoryStorage();
  const services = podServices(clock);
  const resources = [...workloadKinds(generation, services), ...metricsOf(options, services)];
  const admissionPlugins = [podSecurityAdmission(() => inside.client)];
  const served = { ...gates, resources, admissionPlugins };
  const server = new ApiServer({ storage, clock, random, log, ...served });
  // The cluster's own controllers bypass the simulated faults, which apply to clients only.
  const insideTransport = serverTransport({ server, authorization });
  const inside = new ClusterControllers({
    client: new Client({
      transport: insideTransport,
      clock,
      random,
      userAgent: clusterControllerUserAgent,
    }),
    name,
    generation,
    nodes: options.nodes ?? 3,
    kubelet: options.kubelet ?? {},
    clock,
    random,
    log,
    caPem: options.listen?.tls.caPem ?? "",
    hasSnapshots: options.snapshots ?? false,
  });
  services.connectCluster(inside.client);
  const faults = new ClusterFaults(clock, async (isCut) => {
    if (isCut) await port?.close();
    else await port?.open();
  });
  const handle = faults.around(asSingleCluster(generation, (request) => server.handle(request)));
  const port = options.listen === undefined ? undefined : new Port(options.listen, handle);
  const transport = serverTransport({ server: { handle }, authorization });
  const close = once(async () => {
    await faults.heal();
    await inside.stop();
    server.beginDraining();
    await port?.close();
    await server.drain();
    await server.close();
    await transport.close();
    await insideTransport.close();
    await storage.close();
  });
  try {
    await server.start();
    await inside.start();
    await port?.open();
  } catch (error) {
    await close();
    throw error;
  }
  return {
    name,
    generation,
    client: new Client({ transport, clock, random }),
    transport,
    get kubeconfig() {
      return port && formatKubeconfig({ name, url: port.url, caPem: port.caPem, token });
    },
    get url() {
      return port?.url;
    },
    nodes: inside.nodes,
    faults,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function metricsOf(
  { metrics, clock = systemClock }: SimulatedClusterOptions,
  { client }: PodServices,
) {
  return metrics === false ? [] : metricsKinds(client, clock);
}

function once(body: () => Promise<void>): () => Promise<void> {
  let running: Promise<void> | undefined;
  return () => {
    running ??= body();
    return running;
  };
}
