/** `kcp migrate-storage`: objects of definitions are stored in the storage version. */
import type { Command } from "commander";
import { connectServer, migrateStorage, unmigrated } from "../operations/index.ts";
import { abortOnSignal } from "./signals.ts";

interface MigrateFlags {
  readonly workspace: string;
  readonly rootDirectory: string;
  readonly kubeconfig?: string;
  readonly context?: string;
}

export function addMigrateStorage(program: Command): void {
  program
    .command("migrate-storage")
    .description("Store the objects of CustomResourceDefinitions in their storage versions.")
    .argument("[definitions...]", "as in widgets.example.com (default: all that need it)")
    .option("--workspace <path>", "the workspace that has the definitions", "root")
    .optionsGroup("Control plane flags:")
    .option("--root-directory <path>", "the server's; its admin.kubeconfig is used", ".kcp")
    .option("--kubeconfig <path>", "another kubeconfig of the control plane")
    .option("--context <name>", "context in it (default: shard-base, else the current one)")
    .action((definitions: readonly string[], flags: MigrateFlags) => run(definitions, flags));
}

async function run(definitions: readonly string[], flags: MigrateFlags): Promise<void> {
  const signal = abortOnSignal();
  const connection = await connectServer(flags);
  try {
    const client = connection.client.withBasePath("").inCluster(flags.workspace);
    const names = definitions.length > 0 ? definitions : await unmigrated(client, signal);
    for (const name of names) {
      const done = await migrateStorage(client, name, signal);
      process.stdout.write(
        done === undefined
          ? `${name}: nothing to migrate\n`
          : `${name}: ${done.objects} objects are stored as ${done.version}\n`,
      );
    }
    if (names.length === 0) process.stderr.write("no definition needs a migration\n");
  } finally {
    await connection.close();
  }
}
