/**
 * The programs `kubectl_complete-<plug-in>`, which kubectl runs to complete a plug-in: one word a
 * line, then the directive of cobra that says whether files are offered, too.
 */
import type { Command } from "commander";
import { complete } from "./completion/index.ts";
import {
  createWorkspaceProgram,
  kcpPluginProgram,
  workspaceProgram,
} from "./workspace-plugin/index.ts";

/** Cobra's directives: the default, and no files. */
const directives = { files: 0, noFiles: 4 } as const;

export const completeKcpPlugin = completer(kcpPluginProgram);
export const completeWorkspace = completer(workspaceProgram);
export const completeCreateWorkspace = completer(createWorkspaceProgram);

function completer(program: () => Command): (argv: readonly string[]) => void {
  return (argv) => {
    const { words, mayBeFile } = complete(program(), argv.slice(2));
    const directive = mayBeFile ? directives.files : directives.noFiles;
    process.stdout.write([...words, `:${directive}`].map((line) => `${line}\n`).join(""));
  };
}
