/**
 * `kcp doctor`: checks this machine, a data directory and etcd, also without a running server; with
 * one, also the server and the production checklist.
 */
import { access } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { kcpVersion, systemClock } from "@kcp-ts/machinery/base";
import { isTransportError } from "@kcp-ts/sdk";
import { type Command, Option } from "commander";
import {
  checkCertificateFiles,
  checkDirectory,
  checkDisk,
  checkEtcd,
  checkMemory,
  checkNode,
  checkOpenFiles,
  checkPort,
  checkProduction,
  connectServer,
  evaluateStatus,
  type Finding,
  findingLines,
  hasFailed,
  ok,
  readStatus,
  type ServerFlags,
} from "../operations/index.ts";
import { integerFlag } from "./flags.ts";
import { addServerFlags } from "./status.ts";
import { addStorageFlags, type StorageFlags, storageOptionsOf } from "./storage-flags.ts";

interface DoctorFlags extends ServerFlags, StorageFlags {
  readonly output?: "json";
  readonly offline?: boolean;
  readonly bindAddress: string;
  readonly securePort: number;
}

export function addDoctor(program: Command): void {
  const command = addServerFlags(
    program
      .command("doctor")
      .description("Check this machine, the data directory, etcd, and the production checklist."),
  )
    .option("--offline", "do not ask the server")
    .option("--bind-address <address>", "the IP address of the server", "0.0.0.0")
    .option(
      "--secure-port <port>",
      "the port of the server",
      integerFlag("--secure-port", 1, 65535),
      6443,
    );
  addStorageFlags(command)
    .optionsGroup("Output flags:")
    .addOption(new Option("-o, --output <format>", "output format").choices(["json"]))
    .addHelpText("after", "\nThe exit code is 1 if a check fails; warnings leave it at 0.\n")
    .action((flags: DoctorFlags) => run(flags));
}

async function run(flags: DoctorFlags): Promise<void> {
  const findings = [...(await machineFindings(flags)), ...(await serverFindings(flags))];
  if (flags.output === "json")
    process.stdout.write(`${JSON.stringify({ findings }, undefined, 2)}\n`);
  else process.stdout.write(`${findingLines(findings).join("\n")}\n`);
  if (hasFailed(findings)) process.exitCode = 1;
}

async function machineFindings(flags: DoctorFlags): Promise<readonly Finding[]> {
  const directory = resolve(flags.rootDirectory);
  const isThere = await exists(directory);
  const storage = storageOptionsOf(flags);
  return [
    checkNode(),
    await checkMemory(),
    await checkOpenFiles(),
    await checkDisk(isThere ? directory : await existingParent(directory)),
    ...(isThere
      ? [
          await checkDirectory(directory),
          ...(await checkCertificateFiles(directory, systemClock.now())),
        ]
      : [ok("directory", `${directory} does not exist yet; kcp start creates it`)]),
    await checkPort(flags.bindAddress, flags.securePort),
    ...(storage.kind === "etcd" ? await checkEtcd(storage) : []),
  ];
}

/** A server that does not run is no failure: its machine is checked all the same. */
async function serverFindings(flags: DoctorFlags): Promise<readonly Finding[]> {
  const path = flags.kubeconfig ?? resolve(flags.rootDirectory, "admin.kubeconfig");
  if (flags.offline === true || !(await exists(path))) return [];
  const server = await connectServer(flags);
  try {
    const nowMs = systemClock.now();
    const status = await readStatus(server, nowMs);
    const evaluated = evaluateStatus(status, { nowMs, version: kcpVersion });
    return [...evaluated, ...checkProduction(status)];
  } catch (error) {
    if (!isTransportError(error, "connect")) throw error;
    return [ok("server", `no server answers at ${server.url.origin}`)];
  } finally {
    await server.close();
  }
}

async function existingParent(path: string): Promise<string> {
  for (let folder = path; ; folder = dirname(folder)) if (await exists(folder)) return folder;
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return false;
    throw error;
  }
}
