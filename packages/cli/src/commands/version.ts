/** `kcp version`: of this command, and of the server if one is named. */
import { kcpVersion } from "@kcp-ts/machinery/base";
import { bounds, parseBounded } from "@kcp-ts/machinery/bounds";
import { type Command, Option } from "commander";
import { connectServer, kcpVersionOf } from "../operations/index.ts";

interface VersionFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly output?: "json";
}

export function addVersion(program: Command): void {
  program
    .command("version")
    .description("Print the version of kcp, and of the server of a kubeconfig.")
    .option("--kubeconfig <path>", "of the server to ask")
    .option("--context <name>", "context in it (default: shard-base, else the current one)")
    .addOption(new Option("-o, --output <format>", "output format").choices(["json"]))
    .action((flags: VersionFlags) => run(flags));
}

async function run(flags: VersionFlags): Promise<void> {
  const client = { version: kcpVersion, node: process.versions.node };
  const server = flags.kubeconfig === undefined ? undefined : await versionOfServer(flags);
  if (flags.output === "json") {
    process.stdout.write(`${JSON.stringify({ client, ...(server && { server }) })}\n`);
    return;
  }
  process.stdout.write(`kcp: v${client.version} (Node.js ${client.node})\n`);
  if (server === undefined) return;
  const { version, gitVersion } = server;
  process.stdout.write(
    `Server: ${version === undefined ? "" : `kcp v${version}, `}${gitVersion}\n`,
  );
}

async function versionOfServer(flags: VersionFlags) {
  const server = await connectServer({ ...flags, rootDirectory: "." });
  try {
    const { text } = await server.read("/version");
    const { gitVersion } = parseBounded(bounds.refusal, text) as { readonly gitVersion: string };
    return { version: kcpVersionOf(gitVersion), gitVersion };
  } finally {
    await server.close();
  }
}
