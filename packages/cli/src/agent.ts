/**
 * The program of the agent's container: `kcp syncer` and no other command, so that it needs neither
 * the server nor its storage.
 */
import { addSyncer } from "./commands/syncer.ts";
import { runProgram } from "./run-program.ts";

export function agentMain(argv: readonly string[]): Promise<void> {
  return runProgram([addSyncer], argv);
}
