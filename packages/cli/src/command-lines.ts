/** The command lines of this package as data, for the reference that is made of them. */
import type { Command } from "commander";
import { verbs } from "./main.ts";
import { programOf } from "./run-program.ts";
import {
  createWorkspaceProgram,
  kcpPluginProgram,
  workspaceProgram,
} from "./workspace-plugin/index.ts";

export interface CommandLine {
  /** As it is typed: `kubectl kcp drain`. */
  readonly name: string;
  readonly description: string;
  /** Names of arguments and flags, as in the first line of the help. */
  readonly usage: string;
  readonly flags: readonly Flag[];
}

export interface Flag {
  readonly group: string;
  /** With the name of its value: `--out <file>`. */
  readonly term: string;
  readonly description: string;
}

export function commandLines(): readonly CommandLine[] {
  return [
    ...linesOf(programOf(verbs), "kcp"),
    ...linesOf(kcpPluginProgram(), "kubectl kcp"),
    ...linesOf(workspaceProgram(), "kubectl ws"),
    ...linesOf(createWorkspaceProgram(), "kubectl create workspace"),
  ];
}

/** A command that does something, then its visible subcommands. */
function linesOf(command: Command, name: string): readonly CommandLine[] {
  const help = command.createHelp();
  const inner = help
    .visibleCommands(command)
    .filter((one) => one.name() !== "help")
    .flatMap((one) => linesOf(one, `${name} ${one.name()}`));
  const isGroup = inner.length > 0 && command.registeredArguments.length === 0;
  if (isGroup) return inner;
  const flags = help
    .visibleOptions(command)
    .filter(({ long }) => long !== "--help")
    .map((option) => ({
      group: option.helpGroupHeading ?? "",
      term: help.optionTerm(option),
      description: help.optionDescription(option),
    }));
  const usage = `${name} ${command.usage()}`.trim();
  return [{ name, description: command.description(), usage, flags }, ...inner];
}
