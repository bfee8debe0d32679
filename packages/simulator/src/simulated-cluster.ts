/**
 * A simulated physical cluster: our own server on a store in memory, with workload kinds, their controllers, a scheduler, and kubelets that run
 * nothing. For kubectl and for controllers it is a cluster; it costs no Docker, no virtual machine and no second process.
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
import { ClusterControllers } from "./cluster-inside.ts";
import {
  asSingleCluster,
  ClusterFaults,
  formatKubeconfig,
  Port,
  type PortOptions,
} from "./front/index.ts";
import { clusterControllerUserAgent, workloadKinds } from "./kinds/index.ts";
import type { KubeletSettings, NodeControls } from "./machines.ts";
import { metricsKinds } from "./metrics-services.ts";
import type { NodeOptions } from "./nodes/index.ts";
import { podSecurityAdmission } from "./pod-security/index.ts";
import { type PodServices, podServices } from "./pod-services.ts";
import type { Generation } from "./shapes/index.ts";
import { warningsToStderr } from "./warnings-log.ts";

export interface SimulatedClusterOptions {
  /** In kubeconfigs and in the names of nodes. */
  readonly name: string;
  /** How many, or each in its own words; 3 if left out. */
  readonly nodes?: number | readonly NodeOptions[];
  /** The release of Kubernetes that it pretends to be; the newest if left out. */
  readonly generation?: Generation;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Opens a port; without it, the cluster is reached in process only. */
  readonly listen?: PortOptions;
  readonly kubelet?: Partial<KubeletSettings>;
  /** False for a cluster without metrics-server: it does not say what Pods use. */
  readonly metrics?: boolean;
  /** True for a cluster with a CSI driver that takes snapshots: StorageClasses and the VolumeSnapshot kinds are served, with a class `snap` of each. */
  readonly snapshots?: boolean;
  /** Warnings and errors go to stderr if left out. */
  readonly log?: ServerLog;
}

export interface SimulatedCluster {
  readonly name: string;
  readonly generation: Generation;
  /** An administrator's, in this process. Meets the same faults as clients over the network. */
  readonly client: Client;
  readonly transport: Transport;
  /** For clients over sockets; undefined without a port. */
  readonly kubeconfig: string | undefined;
  readonly url: string | undefined;
  readonly nodes: NodeControls;
  readonly faults: ClusterFaults;
  /** Ends controllers, watches and the port. Idempotent. */
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
  // Its own controllers go straight in: what befalls clients does not befall them.
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
  services.attach(inside.client);
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
