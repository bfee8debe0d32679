/** `kcp backup`: writes the complete store into a file, with or without a running server. */
import { type BackupResult, backup } from "@kcp-ts/controlplane";
import { type Command, Option } from "commander";
import { connectServer, saveWorkspace } from "../operations/index.ts";
import { type OutputFlags, progressLine, report, silentLog } from "./backup-output.ts";
import { abortOnSignal } from "./signals.ts";
import { addStorageFlags, type StorageFlags, storageOptionsOf } from "./storage-flags.ts";

interface BackupFlags extends StorageFlags, OutputFlags {
  readonly out: string;
  readonly rootDirectory: string;
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly server?: string;
  readonly workspace?: string;
}

export function addBackup(program: Command): void {
  const command = program
    .command("backup")
    .description("Write a consistent backup of the store to a file.")
    .requiredOption("--out <file>", "the file to write; it contains Secrets in plain text")
    .option(
      "--workspace <path>",
      "only the objects of this workspace and those below, through the server (root:org:team)",
    )
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
  if (flags.workspace !== undefined) return runWorkspace(flags, flags.workspace);
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

/** Through the API: objects as their clients see them, which any server can create again. */
async function runWorkspace(flags: BackupFlags, workspace: string): Promise<void> {
  const { client, close } = await connectServer(flags);
  try {
    const { out: file } = flags;
    const objects = await saveWorkspace(client.withBasePath(""), {
      workspace,
      file,
      signal: abortOnSignal(),
    });
    report(
      flags,
      { workspace, file, objects },
      `saved ${objects} objects of ${workspace}: ${file}`,
    );
  } finally {
    await close();
  }
}
