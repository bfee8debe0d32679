/** The code in documents: what people copy is what the tests compile, run and ask a server for. */
export interface CodeBlock {
  /** `docs-guides-testing-2`: unique, and good as a file name. */
  readonly name: string;
  /** Where it stands, for people. */
  readonly place: string;
  readonly text: string;
}

/** Blocks that are fenced as one of the languages, TypeScript if none is named. */
export function codeBlocks(
  path: string,
  markdown: string,
  languages: readonly string[] = ["ts"],
): readonly CodeBlock[] {
  const lines = markdown.split("\n");
  const blocks: CodeBlock[] = [];
  let start: number | undefined;
  /** A block in another language, whose end is not the start of one of ours. */
  let other: number | undefined;
  for (const [at, line] of lines.entries()) {
    const language = /^```(\S*)\s*$/.exec(line)?.[1];
    if (start === undefined && other === undefined && language !== undefined) {
      if (languages.includes(language)) start = at + 1;
      else other = at + 1;
    } else if (other !== undefined && language === "") other = undefined;
    else if (start !== undefined && /^```\s*$/.test(line)) {
      const stem = path.replace(/\.md$/, "").replace(/[^A-Za-z0-9]+/g, "-");
      blocks.push({
        name: `${stem}-${blocks.length + 1}`,
        place: `${path}:${start + 1}`,
        text: `${lines.slice(start, at).join("\n")}\n`,
      });
      start = undefined;
    }
  }
  if (start !== undefined) throw new Error(`${path}:${start}: a code block has no end`);
  return blocks;
}
