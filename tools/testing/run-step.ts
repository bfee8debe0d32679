/** One command of the test run: quiet when it succeeds, shown in full when it fails. */
import { execFile } from "node:child_process";
import { systemClock } from "@kcp-ts/machinery/base";

export interface StepResult {
  readonly name: string;
  readonly ok: boolean;
}

export async function runStep(
  name: string,
  command: string,
  args: readonly string[],
): Promise<StepResult> {
  const startedAt = systemClock.monotonic();
  const { ok, output } = await runCommand(command, args);
  const seconds = ((systemClock.monotonic() - startedAt) / 1000).toFixed(1);
  process.stdout.write(`${ok ? "✔" : "✖"} ${name} (${seconds} s)\n`);
  if (!ok) process.stdout.write(`${output.trimEnd()}\n`);
  return { name, ok };
}

export interface CommandResult {
  readonly ok: boolean;
  readonly output: string;
}

/** Runs to the end; a command that cannot be started has failed, too. */
export function runCommand(
  command: string,
  args: readonly string[],
  environment: NodeJS.ProcessEnv = process.env,
): Promise<CommandResult> {
  const options = { env: environment, maxBuffer: outputBytesMax, timeout: commandTimeoutMs };
  return new Promise((resolve) => {
    execFile(command, args, options, (error, stdout, stderr) => {
      const reason = error === null || stdout + stderr !== "" ? "" : error.message;
      resolve({ ok: error === null, output: `${stdout}${stderr}${reason}` });
    });
  });
}

const outputBytesMax = 16 << 20;
const commandTimeoutMs = 300_000;
