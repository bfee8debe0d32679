/** Completes a command line of commander: subcommands, flags, and values of flags with choices. */
import type { Command, Option } from "commander";

export interface Completion {
  readonly words: readonly string[];
  /** Whether the shell offers files: the value of a flag without choices, or an argument. */
  readonly mayBeFile: boolean;
}

/** `words` are those after the name of the program; the last one is being typed. */
export function complete(program: Command, words: readonly string[]): Completion {
  const current = words.at(-1) ?? "";
  let command = program;
  let flag: Option | undefined;
  for (const word of words.slice(0, -1)) {
    if (flag !== undefined) flag = undefined;
    else if (word.startsWith("-")) flag = word.includes("=") ? undefined : withValue(command, word);
    else command = subcommand(command, word) ?? command;
  }
  const offered = flag === undefined ? choicesOf(command, current) : (flag.argChoices ?? []);
  return {
    words: offered.filter((word) => word.startsWith(current)),
    mayBeFile: offered.length === 0,
  };
}

function choicesOf(command: Command, current: string): readonly string[] {
  const help = command.createHelp();
  if (current.startsWith("-"))
    return help.visibleOptions(command).flatMap(({ long, short }) => long ?? short ?? []);
  return help.visibleCommands(command).map((each) => each.name());
}

function subcommand(command: Command, word: string): Command | undefined {
  return command.commands.find((each) => each.name() === word || each.aliases().includes(word));
}

function withValue(command: Command, word: string): Option | undefined {
  return command.options.find(
    (each) => (each.long === word || each.short === word) && (each.required || each.optional),
  );
}
