/** `kcp console`: the console in a browser, with the credentials of a kubeconfig. */
import { connectDefault } from "@kcp-ts/sdk";
import type { Command } from "commander";
import { integerFlag } from "./flags.ts";
import { aborted, abortOnSignal } from "./signals.ts";

interface ConsoleFlags {
  readonly kubeconfig?: string;
  readonly context?: string;
  readonly port: number;
  readonly open: boolean;
}

export function addConsole(program: Command): void {
  program
    .command("console")
    .description("Open the console in a browser, with the credentials of the kubeconfig.")
    .option("--kubeconfig <path>", "path to the kubeconfig file to use (default: as kubectl)")
    .option("--context <name>", "the name of the kubeconfig context to use")
    .option(
      "--port <port>",
      "the port on 127.0.0.1; 0 selects a free port",
      integerFlag("--port", 0, 65535),
      0,
    )
    .option("--no-open", "print the address, and open no browser")
    .addHelpText("after", help)
    .action((flags: ConsoleFlags) => run(flags));
}

const help = `
The credentials stay in this process. Only the browser that opens the printed
address gets through: keep the address to yourself.
`;

async function run({ kubeconfig, context, port, open }: ConsoleFlags): Promise<void> {
  const { startConsoleProxy, openBrowser } = await import("../console-proxy/index.ts");
  const signal = abortOnSignal();
  const connection = await connectDefault({ context, path: kubeconfig });
  const proxy = await startConsoleProxy({ client: connection.client, port });
  try {
    process.stdout.write(`${proxy.url}\n`);
    if (open && process.stdout.isTTY === true) openBrowser(proxy.url);
    await aborted(signal);
  } finally {
    await proxy.close();
    await connection.close();
  }
}
