/** `kcp restore`: restores a backup into an empty store; the server is started on it afterwards. */
import { type RestoreResult, restore } from "@kcp-ts/controlplane";
import { type Command, Option } from "commander";
import { type OutputFlags, progressLine, report, silentLog } from "./backup-output.ts";
import { abortOnSignal } from "./signals.ts";
import { addStorageFlags, type StorageFlags, storageOptionsOf } from "./storage-flags.ts";

interface RestoreFlags extends StorageFlags, OutputFlags {
  readonly from: string;
  readonly rootDirectory: string;
}

export function addRestore(program: Command): void {
  const command = program
    .command("restore")
    .description("Restore a backup into an empty store.")
    .requiredOption("--from <file>", "the backup to read")
    .optionsGroup("Destination flags:")
    .option("--root-directory <path>", "state and credentials of the server to be", ".kcp");
  addStorageFlags(command)
    .optionsGroup("Logging flags:")
    .addOption(new Option("-o, --output <format>", "summary on stdout").choices(["json"]))
    .action((flags: RestoreFlags) => run(flags));
}

async function run(flags: RestoreFlags): Promise<void> {
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
