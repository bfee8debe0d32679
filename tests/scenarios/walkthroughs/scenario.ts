/**
 * A transcript: what one types at a terminal, and what is printed. It is text, and read as follows.
 *
 *     K1  a title          begins a scenario
 *     # words              are for the reader
 *     $ command            is run by a shell, and succeeds
 *     ~ command            is run again and again until it prints what follows
 *     ! words              the command before it fails, and prints this to stderr; alone: it fails and prints nothing
 *     @ words              are for the stage: something happens in the world
 *     anything else        a line that is printed; `*` is any text, blanks are any blanks, `...` any lines
 */
export interface Scenario {
  readonly title: string;
  readonly steps: readonly Step[];
}

export type Step =
  | { readonly kind: "cue"; readonly text: string }
  | {
      readonly kind: "command";
      readonly text: string;
      readonly isRepeated: boolean;
      readonly fails: boolean;
      /** Of stdout, or of stderr when it fails. */
      readonly lines: readonly string[];
    };

export function parseScenarios(text: string): readonly Scenario[] {
  const scenarios: { title: string; steps: Step[] }[] = [];
  for (const raw of text.split("\n")) {
    const line = raw.trim();
    if (line === "" || line.startsWith("#")) continue;
    if (/^[A-Z]\d+ {2}\S/.test(line)) {
      scenarios.push({ title: line.replace(/ +/, " "), steps: [] });
      continue;
    }
    const steps = scenarios.at(-1)?.steps;
    if (steps === undefined) throw new Error(`no scenario before: ${line}`);
    const rest = line.slice(2);
    if (line.startsWith("@ ")) steps.push({ kind: "cue", text: rest });
    else if (line.startsWith("$ ") || line.startsWith("~ ")) {
      const isRepeated = line.startsWith("~");
      steps.push({ kind: "command", text: rest, isRepeated, fails: false, lines: [] });
    } else {
      const last = steps.pop();
      if (last?.kind !== "command") throw new Error(`no command before: ${line}`);
      const isFailure = line.startsWith("!");
      const wanted = isFailure ? line.slice(1).trim() : line;
      const lines = wanted === "" ? last.lines : [...last.lines, wanted];
      steps.push({ ...last, fails: last.fails || isFailure, lines });
    }
  }
  return scenarios;
}

/**
 * Whether these lines are printed: all of them, in this order, and no others but where `...`
 * stands.
 */
export function isPrinted(wanted: readonly string[], output: string): boolean {
  const printed = output.split("\n").filter((line) => line.trim() !== "");
  const patterns = wanted.map((line) => (line === "..." ? undefined : patternOf(line)));
  // How many lines of what is printed the wanted ones so far may have used up.
  let reached = new Set([0]);
  for (const pattern of patterns) {
    const next = new Set<number>();
    for (const at of reached) {
      if (pattern === undefined) for (let to = at; to <= printed.length; to++) next.add(to);
      else if (pattern.test((printed[at] ?? "\n").trim())) next.add(at + 1);
    }
    reached = next;
  }
  return reached.has(printed.length);
}

function patternOf(line: string): RegExp {
  const source = line
    .split(/\s+/)
    .map((word) => word.split("*").map(escaped).join(".*"))
    .join("\\s+");
  return new RegExp(`^${source}$`);
}

function escaped(text: string): string {
  return text.replace(/[.+?^${}()|[\]\\]/g, "\\$&");
}
