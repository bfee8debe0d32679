/**
 * A real kube-apiserver for one test, on an etcd of its own. Only it: no controller manager, so
 * nothing happens that no request asked for.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { createTestAuthority, findKubeApiserver, freePorts, startEtcd } from "@kcp-ts/testkit";
import { Sender, type Target } from "./send.ts";

export interface KubeApiserver extends Target {
  stop(): Promise<void>;
}

export function kubeApiserverMissing(): string | undefined {
  return findKubeApiserver() === undefined
    ? "needs kube-apiserver: set KUBEBUILDER_ASSETS to a directory with kube-apiserver and etcd"
    : undefined;
}

export async function startKubeApiserver(): Promise<KubeApiserver> {
  const binary = findKubeApiserver();
  if (binary === undefined) throw new Error(kubeApiserverMissing());
  const folder = await mkdtemp(join(tmpdir(), "kube-apiserver-"));
  const etcd = await startEtcd();
  const [port = 0] = await freePorts(1);
  const authority = createTestAuthority(folder);
  const child = spawn(binary, await flags(folder, port, etcd.endpoints[0] as string), {
    stdio: ["ignore", "ignore", "pipe"],
  });
  const onExit = () => child.kill("SIGKILL");
  process.once("exit", onExit);
  const stop = async () => {
    await end(child);
    process.removeListener("exit", onExit);
    await etcd.dispose();
    await rm(folder, { recursive: true, force: true });
  };
  const target = { url: `https://127.0.0.1:${port}`, caPem: authority.ca, token };
  try {
    await untilReady(child, target);
  } catch (error) {
    await stop();
    throw error;
  }
  return { ...target, stop };

  async function flags(folder: string, port: number, etcdUrl: string): Promise<string[]> {
    const serving = authority.issue("serving", ["IP:127.0.0.1", "DNS:localhost"]);
    const accounts = authority.issue("accounts");
    const tokens = join(folder, "tokens.csv");
    await writeFile(tokens, `${token},admin,admin,system:masters\n`, { mode: 0o600 });
    return [
      ...["--etcd-servers", etcdUrl, "--cert-dir", folder],
      ...["--bind-address", "127.0.0.1", "--secure-port", String(port)],
      ...["--tls-cert-file", serving.certFile, "--tls-private-key-file", serving.keyFile],
      ...["--service-account-issuer", "https://kubernetes.default.svc"],
      ...["--service-account-key-file", accounts.certFile],
      ...["--service-account-signing-key-file", accounts.keyFile],
      ...["--service-cluster-ip-range", "10.0.0.0/24", "--token-auth-file", tokens],
      ...["--authorization-mode", "RBAC", "--disable-admission-plugins", unusedPlugins],
      "--allow-privileged=true",
    ];
  }
}

/** They add what only the controllers of a cluster take away again. */
const unusedPlugins = "ServiceAccount,StorageObjectInUseProtection";

/** Of an administrator of a server that lives as long as a test. */
const token = "side-by-side";

async function untilReady(child: ChildProcess, target: Target): Promise<void> {
  let log = "";
  child.stderr?.on("data", (bytes: Buffer) => {
    log = (log + bytes.toString()).slice(-logCharactersMax);
  });
  const sender = new Sender(target);
  try {
    for (let waitedMs = 0; !(await isReady(sender)); waitedMs += pollMs) {
      if (child.exitCode !== null) throw new Error(`kube-apiserver ended: ${log}`);
      if (waitedMs > readyWithinMs) throw new Error(`kube-apiserver is not ready: ${log}`);
      await sleep(systemClock, pollMs);
    }
  } finally {
    sender.close();
  }
}

async function isReady(sender: Sender): Promise<boolean> {
  try {
    const path = "/readyz";
    return (await sender.send({ name: path, method: "GET", path }, new Map())).status === 200;
  } catch {
    return false;
  }
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, "close");
  child.kill("SIGKILL");
  await closed;
}

const logCharactersMax = 8000;
const pollMs = 200;
const readyWithinMs = 120_000;
