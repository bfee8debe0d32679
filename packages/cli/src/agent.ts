/** The program in the agent's container: `kcp syncer` and nothing else, so that it needs neither the server nor its store. */
import { addSyncer } from "./commands/syncer.ts";
import { runProgram } from "./run-program.ts";

export function agentMain(argv: readonly string[]): Promise<void> {
  return runProgram([addSyncer], argv);
}
