/** Processes beside ours: everything that is measured, or that measures, runs in one of its own. */
import { type ChildProcess, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { cpus } from "node:os";
import { createInterface, type Interface } from "node:readline";
import { fileURLToPath } from "node:url";

export interface ChildOptions {
  readonly linesFrom?: "stdout" | "stderr";
  readonly hasInput?: boolean;
  /** Added to ours. */
  readonly env?: Readonly<Record<string, string>>;
  /** Where it runs; anywhere if left out. */
  readonly side?: ProcessRole;
}

/**
 * Those who measure and attack share the last processor, so that what is measured always has the
 * others, and what they leave of theirs.
 */
export type ProcessRole = "server" | "clients";

/**
 * Without it a client that attacks takes the server's processor, and what is measured is the
 * machine. Needs Linux and two processors.
 */
function onSide(side: ProcessRole | undefined, command: string, args: readonly string[]) {
  const last = cpus().length - 1;
  if (side === undefined || last < 1 || !canDivide) return { command, args };
  const processors = side === "server" ? `0-${last}` : String(last);
  return { command: "taskset", args: ["-c", processors, command, ...args] };
}

const canDivide = spawnSync("taskset", ["-V"]).status === 0;

const running = new Set<Child>();
const lastLinesMax = 20;

/** Nothing that was started outlives the benchmark, also when it fails in the middle. */
export async function endChildren(): Promise<void> {
  await Promise.all([...running].map((child) => child.end("SIGKILL")));
}

export class Child {
  readonly pid: number;
  readonly #process: ChildProcess;
  readonly #exited: Promise<unknown>;
  readonly #lines: AsyncIterator<string>;
  readonly #reader: Interface;
  readonly #lastLines: string[] = [];

  /**
   * Its lines are read from stdout, or from stderr for programs that say there what they have to
   * say.
   */
  constructor(
    command: string,
    args: readonly string[],
    { linesFrom = "stdout", hasInput = false, env = {}, side }: ChildOptions = {},
  ) {
    const placed = onSide(side, command, args);
    const input = hasInput ? "pipe" : "ignore";
    const stdio =
      linesFrom === "stdout"
        ? ([input, "pipe", "inherit"] as const)
        : ([input, "ignore", "pipe"] as const);
    this.#process = spawn(placed.command, placed.args, {
      stdio: [...stdio],
      env: { ...process.env, ...env },
    });
    this.#exited = once(this.#process, "exit");
    const stream = linesFrom === "stdout" ? this.#process.stdout : this.#process.stderr;
    if (stream === null) throw new Error("the process has no output");
    this.#reader = createInterface({ input: stream });
    this.#reader.on("line", (line) => {
      this.#lastLines.push(line.slice(0, 2_000));
      if (this.#lastLines.length > lastLinesMax) this.#lastLines.shift();
    });
    // A process that ended is reported with its last lines to whoever waits for the next one.
    this.#process.stdin?.on("error", () => undefined);
    this.#lines = this.#reader[Symbol.asyncIterator]();
    this.pid = this.#process.pid ?? 0;
    running.add(this);
  }

  /** Writes a line to its stdin, which must have been asked for. */
  say(line: string): void {
    this.#process.stdin?.write(`${line}\n`);
  }

  /** The next line that has `text` in it. */
  async line(text = ""): Promise<string> {
    for (;;) {
      const { value, done } = await this.#lines.next();
      if (done === true)
        throw new Error(
          `a process ended before it said ${JSON.stringify(text)}: exit code ${this.#process.exitCode}, signal ${this.#process.signalCode}, last lines:\n${this.#lastLines.join("\n")}`,
        );
      if (value.includes(text)) return value;
    }
  }

  async end(signal: "SIGTERM" | "SIGKILL" = "SIGTERM"): Promise<void> {
    this.#reader.close();
    // Whoever reads it would wait for more, and not end.
    this.#process.stdin?.end();
    this.#process.stdout?.resume();
    this.#process.stderr?.resume();
    if (this.#process.exitCode === null && this.#process.signalCode === null)
      this.#process.kill(signal);
    await this.#exited;
    running.delete(this);
  }
}

/** One of the programs of this folder. */
export function startProgram(name: string, args: readonly string[], options?: ChildOptions): Child {
  return new Child(process.execPath, [programPath(name), ...args], options);
}

export function programPath(name: string): string {
  return fileURLToPath(new URL(`./${name}.js`, import.meta.url));
}
