/**
 * `kcp test-server -- <command>`: an API server in memory for as long as a command runs, for tests
 * in any language.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { constants, tmpdir } from "node:os";
import { join } from "node:path";
import type { TestControlPlane } from "@kcp-ts/testing";
import type { Command } from "commander";
import { integerFlag } from "./flags.ts";
import { aborted, abortOnSignal } from "./signals.ts";

interface TestServerFlags {
  readonly port: number;
  readonly bindAddress: string;
  readonly cluster: string;
  readonly crds?: readonly string[];
  readonly kubeconfig?: string;
}

export function addTestServer(program: Command): void {
  program
    .command("test-server")
    .description("Run a command with an API server of its own, in memory, gone when it ends.")
    .argument("[command...]", "what to run, behind --; without one the server runs until a signal")
    .option("--crds <paths...>", "files or folders with CustomResourceDefinitions to install")
    .option("--cluster <name>", "logical cluster that the kubeconfig leads to", "root")
    .option("--bind-address <address>", "the IP address on which to listen", "127.0.0.1")
    .option(
      "--port <port>",
      "the port on which to serve HTTPS; 0 selects a free port",
      integerFlag("--port", 0, 65535),
      0,
    )
    .option("--kubeconfig <path>", "also write the kubeconfig here")
    .addHelpText("after", help)
    .action((command: readonly string[], flags: TestServerFlags) => run(command, flags));
}

const help = `
The command gets KUBECONFIG, and USE_EXISTING_CLUSTER=true, by which envtest (controller-runtime) takes that
cluster instead of starting one of its own. KCP_TEST_SERVER_URL is the address without a path.
The exit code is the command's.

Examples:
  kcp test-server -- npm test
  kcp test-server --crds config/crd/bases -- go test ./...
`;

async function run(command: readonly string[], flags: TestServerFlags): Promise<void> {
  // Loaded lazily: only this command needs this module.
  const { startTestControlPlane } = await import("@kcp-ts/testing");
  const folder = await mkdtemp(join(tmpdir(), "kcp-test-server-"));
  const k = await startTestControlPlane();
  try {
    if (flags.crds !== undefined) await k.installCrds(flags.crds, flags.cluster);
    const paths = await writeKubeconfigs(k, folder, flags);
    process.exitCode = await runCommand(command, environment(await k.listen(), paths[0] as string));
  } finally {
    await k.close();
    await rm(folder, { recursive: true, force: true });
  }
}

async function writeKubeconfigs(
  k: TestControlPlane,
  folder: string,
  { port, bindAddress, cluster, kubeconfig }: TestServerFlags,
): Promise<readonly string[]> {
  await k.listen({ port, host: bindAddress });
  const text = await k.kubeconfig({ cluster });
  const paths = [join(folder, "kubeconfig"), ...(kubeconfig === undefined ? [] : [kubeconfig])];
  for (const path of paths) await writeFile(path, text, { mode: 0o600 });
  return paths;
}

function environment({ url }: { readonly url: string }, kubeconfig: string): NodeJS.ProcessEnv {
  return {
    ...process.env,
    KUBECONFIG: kubeconfig,
    USE_EXISTING_CLUSTER: "true",
    KCP_TEST_SERVER_URL: url,
  };
}

async function runCommand(command: readonly string[], env: NodeJS.ProcessEnv): Promise<number> {
  const [program, ...args] = command;
  if (program === undefined) {
    const signal = abortOnSignal();
    process.stdout.write(`export KUBECONFIG=${env["KUBECONFIG"]}\n`);
    await aborted(signal);
    return 0;
  }
  const child = spawn(program, args, { stdio: "inherit", env });
  const stopForwarding = forwardSignals(child);
  try {
    return await exitCodeOf(child, program);
  } finally {
    stopForwarding();
  }
}

const forwarded = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** The child command handles the signal; this process ends with the child. */
function forwardSignals(child: ChildProcess): () => void {
  const listeners = forwarded.map((signal) => [signal, () => void child.kill(signal)] as const);
  for (const [signal, listener] of listeners) process.on(signal, listener);
  return () => {
    for (const [signal, listener] of listeners) process.off(signal, listener);
  };
}

function exitCodeOf(child: ChildProcess, program: string): Promise<number> {
  return new Promise((resolve, reject) => {
    child.once("error", (error) =>
      reject(new Error(`cannot run ${program}: ${error.message}`, { cause: error })),
    );
    child.once("exit", (code, signal) =>
      // As in shells: 128 plus the signal's number.
      resolve(code ?? 128 + (signal === null ? 0 : constants.signals[signal])),
    );
  });
}
