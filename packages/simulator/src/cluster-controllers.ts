/**
 * The controllers of a simulated cluster: the server's control loops, the workload controllers, and
 * simulated nodes.
 */
import { runControlLoops } from "@kcp-ts/controllers";
import { LoopSupervisor, systemRandom } from "@kcp-ts/machinery/base";
import { isStatusError } from "@kcp-ts/machinery/status";
import type { Client } from "@kcp-ts/sdk";
import { namespaces } from "@kcp-ts/sdk/kinds";
import { gitVersionOf } from "./frontend/index.ts";
import { nodeLifecycleController } from "./nodes/index.ts";
import type { Generation } from "./shapes/index.ts";
import {
  type NodeControls,
  SimulatedNodes,
  type SimulatedNodesOptions,
} from "./simulated-nodes.ts";
import { installSnapshots, workloadControllers } from "./workloads/index.ts";

export interface ClusterControllersOptions
  extends Pick<
    SimulatedNodesOptions,
    "client" | "name" | "nodes" | "kubelet" | "clock" | "random" | "log"
  > {
  readonly generation: Generation;
  readonly caPem: string;
  readonly hasSnapshots: boolean;
}

const firstNamespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];

export class ClusterControllers {
  readonly client: Client;
  readonly nodes: NodeControls;
  readonly #options: ClusterControllersOptions;
  readonly #machines: SimulatedNodes;
  readonly #stopping = new AbortController();
  #looping: Promise<unknown> = Promise.resolve();

  constructor(options: ClusterControllersOptions) {
    this.#options = options;
    this.client = options.client;
    const { generation, hasSnapshots } = options;
    this.#machines = new SimulatedNodes({
      ...options,
      kubeletVersion: gitVersionOf(generation),
      isNew: generation !== "1.28",
      controllers: (context) => [
        ...workloadControllers({ ...context, hasSnapshots }),
        nodeLifecycleController(context),
      ],
    });
    this.nodes = this.#machines.nodes;
  }

  async start(): Promise<void> {
    for (const name of firstNamespaces) {
      await this.client
        .resource(namespaces)
        .create({ metadata: { name } })
        .catch((error: unknown) => {
          if (!isStatusError(error, "AlreadyExists")) throw error;
        });
    }
    const { client, clock, caPem, log, hasSnapshots } = this.#options;
    if (hasSnapshots) await installSnapshots(client, clock);
    await this.#machines.start();
    const onError = (error: unknown) => this.#machines.report(error);
    const supervisor = new LoopSupervisor({
      ...{ clock, random: systemRandom },
      onDown: ({ error, loop }) => log.error({ err: error, loop }, "a control loop failed"),
    });
    const loops = { client, caPem, clock, supervisor, onError };
    this.#looping = runControlLoops(loops, this.#stopping.signal);
    this.#looping.catch((error: unknown) => {
      if (!this.#stopping.signal.aborted) log.error({ err: error }, "the loops have ended");
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([this.#looping, this.#machines.stop()]);
  }
}
