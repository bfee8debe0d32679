/** The reference of commands and flags, made of the programs themselves. */
import { type CommandLine, commandLines, type Flag } from "@kcp-ts/cli";

export const cliPagePath = "docs/reference/cli.md";

export function cliPage(lines: readonly CommandLine[] = commandLines()): string {
  const sections = lines.map(
    ({ name, description, usage, flags }) =>
      `## ${name}\n\n${description}\n\n\`\`\`text\n${usage}\n\`\`\`\n${tablesOf(flags)}`,
  );
  return `# Commands

Written by \`npm run docs\` from the programs; a test compares them. \`kcp-ts\` is another name of
\`kcp\`, for \`npx kcp-ts\`. Every command has \`--help\`, and \`kcp completion\` completes them in a
shell.

${sections.join("\n")}`;
}

function tablesOf(flags: readonly Flag[]): string {
  const groups = new Map<string, Flag[]>();
  for (const flag of flags) {
    const known = groups.get(flag.group);
    if (known === undefined) groups.set(flag.group, [flag]);
    else known.push(flag);
  }
  return [...groups]
    .map(([group, members]) => {
      const title = group === "" ? "" : `\n${group}\n`;
      const rows = members.map(
        ({ term, description }) => `| \`${cell(term)}\` | ${text(description)} |`,
      );
      return `${title}\n| flag | meaning |\n|---|---|\n${rows.join("\n")}\n`;
    })
    .join("");
}

const cell = (words: string) => words.replaceAll("|", "\\|");
/** Placeholders in a sentence are no HTML. */
const text = (words: string) => cell(words).replaceAll("<", "\\<").replaceAll("*", "\\*");
