/** Commands that print an address of the console, as users run them. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const kcp = fileURLToPath(new URL("../../../../packages/cli/bin/kcp.mjs", import.meta.url));

interface ConsoleCommand {
  readonly url: string;
  stop(): Promise<void>;
}

export function startConsoleCommand(kubeconfig: string, context: string): Promise<ConsoleCommand> {
  return startCommand("console", "--no-open", "--kubeconfig", kubeconfig, "--context", context);
}

export async function startCommand(...args: readonly string[]): Promise<ConsoleCommand> {
  const env = { ...process.env, NO_COLOR: "1" };
  const child = spawn(kcp, args, { stdio: ["ignore", "pipe", "inherit"], env });
  const stop = async () => {
    if (child.exitCode === null && child.kill("SIGTERM")) await once(child, "close");
  };
  let printed = "";
  // The command goes on to print.
  child.stdout.on("data", (bytes: Buffer) => {
    printed += bytes.toString();
  });
  const address = /http:\/\/\S+(?=\n)/;
  while (!address.test(printed)) {
    const found = await Promise.race([once(child.stdout, "data"), once(child, "close")]);
    if (child.exitCode !== null) throw new Error(`it ended: ${found} ${printed}`);
  }
  return { url: address.exec(printed)?.[0] ?? "", stop };
}
