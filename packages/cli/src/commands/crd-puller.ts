/** `kcp crd-puller`: writes the APIs of a cluster as CustomResourceDefinitions, one file each. */
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { toYaml } from "@kcp-ts/controlplane";
import { definitionOf, importApis } from "@kcp-ts/multicluster";
import { connect, loadKubeconfig } from "@kcp-ts/sdk";
import type { Command } from "commander";
import { durationFlag } from "./flags.ts";

interface PullFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly output: string;
  readonly timeout: number;
}

export function addCrdPuller(program: Command): void {
  program
    .command("crd-puller")
    .alias("pull-crds")
    .description("Write the APIs of a cluster as CustomResourceDefinitions, one YAML file each.")
    .argument(
      "[resources...]",
      "as in deployments.apps or services; all that can be synced if left out",
    )
    .option("--kubeconfig <path>", "of the cluster (default: as kubectl finds it)")
    .option("--context <name>", "in the kubeconfig (default: its current one)")
    .option("-o, --output <directory>", "where files are written; - prints one stream", ".")
    .option(
      "--timeout <duration>",
      "for the whole of it (default: 1m)",
      durationFlag("--timeout"),
      60_000,
    )
    .addHelpText(
      "after",
      `
The version that the cluster prefers is taken. Exit code 1 when something that was asked for could not be had.

Example:
  kcp crd-puller --kubeconfig east.kubeconfig deployments.apps services
  kubectl apply --server-side -f deployments.apps.yaml

Without --server-side kubectl keeps a copy in an annotation, for which the definitions of real clusters are too large.`,
    )
    .action(run);
}

async function run(resources: readonly string[], flags: PullFlags): Promise<void> {
  const kubeconfig = await loadKubeconfig({ path: flags.kubeconfig });
  const { client, close } = connect(kubeconfig, { context: flags.context });
  try {
    const signal = AbortSignal.timeout(flags.timeout);
    const wanted = resources.length === 0 ? undefined : resources;
    const { apis, skipped } = await importApis(client, { resources: wanted, signal });
    if (flags.output !== "-") await mkdir(flags.output, { recursive: true });
    for (const api of apis) {
      const yaml = toYaml(definitionOf(api));
      const name = api.group === "" ? api.plural : `${api.plural}.${api.group}`;
      if (flags.output === "-") {
        process.stdout.write(`---\n${yaml}`);
        continue;
      }
      const path = join(flags.output, `${name}.yaml`);
      await writeFile(path, yaml);
      process.stdout.write(`${path}\n`);
    }
    for (const [name, reason] of skipped) process.stderr.write(`left out: ${name}: ${reason}\n`);
    if (wanted?.some((name) => skipped.has(name))) process.exitCode = 1;
  } finally {
    await close();
  }
}
