/** `kcp console`, as users run it: its address is all that it prints. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";

const kcp = fileURLToPath(new URL("../../../../packages/cli/bin/kcp.mjs", import.meta.url));

export async function startConsoleCommand(kubeconfig: string, context: string) {
  const args = ["console", "--no-open", "--kubeconfig", kubeconfig, "--context", context];
  const child = spawn(kcp, args, { stdio: ["ignore", "pipe", "inherit"] });
  const [line] = (await once(child.stdout, "data")) as [Buffer];
  const stop = async () => {
    child.kill("SIGTERM");
    await once(child, "close");
  };
  return { url: line.toString().trim(), stop };
}
