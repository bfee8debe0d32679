/** One etcd process that a test can kill, stop for a while and start again on the same data. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { sleep, systemClock } from "@kcp-ts/machinery/base";

export interface EtcdMemberOptions {
  readonly binary: string;
  readonly args: readonly string[];
  readonly endpoint: string;
  readonly metricsUrl: string;
}

export class EtcdMember {
  readonly endpoint: string;
  readonly #options: EtcdMemberOptions;
  #process: ChildProcess | undefined;
  #log = "";

  constructor(options: EtcdMemberOptions) {
    this.#options = options;
    this.endpoint = options.endpoint;
  }

  get running(): boolean {
    return this.#process !== undefined;
  }

  start(): void {
    if (this.#process !== undefined) throw new Error(`${this.endpoint} runs already`);
    const [command, ...args] = [...killWithParent(), this.#options.binary, ...this.#options.args];
    const child = spawn(command as string, args, { stdio: ["ignore", "ignore", "pipe"] });
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

  /** Resolves once the member takes part in a cluster with a leader. */
  async ready(): Promise<void> {
    for (let waitedMs = 0; !(await this.#healthy()); waitedMs += pollMs) {
      if (this.#process === undefined) throw new Error(`etcd ended: ${this.#log}`);
      if (waitedMs > readyWithinMs) throw new Error(`${this.endpoint} is not ready: ${this.#log}`);
      await sleep(systemClock, pollMs);
    }
  }

  /** Kills the process. */
  async kill(): Promise<void> {
    const child = this.#process;
    if (child === undefined) return;
    const closed = once(child, "close");
    child.kill("SIGKILL");
    await closed;
  }

  /** Starts a killed member on its old data; does not wait for it to be ready. */
  restart(): void {
    this.start();
  }

  /** Suspends the process: its sockets stay open and no request gets a response. */
  async pause(): Promise<void> {
    const child = this.#process;
    if (child === undefined) return;
    child.kill("SIGSTOP");
    // The signal takes a moment. Only Linux tells when it has arrived.
    while (process.platform === "linux" && child === this.#process && !(await isStopped(child))) {
      await sleep(systemClock, 1);
    }
  }

  resume(): void {
    this.#process?.kill("SIGCONT");
  }

  /** A moment to let things happen, for polling. */
  pauseBriefly(): Promise<void> {
    return sleep(systemClock, pollMs);
  }

  async #healthy(): Promise<boolean> {
    try {
      const response = await fetch(`${this.#options.metricsUrl}/health`, {
        signal: AbortSignal.timeout(1000),
      });
      return response.ok && (await response.text()).includes('"true"');
    } catch {
      return false;
    }
  }
}

/**
 * On Linux the kernel ends a server whose test was killed, too; setpriv then becomes etcd, so
 * signals reach it.
 */
function killWithParent(): string[] {
  const setpriv = "/usr/bin/setpriv";
  return process.platform === "linux" && existsSync(setpriv)
    ? [setpriv, "--pdeathsig", "KILL"]
    : [];
}

/** See proc(5): the state comes after the name, which is in parentheses. */
async function isStopped(child: ChildProcess): Promise<boolean> {
  const stat = await readFile(`/proc/${child.pid}/stat`, "utf8");
  return stat.slice(stat.lastIndexOf(")") + 2).startsWith("T");
}

const logCharactersMax = 4000;
const pollMs = 50;
const readyWithinMs = 30_000;
