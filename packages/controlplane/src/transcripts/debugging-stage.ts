/** For the transcripts of debugging and of operators: two clusters whose Pods run, which lend them in the mode that is asked for, and a terminal. */

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
const resources = ["deployments.apps", "replicasets.apps", "pods", "secrets", "serviceaccounts"];
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

  /** `cluster` is the logical one. */
  static async set(mode: Mode, cluster = "root"): Promise<DebuggingStage> {
    const plane = await startTestControlPlane({ physicalClusters: impatient });
    const terminal = await Terminal.open(async (words) => {
      throw new Error(`nobody knows what to do: ${words}`);
    });
    const stage = new DebuggingStage(plane, terminal, []);
    try {
      await terminal.write("kubeconfig", await plane.kubeconfig({ cluster }));
      const add = (name: string) => stage.#add(name, mode, cluster);
      await Promise.all(["us-east1", "us-west1"].map(add));
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

  async #add(name: string, mode: Mode, cluster: string): Promise<void> {
    const nodes = [{ name: `${name}-node` }];
    const physical = await startListeningCluster({ name, nodes, kubelet });
    this.#closing.push(() => physical.close());
    const targets = this.plane.clientFor(cluster).resource(syncTargets);
    const kubeconfig = physical.kubeconfig ?? "";
    if (mode === "Push") await targets.create({ metadata: { name }, spec: { kubeconfig } });
    else {
      const agent = await startAgent(this.plane, kubeconfig, { cluster, name, resources });
      this.#closing.push(() => agent.stop());
    }
    await eventually(async () => {
      const { status } = await targets.get({ name });
      if (!isConditionTrue(status?.conditions, "Ready"))
        throw new Error(`${name} is ${JSON.stringify(status?.conditions)}`);
      for (const one of ["pods", "secrets"])
        if (status?.syncedResources?.includes(one) !== true) throw new Error(`no ${one} are lent`);
    }, patience);
  }
}
