/**
 * `kcp sim`: simulated physical clusters, each with a port and a kubeconfig of its own, until a
 * signal.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { join, resolve } from "node:path";
import { connect, loadKubeconfig } from "@kcp-ts/sdk";
import type { Generation, SimulatedCluster } from "@kcp-ts/simulator";
import { type Command, InvalidArgumentError, Option } from "commander";
import { joinCluster, untilClusterReady } from "../operations/index.ts";
import { integerFlag } from "./flags.ts";
import { aborted, abortOnSignal } from "./signals.ts";

interface SimFlags {
  readonly clusters: number;
  readonly names?: readonly string[];
  readonly nodes: number;
  readonly generation: Generation;
  readonly bindAddress: string;
  readonly outDirectory: string;
  readonly join?: boolean;
  readonly rootDirectory: string;
}

/** The names of the demo's clusters. */
const names = ["us-east1", "us-west1", "eu-west1", "eu-north1", "asia-east1", "asia-south1"];
const clustersMax = 32;
const nodesMax = 1000;

export function addSim(program: Command): void {
  program
    .command("sim")
    .description("Run simulated physical clusters: real APIs and controllers, simulated nodes.")
    .option("--clusters <count>", "how many", integerFlag("--clusters", 1, clustersMax), 1)
    .option("--names <names...>", "what they are called; overrides --clusters", clusterName)
    .option("--nodes <count>", "nodes in each of them", integerFlag("--nodes", 0, nodesMax), 3)
    .addOption(
      new Option("--generation <release>", "the Kubernetes release whose API the clusters serve")
        .choices(["1.28", "1.36"])
        .default("1.36"),
    )
    .option("--bind-address <address>", "the IP address on which to listen", "127.0.0.1")
    .option("--out-directory <path>", "where kubeconfigs are written", ".kcp/sim")
    .option(
      "--join",
      "register them in the control plane of --root-directory, and wait until Ready",
    )
    .option("--root-directory <path>", "of the control plane, for --join", ".kcp")
    .addHelpText("after", help)
    .action((flags: SimFlags) => run(flags));
}

const help = `
Nothing is run: Pods start, become ready and end as annotations on them say (sim.kcp.io/crash-after: 3s and so on,
see docs/guides/simulated-clusters.md). Everything is in memory and gone when the command ends.

Examples:
  kcp sim --clusters 2
  kcp sim --clusters 2 --join
  kcp sim --names east --generation 1.28 --nodes 10
`;

function clusterName(text: string, before: readonly string[] = []): readonly string[] {
  if (!/^[a-z0-9]([a-z0-9-]{0,40}[a-z0-9])?$/.test(text))
    throw new InvalidArgumentError("--names takes lower case letters, digits and dashes.");
  if (before.includes(text)) throw new InvalidArgumentError(`--names has ${text} twice.`);
  return [...before, text];
}

async function run(flags: SimFlags): Promise<void> {
  const signal = abortOnSignal();
  // Loaded lazily: only this command needs this module.
  const { startListeningCluster } = await import("@kcp-ts/simulator");
  const { nodes, generation, bindAddress: host } = flags;
  const folder = resolve(flags.outDirectory);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const running: SimulatedCluster[] = [];
  try {
    for (const name of flags.names ?? namesOf(flags.clusters)) {
      if (signal.aborted) return;
      const cluster = await startListeningCluster({ name, nodes, generation, host });
      running.push(cluster);
      const path = join(folder, `${name}.kubeconfig`);
      await writeFile(path, cluster.kubeconfig ?? "", { mode: 0o600 });
      process.stderr.write(`${name} serves Kubernetes ${generation} at ${cluster.url}\n`);
      process.stdout.write(`kubectl --kubeconfig ${path} get nodes\n`);
    }
    if (flags.join === true) await joinAll(running, flags.rootDirectory, signal);
    process.stderr.write("ready; end with Ctrl-C\n");
    await aborted(signal);
  } finally {
    await Promise.all(running.map((cluster) => cluster.close()));
  }
}

async function joinAll(
  clusters: readonly SimulatedCluster[],
  rootDirectory: string,
  signal: AbortSignal,
): Promise<void> {
  const path = join(resolve(rootDirectory), "admin.kubeconfig");
  const connection = connect(await loadKubeconfig({ path }));
  try {
    const { client } = connection;
    for (const { name, kubeconfig = "" } of clusters)
      await joinCluster(client, { name, kubeconfig });
    for (const { name } of clusters) {
      await untilClusterReady(client, name, { timeoutMs: joinTimeoutMs, signal });
      process.stderr.write(`${name} is Ready in the control plane\n`);
    }
  } finally {
    await connection.close();
  }
}

const joinTimeoutMs = 60_000;

function namesOf(count: number): string[] {
  return Array.from({ length: count }, (_, index) => names[index] ?? `cluster-${index + 1}`);
}
