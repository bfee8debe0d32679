/** `kcp restore`: restores a backup into an empty store; the server is started on it afterwards. */
import { type RestoreResult, restore } from "@kcp-ts/controlplane";
import { type Command, Option } from "commander";
import { connectServer, readContent, restoreWorkspace } from "../operations/index.ts";
import { type OutputFlags, progressLine, report, silentLog } from "./backup-output.ts";
import { abortOnSignal } from "./signals.ts";
import { addStorageFlags, type StorageFlags, storageOptionsOf } from "./storage-flags.ts";

interface RestoreFlags extends StorageFlags, OutputFlags {
  readonly from: string;
  readonly rootDirectory: string;
  readonly workspace?: string;
  readonly kubeconfig?: string;
  readonly context?: string;
}

export function addRestore(program: Command): void {
  const command = program
    .command("restore")
    .description("Restore a backup into an empty store, or that of a workspace into a workspace.")
    .requiredOption("--from <file>", "the backup to read")
    .option(
      "--workspace <path>",
      "restore a backup of a workspace here, which is created if its parent exists",
    )
    .option("--kubeconfig <path>", "of the server of that workspace (default: <root>'s)")
    .option("--context <name>", "context in it (default: shard-base, else the current one)")
    .optionsGroup("Destination flags:")
    .option("--root-directory <path>", "state and credentials of the server to be", ".kcp");
  addStorageFlags(command)
    .optionsGroup("Logging flags:")
    .addOption(new Option("-o, --output <format>", "summary on stdout").choices(["json"]))
    .action((flags: RestoreFlags) => run(flags));
}

async function run(flags: RestoreFlags): Promise<void> {
  if (flags.workspace !== undefined) return runWorkspace(flags, flags.workspace);
  const progress = progressLine("restored");
  const { from: file, rootDirectory } = flags;
  const result = await restore(
    { file, rootDirectory, storage: storageOptionsOf(flags) },
    { log: silentLog(), signal: abortOnSignal(), onProgress: progress.show },
  ).finally(progress.end);
  report(flags, result, describe(result));
}

function describe({ entries, revision, createdAt, target, keepsRevisions }: RestoreResult): string {
  const what = `restored ${entries} objects of ${createdAt} to ${target} storage`;
  return keepsRevisions
    ? `${what}, at revision ${revision}`
    : `${what}; etcd numbers revisions anew, so restart controllers and other clients that watch`;
}

async function runWorkspace(flags: RestoreFlags, workspace: string): Promise<void> {
  const content = await readContent(flags.from);
  const { client, close } = await connectServer(flags);
  try {
    const signal = abortOnSignal();
    const { created, existed } = await restoreWorkspace(client.withBasePath(""), content, {
      workspace,
      signal,
    });
    const text = `restored ${created} objects of ${content.head.workspace} to ${workspace}; ${existed.length} existed already`;
    report(flags, { workspace, created, existed }, text);
  } finally {
    await close();
  }
}
