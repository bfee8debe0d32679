/** For the transcript of debugging: two clusters whose Pods run, which lend them in the mode that is asked for, and a terminal. */

import { syncTargets } from "@kcp-ts/multicluster";
import { isConditionTrue } from "@kcp-ts/sdk";
import { startListeningCluster } from "../simulation.ts";
import {
  eventually,
  startAgent,
  startTestControlPlane,
  type TestControlPlane,
} from "../testing/index.ts";
import { Terminal } from "./terminal.ts";

export type Mode = "Push" | "Pull";

const impatient = {
  link: { probeMs: 500, probeTimeoutMs: 10_000, failuresMax: 10, inventoryMs: 1000 },
  importPollMs: 500,
  patience: { settleMs: 0 },
};
const kubelet = { startDelayMs: { min: 0, max: 50 }, stopDelayMs: 20, runMs: 100 };
const patience = { timeoutMs: 120_000, intervalMs: 50 };

export class DebuggingStage {
  readonly plane: TestControlPlane;
  readonly terminal: Terminal;
  readonly #closing: (() => Promise<unknown>)[];

  private constructor(
    plane: TestControlPlane,
    terminal: Terminal,
    closing: (() => Promise<unknown>)[],
  ) {
    this.plane = plane;
    this.terminal = terminal;
    this.#closing = closing;
  }

  static async set(mode: Mode): Promise<DebuggingStage> {
    const plane = await startTestControlPlane({ physicalClusters: impatient });
    const terminal = await Terminal.open(async (words) => {
      throw new Error(`nobody knows what to do: ${words}`);
    });
    const stage = new DebuggingStage(plane, terminal, []);
    try {
      await terminal.write("kubeconfig", await plane.kubeconfig({ cluster: "root" }));
      await Promise.all(["us-east1", "us-west1"].map((name) => stage.#add(name, mode)));
    } catch (error) {
      await stage.close();
      throw error;
    }
    return stage;
  }

  async close(): Promise<void> {
    for (const close of this.#closing.reverse()) await close();
    await this.plane.close();
    await this.terminal.close();
  }

  async #add(name: string, mode: Mode): Promise<void> {
    const nodes = [{ name: `${name}-node` }];
    const physical = await startListeningCluster({ name, nodes, kubelet });
    this.#closing.push(() => physical.close());
    const targets = this.plane.client.resource(syncTargets);
    const kubeconfig = physical.kubeconfig ?? "";
    if (mode === "Push") await targets.create({ metadata: { name }, spec: { kubeconfig } });
    else {
      const agent = await startAgent(this.plane, kubeconfig, { cluster: "root", name });
      this.#closing.push(() => agent.stop());
    }
    await eventually(async () => {
      const { status } = await targets.get({ name });
      if (!isConditionTrue(status?.conditions, "Ready"))
        throw new Error(`${name} is ${JSON.stringify(status?.conditions)}`);
      if (status?.syncedResources?.includes("pods") !== true) throw new Error("Pods are not lent");
    }, patience);
  }
}
