/** The TypeScript in documents, as programs: what people copy is what the tests compile and run. */
export interface CodeBlock {
  /** `docs-guides-testing-2`: unique, and good as a file name. */
  readonly name: string;
  /** Where it stands, for people. */
  readonly place: string;
  readonly text: string;
}

/** Blocks that are fenced as `ts`. Other languages, and `text`, are for reading. */
export function codeBlocks(path: string, markdown: string): readonly CodeBlock[] {
  const lines = markdown.split("\n");
  const blocks: CodeBlock[] = [];
  let start: number | undefined;
  for (const [at, line] of lines.entries()) {
    if (start === undefined && /^```ts\s*$/.test(line)) start = at + 1;
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
