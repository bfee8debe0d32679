/**
 * `kcp generate types`: writes TypeScript types for the kinds of a cluster, or of
 * CustomResourceDefinitions in files. One file per kind.
 */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readManifests } from "@kcp-ts/controlplane";
import { connect, loadKubeconfig } from "@kcp-ts/sdk";
import type { Command } from "commander";
import {
  type KindSource,
  kindFile,
  kindsOfCluster,
  kindsOfDefinition,
} from "../type-generator/index.ts";

interface GenerateFlags {
  readonly out: string;
  readonly file?: readonly string[];
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly cluster?: string;
  readonly kind?: readonly string[];
  readonly sdk: string;
}

export function addGenerate(program: Command): void {
  program
    .command("generate")
    .description("Generate code from the APIs of a server.")
    .command("types")
    .description("TypeScript types, one file per kind: import the ones you use.")
    .option("--out <folder>", "where to write <group>/<version>/<kind>.ts", "types")
    .option("--file <paths...>", "CustomResourceDefinitions in files or folders, not a cluster")
    .option("--kubeconfig <path>", "whose cluster to ask (default: as kubectl)")
    .option("--context <name>", "context in it")
    .option("--cluster <name>", "a logical cluster of that server")
    .option("--kind <names...>", "only these kinds")
    .option("--sdk <module>", "where the types get the SDK from", "kcp-ts/sdk")
    .action((flags: GenerateFlags) => run(flags));
}

async function run(flags: GenerateFlags): Promise<void> {
  const { file, kind: wanted, out, sdk } = flags;
  const found = file === undefined ? await fromCluster(flags) : await fromFiles(file);
  const chosen = wanted === undefined ? found : found.filter(({ kind }) => wanted.includes(kind));
  const missing = wanted?.filter((name) => !found.some(({ kind }) => kind === name)) ?? [];
  if (missing.length > 0) throw new Error(`there is no kind ${missing.join(", ")}`);
  for (const source of chosen) {
    const { path, text } = kindFile(source, sdk);
    const target = join(out, path);
    await mkdir(dirname(target), { recursive: true });
    await writeFile(target, text);
    process.stdout.write(`${target}\n`);
  }
}

async function fromFiles(paths: readonly string[]): Promise<readonly KindSource[]> {
  const manifests = (await Promise.all(paths.map((path) => readManifests(path)))).flat();
  const kinds = manifests
    .filter(({ kind }) => kind === "CustomResourceDefinition")
    .flatMap((definition) => kindsOfDefinition(definition));
  if (kinds.length === 0) {
    throw new Error(`no CustomResourceDefinition was found in ${paths.join(", ")}`);
  }
  return kinds;
}

async function fromCluster(flags: GenerateFlags): Promise<readonly KindSource[]> {
  const { kubeconfig, context, cluster } = flags;
  const loaded = await loadKubeconfig(kubeconfig === undefined ? {} : { path: kubeconfig });
  const connection = connect(loaded, { context });
  try {
    const { client } = connection;
    return await kindsOfCluster(cluster === undefined ? client : client.inCluster(cluster));
  } finally {
    await connection.close();
  }
}
