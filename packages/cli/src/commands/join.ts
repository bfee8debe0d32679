/** `kcp join <name>`: registers a physical cluster that the control plane can connect to. */
import { join, resolve } from "node:path";
import { connect, loadKubeconfig } from "@kcp-ts/sdk";
import type { Command } from "commander";
import { inlineKubeconfig, joinCluster, untilClusterReady } from "../operations/index.ts";
import { durationFlag } from "./flags.ts";
import { abortOnSignal } from "./signals.ts";

interface JoinFlags {
  readonly clusterKubeconfig: string;
  readonly clusterContext?: string;
  readonly rootDirectory: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly workspace?: string;
  readonly timeout: number;
  readonly wait: boolean;
}

export function addJoin(program: Command): void {
  program
    .command("join")
    .description("Register a physical cluster, and wait until it is Ready.")
    .argument("<name>", "of the SyncTarget")
    .requiredOption(
      "--cluster-kubeconfig <path>",
      "of the physical cluster; its credentials are stored sealed",
    )
    .option("--cluster-context <name>", "context in it, instead of the current one")
    .optionsGroup("Control plane flags:")
    .option("--root-directory <path>", "the server's; its admin.kubeconfig is used", ".kcp")
    .option("--kubeconfig <path>", "another kubeconfig of the control plane")
    .option("--context <name>", "context in it, instead of the current one")
    .option("--workspace <path>", "where to register it (default: the workspace of the context)")
    .option("--no-wait", "return when it is registered")
    .option(
      "--timeout <duration>",
      "how long to wait (default: 1m)",
      durationFlag("--timeout"),
      60_000,
    )
    .addHelpText("after", help)
    .action((name: string, flags: JoinFlags) => run(name, flags));
}

const help = `
A cluster that the control plane cannot connect to runs an agent instead:
  kubectl kcp workload sync <name> | kubectl --kubeconfig <of the cluster> apply -f -
`;

async function run(name: string, flags: JoinFlags): Promise<void> {
  const signal = abortOnSignal();
  const path = flags.kubeconfig ?? join(resolve(flags.rootDirectory), "admin.kubeconfig");
  const physical = await loadKubeconfig({ path: flags.clusterKubeconfig });
  const kubeconfig = await inlineKubeconfig(physical, flags.clusterContext);
  const connection = connect(await loadKubeconfig({ path }), { context: flags.context });
  try {
    const { workspace, timeout: timeoutMs } = flags;
    const client =
      workspace === undefined
        ? connection.client
        : connection.client.withBasePath("").inCluster(workspace);
    const done = await joinCluster(client, { name, kubeconfig });
    process.stdout.write(`synctarget.workload.kcp.io/${name} ${done}\n`);
    if (!flags.wait) return;
    await untilClusterReady(client, name, { timeoutMs, signal });
    process.stdout.write(`${name} is Ready\n`);
  } finally {
    await connection.close();
  }
}
