/**
 * Simulated nodes for an external control plane: a real kube-apiserver with a
 * kube-controller-manager, and nothing to run Pods on. It gets nodes whose kubelets serve logs and
 * sessions, metrics, volumes for its claims, and addresses for its Services and Ingresses.
 */
import type { ServerLog } from "@kcp-ts/apiserver";
import { type Clock, type Random, systemClock, systemRandom } from "@kcp-ts/machinery/base";
import type { Client } from "@kcp-ts/sdk";
import { gitVersionOf, Port, type PortOptions } from "./frontend/index.ts";
import { kubeletHandle } from "./kubelet-port.ts";
import { MetricsServer } from "./metrics-server.ts";
import type { NodeOptions } from "./nodes/index.ts";
import { type KubeletSettings, type NodeControls, SimulatedNodes } from "./simulated-nodes.ts";
import { warningsToStderr } from "./warnings-log.ts";
import { cloudControllers, createStorageClasses } from "./workloads/index.ts";

export interface ExternalControlPlane {
  /** An administrator's client. */
  readonly client: Client;
  readonly name: string;
  readonly nodes: number | readonly NodeOptions[];
  readonly kubelet?: Partial<KubeletSettings>;
  /**
   * The address at which the API server reaches kubelets. They do not authenticate clients: use
   * loopback addresses.
   */
  readonly listen: PortOptions;
  readonly clock?: Clock;
  readonly random?: Random;
  /** Warnings and errors go to stderr if omitted. */
  readonly log?: ServerLog;
}

export async function startSimulatedNodes(
  options: ExternalControlPlane,
): Promise<{ readonly nodes: NodeControls; stop(): Promise<void> }> {
  const { client, clock = systemClock, random = systemRandom, kubelet = {} } = options;
  const log = options.log ?? warningsToStderr();
  const metrics = new MetricsServer({ client, clock, random, log });
  const port = new Port(options.listen, metrics.before(kubeletHandle(client, clock)));
  await port.open();
  const machines = new SimulatedNodes({
    ...options,
    clock,
    random,
    kubelet,
    log,
    kubeletVersion: gitVersionOf("1.36"),
    kubeletAddress: { host: port.host, port: port.number },
    isNew: true,
    controllers: cloudControllers,
  });
  try {
    await createStorageClasses(client);
    await metrics.start();
    await metrics.register(port.number);
    await machines.start();
  } catch (error) {
    await port.close();
    await metrics.close();
    throw error;
  }
  return {
    nodes: machines.nodes,
    async stop() {
      await machines.stop();
      await port.close();
      await metrics.close();
    },
  };
}
