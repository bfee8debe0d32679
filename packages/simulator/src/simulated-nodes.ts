/**
 * Simulated nodes, with a scheduler and with kubelets that run no containers, for any control
 * plane. A simulated cluster has them; so has a real kube-apiserver without nodes in a test.
 */
import type { ServerLog } from "@kcp-ts/apiserver";
import { type Clock, type Random, TokenBucket } from "@kcp-ts/machinery/base";
import { rootCluster } from "@kcp-ts/machinery/names";
import { isStatusError } from "@kcp-ts/machinery/status";
import {
  type Client,
  type Controller,
  type EventInput,
  EventRecorder,
  type KubernetesObject,
  Manager,
  type ObjectKey,
  singleCluster,
} from "@kcp-ts/sdk";
import { nodes } from "./api/index.ts";

import {
  DownNodes,
  kubeletController,
  type NodeInfo,
  type NodeOptions,
  nodeObject,
  runHeartbeats,
  schedulerController,
} from "./nodes/index.ts";
import type { WorkloadContext } from "./workloads/index.ts";

export interface KubeletSettings {
  /** The time from a Pod's binding to its containers running; each Pod has one in between. */
  readonly startDelayMs: { readonly min: number; readonly max: number };
  /** How long containers run that run to completion, such as those of Jobs. */
  readonly runMs: number;
  /** The time from the deletion of a Pod to its end, if its grace period is not shorter. */
  readonly stopDelayMs: number;
}

export const kubeletDefaults: KubeletSettings = {
  startDelayMs: { min: 200, max: 1000 },
  runMs: 2000,
  stopDelayMs: 500,
};

export interface SimulatedNodesOptions {
  readonly client: Client;
  /** The prefix of the names of nodes. */
  readonly name: string;
  readonly nodes: number | readonly NodeOptions[];
  readonly kubelet: Partial<KubeletSettings>;
  readonly kubeletVersion: string;
  readonly kubeletAddress?: NodeInfo["kubeletAddress"];
  /** Whether fields that were added in 1.29 and later are written. */
  readonly isNew: boolean;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: ServerLog;
  /** Controllers that run together with scheduler and kubelets, on the same caches. */
  readonly controllers: (context: WorkloadContext) => readonly Controller[];
}

export interface NodeControls {
  readonly names: readonly string[];
  add(node: NodeOptions): Promise<void>;
  /** Removes the node and its Pods. */
  remove(name: string): Promise<void>;
  /**
   * Stops the node's kubelet: the node is NotReady after 40 seconds, and its Pods are evicted when
   * their tolerations expire.
   */
  takeDown(name: string): void;
  bringUp(name: string): void;
}

const eventBudget = { burst: 500, perSecond: 50 };

export class SimulatedNodes {
  readonly nodes: NodeControls;
  readonly #options: SimulatedNodesOptions;
  readonly #down = new DownNodes();
  readonly #stopping = new AbortController();
  readonly #names: string[] = [];
  #added = 0;
  readonly #events: EventRecorder;
  readonly #budget: TokenBucket;
  #running: Promise<unknown> = Promise.resolve();

  constructor(options: SimulatedNodesOptions) {
    this.#options = options;
    const { client, clock, log } = options;
    this.#budget = new TokenBucket(clock, eventBudget);
    this.#events = new EventRecorder({
      component: "simulator",
      client: () => client,
      clock,
      onError: (error) => log.debug({ err: error }, "an event was not written"),
    });
    this.nodes = {
      names: this.#names,
      add: (node) => this.#addNode(node),
      remove: (name) => this.#removeNode(name),
      takeDown: (name) => this.#down.add(name),
      bringUp: (name) => this.#down.remove(name),
    };
  }

  /** Resolves when the nodes exist. */
  async start(): Promise<void> {
    const { nodes: wanted, name } = this.#options;
    const list =
      typeof wanted === "number"
        ? Array.from({ length: wanted }, (_, index) => ({ name: `${name}-node-${index + 1}` }))
        : wanted;
    for (const node of list) await this.#addNode(node);
    this.#running = Promise.all([
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

  report(error: unknown): void {
    // A conflict with another writer: the retry reads the new state.
    const { log } = this.#options;
    if (isStatusError(error, "Conflict")) log.debug({ err: error }, "a controller was overtaken");
    else log.warn({ err: error }, "a controller tries again");
  }

  async #runControllers(): Promise<void> {
    const { client, clock, random, isNew, kubelet, controllers: others } = this.#options;
    const onError = (error: unknown, _key?: ObjectKey) => this.report(error);
    const recordEvent = (object: KubernetesObject, eventInput: EventInput) =>
      this.#tell(object, eventInput);
    const clusters = singleCluster({
      client,
      cluster: rootCluster,
      clock,
      random,
      onError,
      // All Pods of a set are read whenever one of them changes.
      liveObjectsMax: Number.POSITIVE_INFINITY,
    });
    const controllers = [
      ...others({ clusters, clock, random, knowsTerminatingReplicas: isNew, recordEvent, onError }),
      schedulerController({ clusters, clock, random, recordEvent, onError }),
      kubeletController({
        clusters,
        clock,
        random,
        down: this.#down,
        ...kubeletDefaults,
        ...kubelet,
        hasSandboxCondition: isNew,
        recordEvent,
        onError,
      }),
    ];
    await new Manager({ clusters: [clusters], controllers }).run(this.#stopping.signal);
  }

  #heartbeats() {
    const { client, clock } = this.#options;
    const onError = (error: unknown) => this.report(error);
    return { client, clock, names: () => this.#names, down: this.#down, onError };
  }

  #tell(object: KubernetesObject, eventInput: EventInput): void {
    if (this.#budget.take() === 0) this.#events.record(rootCluster, object, eventInput);
  }

  async #addNode(options: NodeOptions): Promise<void> {
    const { client, clock, kubeletVersion, kubeletAddress } = this.#options;
    const { status, ...node } = nodeObject(options, {
      index: this.#added++,
      kubeletVersion,
      kubeletAddress,
      nowMs: clock.now(),
    });
    this.#names.push(options.name);
    await client.resource(nodes).create(node);
    // A patch, because other controllers write to a node as soon as it exists.
    const patch = { type: "merge" as const, patch: { status } as never };
    await client.resource(nodes).patchStatus({ name: options.name }, patch);
  }

  async #removeNode(name: string): Promise<void> {
    const at = this.#names.indexOf(name);
    if (at >= 0) this.#names.splice(at, 1);
    await this.#options.client.resource(nodes).delete({ name });
  }
}
