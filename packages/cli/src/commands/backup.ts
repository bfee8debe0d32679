/** `kcp backup`: writes the complete store into a file, with or without a running server. */
import { type BackupResult, backup } from "@kcp-ts/controlplane";
import { type Command, Option } from "commander";
import { type OutputFlags, progressLine, report, silentLog } from "./backup-output.ts";
import { abortOnSignal } from "./signals.ts";
import { addStorageFlags, type StorageFlags, storageOptionsOf } from "./storage-flags.ts";

interface BackupFlags extends StorageFlags, OutputFlags {
  readonly out: string;
  readonly rootDirectory: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly server?: string;
}

export function addBackup(program: Command): void {
  const command = program
    .command("backup")
    .description("Write a consistent backup of the store to a file.")
    .requiredOption("--out <file>", "the file to write; it contains Secrets in plain text")
    .optionsGroup("Source flags:")
    .option("--root-directory <path>", "the server's; asks the server if it runs", ".kcp")
    .option("--kubeconfig <path>", "ask the server of this kubeconfig, as a system:masters member")
    .option("--context <name>", "context in it (default: shard-base, else the current one)")
    .option("--server <url>", "another address of that server");
  addStorageFlags(command)
    .optionsGroup("Logging flags:")
    .addOption(new Option("-o, --output <format>", "summary on stdout").choices(["json"]))
    .action((flags: BackupFlags) => run(flags));
}

async function run(flags: BackupFlags): Promise<void> {
  const progress = progressLine("saved");
  const result = await backup(
    {
      file: flags.out,
      rootDirectory: flags.rootDirectory,
      storage: storageOptionsOf(flags),
      kubeconfigPath: flags.kubeconfig,
      context: flags.context,
      server: flags.server,
    },
    { log: silentLog(), signal: abortOnSignal(), onProgress: progress.show },
  ).finally(progress.end);
  report(flags, result, describe(result));
}

function describe({ entries, revision, bytes, file, source }: BackupResult): string {
  const from = source === "server" ? "the running server" : `${source} storage`;
  return `saved ${entries} objects at revision ${revision} from ${from}: ${file}, ${bytes} bytes`;
}
