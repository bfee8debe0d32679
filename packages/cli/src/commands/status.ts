/** `kcp status`: servers, store, certificates, Leases, clusters, and the next step of each. */
import { kcpVersion, systemClock } from "@kcp-ts/machinery/base";
import { type Command, Option } from "commander";
import {
  connectServer,
  evaluateStatus,
  findingLines,
  hasFailed,
  readStatus,
  type ServerFlags,
} from "../operations/index.ts";

interface StatusFlags extends ServerFlags {
  readonly output?: "json";
}

export function addStatus(program: Command): void {
  addServerFlags(
    program
      .command("status")
      .description("Show servers, store, certificates and clusters, and what is wrong with them."),
  )
    .addOption(new Option("-o, --output <format>", "output format").choices(["json"]))
    .addHelpText("after", "\nThe exit code is 1 if something is wrong.\n")
    .action((flags: StatusFlags) => run(flags));
}

/** The flags by which a command finds a running server. */
export function addServerFlags(command: Command): Command {
  return command
    .option("--root-directory <path>", "the server's; its admin.kubeconfig is used", ".kcp")
    .option("--kubeconfig <path>", "another kubeconfig, of a member of system:masters")
    .option("--context <name>", "context in it (default: shard-base, else the current one)");
}

async function run(flags: StatusFlags): Promise<void> {
  const server = await connectServer(flags);
  try {
    const nowMs = systemClock.now();
    const status = await readStatus(server, nowMs);
    const findings = evaluateStatus(status, { nowMs, version: kcpVersion });
    if (flags.output === "json")
      process.stdout.write(`${JSON.stringify({ ...status, findings }, undefined, 2)}\n`);
    else process.stdout.write(`${findingLines(findings).join("\n")}\n`);
    if (hasFailed(findings)) process.exitCode = 1;
  } finally {
    await server.close();
  }
}
