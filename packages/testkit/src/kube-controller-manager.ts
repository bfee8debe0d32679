/**
 * A real kube-controller-manager for tests, beside a `KubeApiserver`, from the same folder:
 * Deployments get ReplicaSets, and those get Pods, which it does not run.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { isExecutable } from "./executables.ts";
import { findKubeApiserver, type KubeApiserver, kubeApiserverMissing } from "./kube-apiserver.ts";

export interface KubeControllerManager {
  dispose(): Promise<void>;
}

function findControllerManager(): string | undefined {
  const server = findKubeApiserver();
  if (server === undefined) return undefined;
  const path = join(dirname(server), "kube-controller-manager");
  return isExecutable(path) ? path : undefined;
}

/** What a test says when it cannot run, or undefined when both are there. */
export function kubeControllerManagerMissing(): string | undefined {
  const missing = kubeApiserverMissing();
  if (missing !== undefined) return missing;
  return findControllerManager() === undefined
    ? "needs kube-controller-manager: put it into the folder that KUBEBUILDER_ASSETS names"
    : undefined;
}

/** Of the server, for one who may do everything. JSON is YAML. */
export function kubeconfigOf({ url, ca, token }: Pick<KubeApiserver, "url" | "ca" | "token">) {
  const authority = Buffer.from(ca, "utf8").toString("base64");
  return `${JSON.stringify({
    apiVersion: "v1",
    kind: "Config",
    "current-context": "real",
    clusters: [{ name: "real", cluster: { server: url, "certificate-authority-data": authority } }],
    contexts: [{ name: "real", context: { cluster: "real", user: "admin" } }],
    users: [{ name: "admin", user: { token } }],
  })}\n`;
}

/** All controllers but the one that waits for storage drivers to attach volumes: there are none. */
export const allControllers = "*,-persistentvolume-attach-detach-controller";

export interface KubeControllerManagerOptions {
  /** As its flag wants them; those of Deployments and namespaces if left out. */
  readonly controllers?: string;
}

export async function startKubeControllerManager(
  server: KubeApiserver,
  options: KubeControllerManagerOptions = {},
): Promise<KubeControllerManager> {
  const binary = findControllerManager();
  if (binary === undefined) throw new Error(kubeControllerManagerMissing());
  const folder = await mkdtemp(join(tmpdir(), "kube-controller-manager-"));
  const kubeconfig = join(folder, "kubeconfig");
  await writeFile(kubeconfig, kubeconfigOf(server), { mode: 0o600 });
  const flags = {
    kubeconfig,
    "leader-elect": "false",
    // It is asked nothing: it need not listen.
    "secure-port": "0",
    controllers:
      options.controllers ?? "deployment-controller,replicaset-controller,namespace-controller",
    "min-resync-period": "1h",
    "service-account-private-key-file": server.files.accountsKey,
    "root-ca-file": server.files.ca,
    // High rates, so that controllers are not throttled by their client.
    "kube-api-qps": "500",
    "kube-api-burst": "1000",
  };
  const args = Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`);
  const child = spawn(binary, args, { stdio: "ignore", cwd: folder });
  const onExit = () => child.kill("SIGKILL");
  process.once("exit", onExit);
  return {
    async dispose() {
      if (child.exitCode === null && child.signalCode === null) {
        const closed = once(child, "close");
        child.kill("SIGKILL");
        await closed;
      }
      process.removeListener("exit", onExit);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
