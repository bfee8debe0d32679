/** What runs inside a simulated cluster: the loops of the server, the workload controllers, the scheduler, the kubelets. */
import { runControlLoops } from "@kcp-ts/controllers";
import type { Clock, Random } from "@kcp-ts/machinery/base";
import { rootCluster } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  defineResource,
  EventRecorder,
  type Happening,
  type KubernetesObject,
  Manager,
  type ObjectKey,
  singleCluster,
} from "@kcp-ts/sdk";
import type { ServerLog } from "@kcp-ts/server";
import { nodes } from "./api/index.ts";
import { EventBudget } from "./event-budget.ts";
import { gitVersionOf } from "./front/index.ts";
import {
  DownNodes,
  kubeletController,
  type NodeOptions,
  nodeLifecycleController,
  nodeObject,
  runHeartbeats,
  schedulerController,
} from "./nodes/index.ts";
import type { Generation } from "./shapes/index.ts";
import type { SimulatedNodes } from "./simulated-cluster.ts";
import { workloadControllers } from "./workloads/index.ts";

export interface KubeletSettings {
  /** From a Pod's binding to its containers running; each Pod takes a time in between. */
  readonly startDelayMs: { readonly min: number; readonly max: number };
  /** How long containers run that are meant to end, such as those of Jobs. */
  readonly runMs: number;
  /** From the wish to delete a Pod to its end, if its grace period is not shorter. */
  readonly stopDelayMs: number;
}

export const kubeletDefaults: KubeletSettings = {
  startDelayMs: { min: 200, max: 1000 },
  runMs: 2000,
  stopDelayMs: 500,
};

export interface InsideOptions {
  readonly client: Client;
  readonly name: string;
  readonly generation: Generation;
  readonly nodes: number | readonly NodeOptions[];
  readonly kubelet: Partial<KubeletSettings>;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: ServerLog;
  readonly caPem: string;
}

const namespaces = defineResource<KubernetesObject>({
  group: "",
  version: "v1",
  resource: "namespaces",
  kind: "Namespace",
  namespaced: false,
});

const firstNamespaces = ["default", "kube-system", "kube-public", "kube-node-lease"];
const eventBudget = { burst: 500, perSecond: 50 };

export class ClusterInside {
  readonly client: Client;
  readonly nodes: SimulatedNodes;
  readonly #options: InsideOptions;
  readonly #down = new DownNodes();
  readonly #stopping = new AbortController();
  readonly #names: string[] = [];
  readonly #events: EventRecorder;
  readonly #budget: EventBudget;
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: InsideOptions) {
    this.#options = options;
    this.client = options.client;
    const { clock } = options;
    this.#budget = new EventBudget(clock, eventBudget);
    this.#events = new EventRecorder({
      component: "simulator",
      client: () => this.client,
      clock,
      onError: (error) => options.log.debug({ err: error }, "an event was not written"),
    });
    this.nodes = {
      names: this.#names,
      add: (node) => this.#addNode(node),
      takeDown: (name) => this.#down.add(name),
      bringUp: (name) => this.#down.remove(name),
    };
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
    const { nodes: wanted, name } = this.#options;
    const list =
      typeof wanted === "number"
        ? Array.from({ length: wanted }, (_, index) => ({ name: `${name}-node-${index + 1}` }))
        : wanted;
    for (const node of list) await this.#addNode(node);
    this.#running = Promise.all([
      this.#runLoops(),
      this.#runControllers(),
      runHeartbeats(this.#heartbeats(), this.#stopping.signal),
    ]);
    this.#running.catch((error: unknown) => {
      if (!this.#stopping.signal.aborted)
        this.#options.log.error({ err: error }, "the controllers have ended");
    });
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#running;
    await this.#events.flush();
  }

  async #runLoops(): Promise<void> {
    const { client, clock, caPem } = this.#options;
    const onError = (error: unknown) => this.#report(error);
    await runControlLoops({ client, caPem, clock, onError }, this.#stopping.signal);
  }

  async #runControllers(): Promise<void> {
    const { client, clock, random, generation, kubelet } = this.#options;
    const onError = (error: unknown, _key?: ObjectKey) => this.#report(error);
    const tell = (object: KubernetesObject, happening: Happening) => this.#tell(object, happening);
    const clusters = singleCluster({ client, cluster: rootCluster, clock, random, onError });
    const isNew = generation !== "1.28";
    const controllers = [
      ...workloadControllers({
        clusters,
        clock,
        random,
        knowsTerminatingReplicas: isNew,
        tell,
        onError,
      }),
      schedulerController({ clusters, clock, random, tell, onError }),
      nodeLifecycleController({ clusters, clock, onError }),
      kubeletController({
        clusters,
        clock,
        random,
        down: this.#down,
        ...kubeletDefaults,
        ...kubelet,
        hasSandboxCondition: isNew,
        tell,
        onError,
      }),
    ];
    await new Manager({ clusters: [clusters], controllers }).run(this.#stopping.signal);
  }

  #heartbeats() {
    const { client, clock } = this.#options;
    const onError = (error: unknown) => this.#report(error);
    return { client, clock, names: () => this.#names, down: this.#down, onError };
  }

  #report(error: unknown): void {
    // Somebody else wrote first: the next try sees what they wrote.
    const { log } = this.#options;
    if (isStatusError(error, "Conflict")) log.debug({ err: error }, "a controller was overtaken");
    else log.warn({ err: error }, "a controller tries again");
  }

  #tell(object: KubernetesObject, happening: Happening): void {
    if (this.#budget.take()) this.#events.record(rootCluster, object, happening);
  }

  async #addNode(options: NodeOptions): Promise<void> {
    const { generation, clock } = this.#options;
    const { status, ...node } = nodeObject(options, {
      index: this.#names.length,
      kubeletVersion: gitVersionOf(generation),
      nowMs: clock.now(),
    });
    this.#names.push(options.name);
    const created = await this.client.resource(nodes).create(node);
    await this.client.resource(nodes).updateStatus({ ...created, ...(status && { status }) });
  }
}
