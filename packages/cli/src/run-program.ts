/**
 * Runs a command line with subcommands. Messages go to stderr; exit code 1 is a failure, 2 a wrong
 * command line.
 */
import { kcpVersion } from "@kcp-ts/machinery/base";
import { Command } from "commander";
import { endOnBrokenPipe, errorText } from "./process-output/index.ts";

type Verb = (program: Command) => void;

export function programOf(verbs: readonly Verb[]): Command {
  const program = new Command("kcp")
    .description("A Kubernetes API server for thousands of logical clusters, in one process.")
    .version(kcpVersion)
    .showHelpAfterError("(add --help for usage)")
    .exitOverride();
  for (const add of verbs) add(program);
  return program;
}

export async function runProgram(verbs: readonly Verb[], argv: readonly string[]): Promise<void> {
  endOnBrokenPipe();
  try {
    await programOf(verbs).parseAsync([...argv]);
  } catch (error) {
    process.exitCode = report(error);
  }
}

function report(error: unknown): number {
  if (error instanceof Error && "exitCode" in error) return error.exitCode === 0 ? 0 : 2;
  process.stderr.write(`kcp: ${errorText(error)}\n`);
  return 1;
}
