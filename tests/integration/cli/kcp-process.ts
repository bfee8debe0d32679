/** For tests: the command kcp as users run it, a process of its own from the bundle. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { systemClock } from "@kcp-ts/machinery/base";

const program = fileURLToPath(new URL("../../../../packages/cli/bin/kcp.mjs", import.meta.url));

export interface CommandResult {
  /** Undefined when a signal ended it. */
  readonly code: number | undefined;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs to its end; one that does not end within the limit is killed and has no code. */
export async function runKcp(...args: readonly string[]): Promise<CommandResult> {
  return collect(spawnKcp(args));
}

export async function collect(child: ChildProcess, withinMs = runWithinMs): Promise<CommandResult> {
  const output = { stdout: "", stderr: "" };
  child.stdout?.on("data", (bytes: Buffer) => {
    output.stdout += bytes.toString();
  });
  child.stderr?.on("data", (bytes: Buffer) => {
    output.stderr += bytes.toString();
  });
  const timer = systemClock.schedule(withinMs, () => child.kill("SIGKILL"));
  const [code] = (await once(child, "close")) as [number | null];
  timer.cancel();
  return { code: code ?? undefined, ...output };
}

/** For what hangs. */
const runWithinMs = 180_000;

export interface KcpProcess {
  readonly url: string;
  readonly kubeconfig: string;
  /** From the start of the process to its word that it is ready. */
  readonly readyAfterMs: number;
  /** SIGTERM, then the exit code. */
  stop(): Promise<number | null>;
  /** SIGKILL: no goodbye. */
  kill(): Promise<void>;
  signal(signal: NodeJS.Signals): void;
  /** Null while it runs. */
  exitCode(): number | null;
  /** The exit code when it has ended. */
  exited(): Promise<number | null>;
  /** What it has logged with this message. */
  logged(message: string): readonly LogLine[];
  /** Resolves when it has logged this. */
  output(message: string): Promise<void>;
}

export interface LogLine {
  readonly msg: string;
  readonly [field: string]: unknown;
}

export async function startKcp(
  rootDirectory: string,
  ...args: readonly string[]
): Promise<KcpProcess> {
  return spawnServer("start", rootDirectory, ...args).ready;
}

/** `verb` is of a server: start, or standby, which is ready when it has taken over. */
export function spawnServer(verb: string, rootDirectory: string, ...args: readonly string[]) {
  const startedAt = systemClock.monotonic();
  const child = spawnKcp([
    verb,
    ...["--root-directory", rootDirectory],
    ...["--bind-address", "127.0.0.1"],
    ...(args.includes("--secure-port") ? [] : ["--secure-port", "0"]),
    ...args,
  ]);
  let log = "";
  child.stderr?.on("data", (bytes: Buffer) => {
    log = (log + bytes.toString()).slice(-logCharactersMax);
  });
  const closed = new Promise<void>((resolve) => child.once("close", () => resolve()));
  const output = (message: string) => untilOutput(child, message);
  const ready = untilReady(child).then(
    ({ url, kubeconfig }): KcpProcess => ({
      logged: (message) => linesOf(log).filter(({ msg }) => msg === message),
      url,
      kubeconfig,
      readyAfterMs: systemClock.monotonic() - startedAt,
      stop: async () => {
        await end(child, "SIGTERM");
        return child.exitCode;
      },
      kill: () => end(child, "SIGKILL"),
      signal: (signal) => child.kill(signal),
      exitCode: () => child.exitCode,
      exited: () => closed.then(() => child.exitCode),
      output,
    }),
  );
  return { ready, output };
}

/** The complete lines of a log in JSON. */
function linesOf(log: string): readonly LogLine[] {
  return log
    .split("\n")
    .slice(0, -1)
    .filter((line) => line.startsWith("{"))
    .map((line) => JSON.parse(line) as LogLine);
}

function untilOutput(child: ChildProcess, message: string): Promise<void> {
  return new Promise((resolve, reject) => {
    let log = "";
    child.stderr?.on("data", (bytes: Buffer) => {
      log = (log + bytes.toString()).slice(-logCharactersMax);
      if (log.includes(`"msg":${JSON.stringify(message)}`)) resolve();
    });
    child.once("close", () => reject(new Error(`kcp ended and had not said "${message}": ${log}`)));
  });
}

export async function end(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const closed = once(child, "close");
  child.kill(signal);
  await closed;
}

function untilReady(child: ChildProcess): Promise<{ url: string; kubeconfig: string }> {
  return new Promise((resolve, reject) => {
    let log = "";
    const timer = systemClock.schedule(runWithinMs, () => {
      child.kill("SIGKILL");
      reject(new Error(`kcp was not ready after ${runWithinMs} ms: ${log}`));
    });
    child.stderr?.on("data", (bytes: Buffer) => {
      log = (log + bytes.toString()).slice(-logCharactersMax);
      const line = log.split("\n").find((one) => one.includes('"msg":"kcp is ready"'));
      if (line === undefined) return;
      timer.cancel();
      resolve(JSON.parse(line) as { url: string; kubeconfig: string });
    });
    child.once("close", (code) => {
      timer.cancel();
      reject(new Error(`kcp ended with ${code}: ${log}`));
    });
  });
}

const logCharactersMax = 100_000;

function spawnKcp(args: readonly string[]): ChildProcess {
  return spawned(program, args);
}

/** What the agent's image runs. */
const agentBundle = fileURLToPath(
  new URL("../../../../packages/cli/dist/bundle/kcp-syncer.mjs", import.meta.url),
);

export function spawnAgent(args: readonly string[]): ChildProcess {
  return spawned(process.execPath, [agentBundle, ...args]);
}

function spawned(command: string, args: readonly string[]): ChildProcess {
  const child = spawn(command, args, { stdio: ["ignore", "pipe", "pipe"] });
  // No test run may leave a server behind, even one that crashes.
  const onExit = () => child.kill("SIGKILL");
  process.once("exit", onExit);
  child.once("close", () => process.removeListener("exit", onExit));
  return child;
}

export interface TestHooks {
  after(cleanup: () => Promise<unknown>): void;
}

export async function temporaryFolder(hooks: TestHooks): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "kcp-e2e-"));
  hooks.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
