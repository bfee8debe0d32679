/** The machine that tests run on, as far as preparing it goes. */
import { accessSync, constants } from "node:fs";
import { delimiter, join } from "node:path";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { type CommandResult, runCommand } from "./run-step.ts";

export interface Machine {
  readonly isRoot: boolean;
  /** Whether a program of this name would be found. */
  has(program: string): boolean;
  run(
    command: string,
    args: readonly string[],
    environment?: Readonly<Record<string, string>>,
  ): Promise<CommandResult>;
  say(line: string): void;
  pause(ms: number): Promise<void>;
}

export function thisMachine(): Machine {
  return {
    isRoot: process.getuid?.() === 0,
    has: (program) => isNamed(program) || isOnPath(program),
    run: (command, args, environment = {}) =>
      runCommand(command, args, { ...process.env, ...environment }),
    say: (line) => process.stdout.write(`${line}\n`),
    pause: (ms) => sleep(systemClock, ms),
  };
}

/** `ETCD` and `KUBECTL` name a program that is somewhere else. */
function isNamed(program: string): boolean {
  const named = process.env[program.toUpperCase()];
  return named !== undefined && named !== "";
}

function isOnPath(program: string): boolean {
  const folders = [
    process.env["KUBEBUILDER_ASSETS"] ?? "",
    ...(process.env["PATH"] ?? "").split(delimiter),
  ];
  return folders.some((folder) => folder !== "" && isExecutable(join(folder, program)));
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
