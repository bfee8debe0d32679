/**
 * What readers of a document rely on beside its text: links that lead somewhere, and lines that fit
 * their screen.
 */

export interface Link {
  readonly line: number;
  readonly target: string;
}

/** Columns of a line of prose, as of code. */
const columnsMax = 100;

/**
 * The text with its lines where they are, without blocks of code, and with `x` in the place of code
 * in a sentence.
 */
function prose(markdown: string): string {
  return markdown
    .replace(/^[ \t]*(```+)[^\n]*\n[\s\S]*?^[ \t]*\1[ \t]*$/gm, (text) =>
      text.replace(/[^\n]/g, ""),
    )
    .replace(/(?<!`)(`+)(?!`)[\s\S]*?(?<!`)\1(?!`)/g, (text) => text.replace(/[^\n]/g, "x"));
}

export function links(markdown: string): readonly Link[] {
  const text = prose(markdown);
  return [...text.matchAll(/\]\(([^()\s]+)\)/g)].map(({ 1: target = "", index }) => ({
    line: text.slice(0, index).split("\n").length,
    target,
  }));
}

/** The anchors of a document's headings, as GitHub makes them. */
export function anchors(markdown: string): ReadonlySet<string> {
  const found = new Set<string>();
  const text = markdown.replace(/^```[\s\S]*?^```[ \t]*$/gm, "");
  for (const [, heading = ""] of text.matchAll(/^#{1,6} +(.*)$/gm)) {
    const words = heading.toLowerCase().replace(/[^\p{L}\p{N}\p{M}_ -]/gu, "");
    const anchor = words.trim().replaceAll(" ", "-");
    let name = anchor;
    for (let again = 1; found.has(name); again += 1) name = `${anchor}-${again}`;
    found.add(name);
  }
  return found;
}

/**
 * Lines of prose that are too long and could be broken. Tables, headings and code are as long as
 * they are.
 */
export function longLines(markdown: string): readonly number[] {
  return prose(markdown)
    .split("\n")
    .flatMap((line, at) => {
      if (line.length <= columnsMax || /^\s*\||^#|^ {4}/.test(line)) return [];
      const words = line.replace(/^\s*(?:[-*+]|\d+\.) +/, "").trim();
      return words.includes(" ") ? [at + 1] : [];
    });
}
