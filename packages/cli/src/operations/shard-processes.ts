/**
 * The other shards of `kcp start --shards N`: a process each, with its own data, started again when
 * it dies and stopped with this one.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { shareCredentials } from "@kcp-ts/controlplane";
import { type Clock, sleep } from "@kcp-ts/machinery/base";

export interface ShardProcessesOptions {
  /** How many, root included. */
  readonly count: number;
  readonly rootDirectory: string;
  readonly kubeconfigPath: string;
  /** The URL of root, which clients of every shard use. */
  readonly url: string;
  /** The arguments of this process after `start`. */
  readonly flags: readonly string[];
  readonly clock: Clock;
  readonly log: {
    info(fields: object, message: string): void;
    warn(fields: object, message: string): void;
  };
}

const restartMs = 200;
const restartMsMax = 5000;
/** A process that has run for this time begins again with the shortest pause. */
const steadyMs = 30_000;

/** Resolves when all of them serve. */
export async function startShardProcesses(
  options: ShardProcessesOptions,
): Promise<{ stop(): Promise<void> }> {
  const names = Array.from({ length: options.count - 1 }, (_, at) => `shard-${at + 1}`);
  const shards = names.map((name) => new ShardProcess(name, options));
  const stop = async () => void (await Promise.all(shards.map((shard) => shard.stop())));
  try {
    await Promise.all(shards.map((shard) => shard.start()));
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop };
}

class ShardProcess {
  readonly #name: string;
  readonly #directory: string;
  readonly #options: ShardProcessesOptions;
  readonly #stopping = new AbortController();
  #child: ChildProcess | undefined;
  #ended: Promise<void> = Promise.resolve();

  constructor(name: string, options: ShardProcessesOptions) {
    this.#name = name;
    this.#options = options;
    this.#directory = join(options.rootDirectory, "shards", name);
  }

  /** Resolves when it serves; rejects when its first process ends before that. */
  async start(): Promise<void> {
    const { rootDirectory, kubeconfigPath } = this.#options;
    await shareCredentials({ directory: rootDirectory, kubeconfigPath }, this.#directory);
    const child = this.#spawn();
    await isReady(child, this.#name);
    this.#ended = this.#supervise(child);
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    this.#child?.kill("SIGTERM");
    await this.#ended;
  }

  async #supervise(first: ChildProcess): Promise<void> {
    const { clock, log } = this.#options;
    const { signal } = this.#stopping;
    let child = first;
    let pauseMs = restartMs;
    for (let startedAt = clock.monotonic(); ; startedAt = clock.monotonic()) {
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
      if (signal.aborted) return;
      const how = { shard: this.#name, code: child.exitCode, signal: child.signalCode };
      log.warn(how, "a shard has ended, and is started again");
      pauseMs =
        clock.monotonic() - startedAt > steadyMs ? restartMs : Math.min(restartMsMax, pauseMs * 2);
      await sleep(clock, pauseMs, signal).catch(() => undefined);
      if (signal.aborted) return;
      child = this.#spawn();
    }
  }

  #spawn(): ChildProcess {
    const { url, kubeconfigPath, flags, log } = this.#options;
    const own = {
      "--shard-name": this.#name,
      "--root-directory": this.#directory,
      "--root-shard-kubeconfig-file": kubeconfigPath,
      "--shard-external-url": url,
      "--bind-address": "127.0.0.1",
      "--secure-port": "0",
    };
    const [program = ""] = process.argv.slice(1);
    const all = [...withoutOwn(flags), ...Object.entries(own).flat()];
    // A process group of its own: the signal of a terminal goes to this process, which stops it.
    const child = spawn(process.execPath, [...process.execArgv, program, "start", ...all], {
      stdio: ["ignore", "ignore", "inherit", "ipc"],
      detached: true,
    });
    this.#child = child;
    log.info({ shard: this.#name, pid: child.pid }, "a shard is starting");
    return child;
  }
}

async function isReady(child: ChildProcess, name: string): Promise<void> {
  const leaving = new AbortController();
  const ended = once(child, "exit", leaving).then(([code]) => {
    throw new Error(`the shard ${name} ended with ${code} before it was ready; its log says why`);
  });
  try {
    await Promise.race([once(child, "message", leaving), ended]);
  } finally {
    leaving.abort();
    ended.catch(() => undefined);
  }
}

/** Flags of root alone, each with a value. */
const rootOnly = new Set([
  "--shards",
  "--root-directory",
  "--kubeconfig-path",
  "--bind-address",
  "--secure-port",
  "--external-hostname",
  "--shard-external-url",
  "--peer-url",
]);

function withoutOwn(flags: readonly string[]): string[] {
  const kept: string[] = [];
  for (let at = 0; at < flags.length; at++) {
    const flag = flags[at] as string;
    if (rootOnly.has(flag)) at++;
    else if (!rootOnly.has(flag.slice(0, Math.max(0, flag.indexOf("="))))) kept.push(flag);
  }
  return kept;
}
