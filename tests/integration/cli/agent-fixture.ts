/**
 * For tests: a control plane, simulated clusters, and agents of them, each agent a process of its
 * own whose way to the control plane can be cut.
 */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import {
  type Client,
  type Condition,
  connectDefault,
  type DynamicObject,
  defineResource,
  findCondition,
  type KubernetesObject,
} from "@kcp-ts/sdk";
import { rawRelay } from "@kcp-ts/sdk/fake-server";
import * as kinds from "@kcp-ts/sdk/kinds";
import {
  type ListeningClusterOptions,
  type SimulatedCluster,
  startListeningCluster,
} from "@kcp-ts/simulator";
import { eventually as eventuallyWithin } from "@kcp-ts/testkit";
import { readAgentManifest, startAgent } from "./agent-process.ts";
import { collect, end, type KcpProcess, startKcp, temporaryFolder } from "./kcp-process.ts";
import { type ProxyRelay, proxyRelay } from "./proxy-relay.ts";

const plugin = fileURLToPath(
  new URL("../../../../packages/cli/bin/kubectl-kcp.mjs", import.meta.url),
);

export interface Target extends KubernetesObject {
  readonly status?: {
    readonly conditions?: readonly Condition[];
    readonly syncedResources?: readonly string[];
    readonly leaseDurationSeconds?: number;
    readonly tunnel?: { readonly id: string };
  };
}

export const syncTargets = defineResource<Target>(kinds.syncTargets);
export const deployments = defineResource<DynamicObject>(kinds.deployments);
export const services = defineResource<DynamicObject>(kinds.services);

/**
 * A machine may be slow: how long something takes decides no test, but where that is what it is
 * about.
 */
export function eventually<Value>(
  check: () => Promise<Value>,
  timeoutMs = 180_000,
): Promise<Value> {
  return eventuallyWithin(check, { timeoutMs, intervalMs: 50 });
}

export interface RunningAgent {
  readonly process: ChildProcess;
  /** Drops all bytes without closing a connection. */
  cut(): void;
  /** What is begun from now on gets through again. */
  heal(): void;
}

export class AgentFixture {
  readonly client: Client;
  readonly #folder: string;
  readonly #flags: readonly string[];
  readonly #stops: (() => Promise<unknown>)[];
  #kcp: KcpProcess;

  private constructor(
    kcp: KcpProcess,
    client: Client,
    place: { readonly folder: string; readonly flags: readonly string[] },
    stops: (() => Promise<unknown>)[],
  ) {
    this.#kcp = kcp;
    this.client = client;
    this.#folder = place.folder;
    this.#flags = place.flags;
    this.#stops = stops;
  }

  static async open(...own: readonly string[]): Promise<AgentFixture> {
    const stops: (() => Promise<unknown>)[] = [];
    const folder = await temporaryFolder({ after: (cleanup) => void stops.push(cleanup) });
    const flags = ["--discovery-poll-interval", "1s", ...own];
    const kcp = await startKcp(join(folder, "root"), ...flags);
    let stage: AgentFixture | undefined;
    stops.push(() => (stage?.kcp ?? kcp).stop());
    const admin = await connectDefault({ path: kcp.kubeconfig });
    stops.push(() => admin.close());
    stage = new AgentFixture(kcp, admin.client, { folder, flags }, stops);
    return stage;
  }

  get kcp(): KcpProcess {
    return this.#kcp;
  }

  async close(): Promise<void> {
    for (const stop of this.#stops.toReversed()) await stop();
  }

  /** SIGKILL, and another one in its place and at its address. */
  async restart(): Promise<void> {
    await this.#kcp.kill();
    const port = ["--secure-port", String(this.#port)];
    this.#kcp = await startKcp(join(this.#folder, "root"), ...this.#flags, ...port);
  }

  async cluster(name: string, options: Partial<ListeningClusterOptions> = {}) {
    const cluster: SimulatedCluster = await startListeningCluster({ name, nodes: 1, ...options });
    this.#stops.push(() => cluster.close());
    return cluster;
  }

  /** Registers the cluster in Pull mode, and starts its agent. */
  async join(
    cluster: Pick<SimulatedCluster, "name" | "kubeconfig">,
    resources: readonly string[],
    ...flags: readonly string[]
  ): Promise<RunningAgent> {
    let isCut = false;
    const relay = await rawRelay(this.#port, () => isCut);
    return {
      process: await this.#joinBy(relay, cluster, resources, flags),
      cut: () => {
        isCut = true;
      },
      heal: () => {
        isCut = false;
      },
    };
  }

  /** By a way that ends with the control plane, and may let no WebSockets through. */
  async joinByProxy(
    cluster: Pick<SimulatedCluster, "name" | "kubeconfig">,
    resources: readonly string[],
    lets: { readonly letsWebSockets: boolean },
  ): Promise<{ readonly process: ChildProcess; readonly proxy: ProxyRelay }> {
    const proxy = await proxyRelay(this.#port, lets);
    return { process: await this.#joinBy(proxy, cluster, resources, []), proxy };
  }

  get #port(): number {
    return Number(new URL(this.kcp.url).port);
  }

  async #joinBy(
    relay: { readonly port: number; close(): Promise<void> },
    { name, kubeconfig: toKubeconfig = "" }: Pick<SimulatedCluster, "name" | "kubeconfig">,
    resources: readonly string[],
    flags: readonly string[],
  ): Promise<ChildProcess> {
    const argv = ["workload", "sync", name, "--resources", resources.join()];
    const own = [
      "--server",
      `https://127.0.0.1:${relay.port}`,
      "--kubeconfig",
      this.kcp.kubeconfig,
    ];
    const { code, stdout, stderr } = await collect(
      spawn(process.execPath, [plugin, ...argv, ...own], { stdio: ["ignore", "pipe", "pipe"] }),
    );
    assert.equal(code, 0, stderr);
    const manifest = readAgentManifest(stdout);
    const child = await startAgent(
      { ...manifest, args: [...manifest.args, "--api-import-poll-interval=1s", ...flags] },
      { folder: join(this.#folder, name), toKubeconfig },
    );
    const log = collect(child, 600_000);
    this.#stops.push(async () => {
      await relay.close();
      child.kill("SIGCONT");
      await end(child, "SIGKILL");
      await log;
    });
    await this.untilSynced(name, resources);
    return child;
  }

  async untilSynced(name: string, resources: readonly string[]): Promise<void> {
    await eventually(async () => {
      const { status } = await this.client.resource(syncTargets).get({ name });
      const ready = findCondition(status?.conditions, "Ready");
      assert.equal(ready?.status, "True", JSON.stringify(status));
      const missing = resources.filter((one) => !status?.syncedResources?.includes(one));
      assert.deepEqual(missing, []);
    });
  }

  async readyOf(name: string): Promise<string> {
    const { status } = await this.client.resource(syncTargets).get({ name });
    const ready = findCondition(status?.conditions, "Ready");
    return `${ready?.status} ${ready?.reason}`;
  }
}
