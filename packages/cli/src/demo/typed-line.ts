/** Runs a kubectl line that a user types at the prompt of the demo, in the demo's folder. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { kcpPluginMain } from "../workspace-plugin/index.ts";

export interface TypedLineOptions {
  readonly folder: string;
  readonly kubeconfigPath: string;
  readonly say: (line: string) => void;
}

/** `kubectl kcp` is part of this program; other lines need kubectl. */
export async function runTypedLine(line: string, options: TypedLineOptions): Promise<void> {
  const { folder, kubeconfigPath: KUBECONFIG, say } = options;
  const plugin = /^kubectl[ -]kcp\s+([^|;&<>$`'"\\]*)$/.exec(line)?.[1];
  if (plugin !== undefined) {
    await runPlugin(plugin.split(/\s+/).filter(Boolean), KUBECONFIG);
    return;
  }
  if (!/^kubectl(\s|$)/.test(line)) {
    say("Only kubectl lines are run here; Enter alone goes on.");
    return;
  }
  const child = spawn("/bin/sh", ["-c", line], {
    cwd: folder,
    env: { ...process.env, KUBECONFIG },
    stdio: "inherit",
  });
  // Ctrl-C ends the command, such as kubectl get --watch, and not the demo.
  const ignore = () => {};
  process.on("SIGINT", ignore);
  const [code] = (await once(child, "close")) as [number | null];
  process.off("SIGINT", ignore);
  if (code === 127) say("kubectl is not installed here; kubectl kcp … works without it.");
}

/** The plug-in prints to this terminal; an error of it is not an error of the demo. */
export async function runPlugin(args: readonly string[], kubeconfig: string): Promise<void> {
  const { exitCode } = process;
  await kcpPluginMain(["node", "kubectl-kcp", ...args, "--kubeconfig", kubeconfig]);
  process.exitCode = exitCode;
}
