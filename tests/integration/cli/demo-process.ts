/** For tests: a command that prints and goes on. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { systemClock } from "@kcp-ts/machinery/base";

const program = fileURLToPath(new URL("../../../../packages/cli/bin/kcp.mjs", import.meta.url));
/** For what hangs. */
const printedWithinMs = 300_000;

export interface RunningCommand {
  readonly child: ChildProcess;
  /** SIGTERM, then the exit code. */
  stop(): Promise<number | null>;
  kill(): void;
}

export function spawnKcp(...args: readonly string[]): RunningCommand {
  const child = spawn(process.execPath, [program, ...args], {
    // Colours would stand between the words that tests look for, and build machines ask for them
    // (CI).
    env: { ...process.env, NO_COLOR: "1" },
    stdio: ["ignore", "pipe", "inherit"],
  });
  return {
    child,
    async stop() {
      const closed = once(child, "close") as Promise<[number | null]>;
      child.kill("SIGTERM");
      const [code] = await closed;
      return code;
    },
    kill: () => void child.kill("SIGKILL"),
  };
}

/** All it has printed so far, as soon as that contains the text. */
export function untilPrinted({ child }: RunningCommand, text: string): Promise<string> {
  return new Promise((resolve, reject) => {
    let printed = "";
    const fail = (why: string) => reject(new Error(`${why}; it printed:\n${printed}`));
    const timer = systemClock.schedule(printedWithinMs, () => fail(`no "${text}" in time`));
    child.stdout?.on("data", (bytes: Buffer) => {
      printed += bytes.toString();
      if (!printed.includes(text)) return;
      timer.cancel();
      resolve(printed);
    });
    child.once("close", (code) => {
      timer.cancel();
      fail(`it ended with ${code}`);
    });
  });
}
