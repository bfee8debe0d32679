/**
 * For the scenarios of debugging and of operators: two clusters of a test environment, which serve
 * their Pods in the given mode, and a terminal.
 */
import { syncTargets } from "@kcp-ts/multicluster";
import { isConditionTrue } from "@kcp-ts/sdk";
import {
  startAgent,
  startTestControlPlane,
  type TestAgent,
  type TestControlPlane,
} from "@kcp-ts/testing/internal";
import { eventually } from "@kcp-ts/testkit";
import type { TestEnvironment } from "../test-environments/index.ts";
import { Terminal } from "./terminal.ts";

export type Mode = "Push" | "Pull";

const impatient = {
  link: { probeMs: 500, probeTimeoutMs: 10_000, failuresMax: 10, inventoryMs: 1000 },
  importPollMs: 500,
  gracePeriods: { recoveryMs: 0 },
};
const resources = [
  "deployments.apps",
  "replicasets.apps",
  "jobs.batch",
  "pods",
  "secrets",
  "serviceaccounts",
];
const patience = { timeoutMs: 120_000, intervalMs: 50 };

export class DebuggingEnvironment {
  readonly plane: TestControlPlane;
  readonly terminal: Terminal;
  readonly #closing: (() => Promise<void>)[] = [];
  readonly #agents: TestAgent[] = [];

  private constructor(plane: TestControlPlane, terminal: Terminal) {
    this.plane = plane;
    this.terminal = terminal;
  }

  /** `cluster` is the logical one. */
  static async start(
    environment: TestEnvironment,
    mode: Mode,
    cluster = "root",
  ): Promise<DebuggingEnvironment> {
    const plane = await startTestControlPlane({ physicalClusters: impatient });
    const terminal = await Terminal.open(async (words) => {
      throw new Error(`nobody knows what to do: ${words}`);
    });
    const stage = new DebuggingEnvironment(plane, terminal);
    try {
      await terminal.write("kubeconfig", await plane.kubeconfig({ cluster }));
      const add = (name: string) => stage.#add(environment, { name, mode, cluster });
      await Promise.all(["us-east1", "us-west1"].map(add));
    } catch (error) {
      await stage.close();
      throw error;
    }
    return stage;
  }

  /** Clusters go last, when nobody uses them any more. */
  async close(): Promise<void> {
    for (const agent of this.#agents) await agent.stop();
    await this.plane.close();
    await this.terminal.close();
    for (const close of this.#closing) await close();
  }

  async #add(
    environment: TestEnvironment,
    {
      name,
      mode,
      cluster,
    }: { readonly name: string; readonly mode: Mode; readonly cluster: string },
  ): Promise<void> {
    const until = { after: (close: () => Promise<void>) => void this.#closing.push(close) };
    const { kubeconfig } = await environment.acquire(until, name);
    const targets = this.plane.clientFor(cluster).resource(syncTargets);
    if (mode === "Push") await targets.create({ metadata: { name }, spec: { kubeconfig } });
    else {
      const agent = await startAgent(this.plane, kubeconfig, { cluster, name, resources });
      this.#agents.push(agent);
    }
    await eventually(async () => {
      const { status } = await targets.get({ name });
      if (!isConditionTrue(status?.conditions, "Ready"))
        throw new Error(`${name} is ${JSON.stringify(status?.conditions)}`);
      for (const one of ["deployments.apps", "pods", "secrets"])
        if (status?.syncedResources?.includes(one) !== true) throw new Error(`no ${one} are lent`);
    }, patience);
  }
}
