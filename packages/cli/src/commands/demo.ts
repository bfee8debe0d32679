/**
 * `kcp demo`: a control plane and two simulated clusters in this terminal, with a Deployment that
 * runs in both clusters.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { systemClock } from "@kcp-ts/machinery/base";
import type { Command } from "commander";
import colors from "picocolors";
import type { ConsoleProxy } from "../console-proxy/index.ts";
import type { DemoEnvironment as OpenStage } from "../demo/index.ts";
import { aborted } from "./signals.ts";

interface DemoFlags {
  readonly auto?: boolean;
  readonly keep?: boolean;
  readonly console?: boolean;
}

export function addDemo(program: Command): void {
  program
    .command("demo")
    .description("Demonstrate a Deployment in two simulated clusters, with failover.")
    .option(
      "--auto",
      "play it through without asking; exit code 1 if something does not come about",
    )
    .option("--console", "print an address of the console, which shows what the steps do")
    .option("--keep", "leave it running at the end, until Ctrl-C")
    .addHelpText("after", help)
    .action((flags: DemoFlags) => demo(flags));
}

const help = `
Nothing needs to be installed, and nothing stays: clusters are simulated,
everything is in a temporary folder and on free ports. kubectl lines that you
type at a prompt are run; kubectl kcp is part of this program.
`;

async function demo({ auto = process.stdin.isTTY !== true, keep = false, ...flags }: DemoFlags) {
  // Loaded lazily: only this command needs these modules.
  const { runDemo, offerNext, prepareDemo, DemoEnvironment, DemoStepFailed, demoSteps } =
    await import("../demo/index.ts");
  const stopping = new AbortController();
  const onSignal = () => stopping.abort(new Error("stopped"));
  for (const signal of signals) process.on(signal, onSignal);
  const output = process.stdout;
  const folder = await mkdtemp(join(tmpdir(), "kcp-demo-"));
  const startedAtMs = systemClock.monotonic();
  let environment: OpenStage | undefined;
  let page: ConsoleProxy | undefined;
  try {
    environment = await DemoEnvironment.open(folder);
    await prepareDemo(environment);
    const { url, kubeconfigPath } = environment.controlPlane;
    output.write(greeting(url, folder, kubeconfigPath));
    if (flags.console === true) page = await openConsole(environment);
    const { signal } = stopping;
    const options = {
      steps: demoSteps,
      environment,
      auto,
      output,
      clock: systemClock,
      signal,
      onInterrupt: onSignal,
    };
    await runDemo(options);
    const seconds = ((systemClock.monotonic() - startedAtMs) / 1000).toFixed(0);
    output.write(`\n${colors.bold("That was it")}, in ${seconds} seconds.\n`);
    await offerNext(options);
    if (keep) await untilStopped(environment.controlPlane.kubeconfigPath, stopping.signal);
  } catch (error) {
    if (stopping.signal.aborted) process.exitCode = 130;
    else {
      if (error instanceof DemoStepFailed) {
        process.stderr.write((environment?.errors ?? []).slice(-20).join(""));
      }
      throw error;
    }
  } finally {
    await page?.close();
    await environment?.close();
    await rm(folder, { recursive: true, force: true });
    for (const signal of signals) process.off(signal, onSignal);
  }
}

const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

function greeting(url: string, folder: string, kubeconfigPath: string): string {
  const line = (text: string) => `     ${colors.dim("$")} ${colors.cyan(text)}`;
  return [
    "",
    `${colors.bold("kcp")} serves at ${colors.cyan(url)}`,
    "Two simulated clusters wait beside it. Type kubectl lines at the prompts, or",
    "in another terminal after these two:",
    "",
    line(`cd ${folder}`),
    line(`export KUBECONFIG=${kubeconfigPath}`),
    "",
  ].join("\n");
}

async function openConsole({ controlPlane }: OpenStage): Promise<ConsoleProxy> {
  const { startConsoleProxy, openBrowser } = await import("../console-proxy/index.ts");
  const page = await startConsoleProxy({ client: controlPlane.client, port: 0 });
  process.stdout.write(`The console shows the same:\n\n     ${colors.cyan(page.url)}\n`);
  if (process.stdout.isTTY === true) openBrowser(page.url);
  return page;
}

async function untilStopped(kubeconfigPath: string, signal: AbortSignal): Promise<void> {
  process.stdout.write(
    `\nIt goes on until Ctrl-C:\n\n     export KUBECONFIG=${kubeconfigPath}\n     kubectl get deployments,synctargets\n\n`,
  );
  await aborted(signal);
}
