/**
 * A real kube-apiserver for tests, on an etcd of its own, from the folder that `KUBEBUILDER_ASSETS`
 * names (the convention of envtest). Only it: no controller manager, so nothing happens that no
 * request asked for.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { type EtcdCluster, startEtcd } from "./etcd-cluster.ts";
import { isExecutable } from "./executables.ts";
import { freePorts } from "./free-port.ts";
import { createTestAuthority } from "./test-certificates.ts";

export interface KubeApiserver {
  readonly url: string;
  readonly port: number;
  /** What clients must trust; the certificate is for 127.0.0.1 and localhost. */
  readonly ca: string;
  /** Of a member of system:masters. */
  readonly token: string;
  readonly etcd: EtcdCluster;
  /**
   * What a controller manager needs: what clients must trust, and the key that signs the tokens of
   * ServiceAccounts.
   */
  readonly files: { readonly ca: string; readonly accountsKey: string };
  /** Kills it and starts it again on the same port and data. */
  restart(): Promise<void>;
  dispose(): Promise<void>;
}

/** The path of an executable kube-apiserver, or undefined when there is none. */
export function findKubeApiserver(): string | undefined {
  const folder = process.env["KUBEBUILDER_ASSETS"];
  if (folder === undefined || folder === "") return undefined;
  const path = join(folder, "kube-apiserver");
  return isExecutable(path) ? path : undefined;
}

/** What a test says when it cannot run, or undefined when kube-apiserver is there. */
export function kubeApiserverMissing(): string | undefined {
  return findKubeApiserver() === undefined
    ? "needs kube-apiserver: set KUBEBUILDER_ASSETS to a folder that holds kube-apiserver and etcd"
    : undefined;
}

export interface KubeApiserverOptions {
  /**
   * As in clusters: Pods need the ServiceAccount of their namespace, which a controller has to
   * create. Off if omitted.
   */
  readonly admitsByAccount?: boolean;
}

export async function startKubeApiserver(
  options: KubeApiserverOptions = {},
): Promise<KubeApiserver> {
  const binary = findKubeApiserver();
  if (binary === undefined) throw new Error(kubeApiserverMissing());
  const folder = await mkdtemp(join(tmpdir(), "kube-apiserver-"));
  const etcd = await startEtcd();
  const [port = 0] = await freePorts(1);
  const { ca, flags, files } = await prepare(folder, port, options);
  const program = new Program(binary, [...flags, "--etcd-servers", etcd.endpoints.join(",")]);
  const isReady = () => answersReadyz(port, ca);
  const dispose = async () => {
    await program.kill();
    await etcd.dispose();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    program.start();
    await program.until(isReady);
  } catch (error) {
    await dispose();
    throw error;
  }
  const restart = async () => {
    await program.kill();
    program.start();
    await program.until(isReady);
  };
  return { url: `https://127.0.0.1:${port}`, port, ca, token, etcd, files, restart, dispose };
}

/** Of a server that lives as long as a test. */
const token = "test-administrator";

async function prepare(
  folder: string,
  port: number,
  { admitsByAccount = false }: KubeApiserverOptions,
): Promise<Pick<KubeApiserver, "ca" | "files"> & { readonly flags: string[] }> {
  const authority = createTestAuthority(folder);
  const serving = authority.issue("serving", ["IP:127.0.0.1", "DNS:localhost"]);
  const accounts = authority.issue("accounts");
  const tokens = join(folder, "tokens.csv");
  await writeFile(tokens, `${token},admin,admin,system:masters\n`, { mode: 0o600 });
  const flags = {
    "cert-dir": folder,
    "bind-address": "127.0.0.1",
    "secure-port": String(port),
    "tls-cert-file": serving.certFile,
    "tls-private-key-file": serving.keyFile,
    "service-account-issuer": "https://kubernetes.default.svc",
    "service-account-key-file": accounts.certFile,
    "service-account-signing-key-file": accounts.keyFile,
    "service-cluster-ip-range": "10.0.0.0/24",
    "token-auth-file": tokens,
    "authorization-mode": "RBAC",
    // Kubelets of tests are on this machine, and have no other address.
    "kubelet-preferred-address-types": "InternalIP",
    ...(admitsByAccount ? {} : { "disable-admission-plugins": "ServiceAccount" }),
  };
  return {
    ca: authority.ca,
    files: { ca: authority.caFile, accountsKey: accounts.keyFile },
    flags: Object.entries(flags).map(([flag, value]) => `--${flag}=${value}`),
  };
}

class Program {
  readonly #binary: string;
  readonly #args: readonly string[];
  #process: ChildProcess | undefined;
  #log = "";

  constructor(binary: string, args: readonly string[]) {
    this.#binary = binary;
    this.#args = args;
  }

  start(): void {
    const child = spawn(this.#binary, this.#args, { stdio: ["ignore", "ignore", "pipe"] });
    this.#process = child;
    child.stderr?.on("data", (bytes: Buffer) => {
      this.#log = (this.#log + bytes.toString()).slice(-logCharactersMax);
    });
    // No test run may leave a server behind.
    const onExit = () => child.kill("SIGKILL");
    process.once("exit", onExit);
    child.once("close", () => {
      process.removeListener("exit", onExit);
      if (this.#process === child) this.#process = undefined;
    });
  }

  async until(isReady: () => Promise<boolean>): Promise<void> {
    for (let waitedMs = 0; !(await isReady()); waitedMs += pollMs) {
      if (this.#process === undefined) throw new Error(`kube-apiserver ended: ${this.#log}`);
      if (waitedMs > readyWithinMs) throw new Error(`kube-apiserver is not ready: ${this.#log}`);
      await sleep(systemClock, pollMs);
    }
  }

  async kill(): Promise<void> {
    const child = this.#process;
    if (child === undefined) return;
    const closed = once(child, "close");
    child.kill("SIGKILL");
    await closed;
  }
}

function answersReadyz(port: number, ca: string): Promise<boolean> {
  const headers = { authorization: `Bearer ${token}` };
  const options = { host: "127.0.0.1", port, path: "/readyz", ca, headers, agent: false };
  return new Promise((resolve) => {
    const sent = request(options, (response) => {
      response.resume();
      resolve(response.statusCode === 200);
    });
    // It does not listen yet.
    sent.on("error", () => resolve(false));
    sent.end();
  });
}

const logCharactersMax = 8000;
const pollMs = 200;
const readyWithinMs = 120_000;
