/** The difference of two texts by lines: the longest common subsequence stays. */
export interface Line {
  readonly kind: "same" | "added" | "removed";
  readonly text: string;
}

/** Larger differences are shown as removed and added: 8 MB of a table, some milliseconds. */
const cellsMax = 4_000_000;

export function lineDiff(before: string, after: string): readonly Line[] {
  const a = before.split("\n");
  const b = after.split("\n");
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  const rest = Math.min(a.length, b.length) - start;
  while (end < rest && a.at(-1 - end) === b.at(-1 - end)) end++;
  return [
    ...linesOf("same", a.slice(0, start)),
    ...middle(a.slice(start, a.length - end), b.slice(start, b.length - end)),
    ...linesOf("same", a.slice(a.length - end)),
  ];
}

function linesOf(kind: Line["kind"], texts: readonly string[]): Line[] {
  return texts.map((text) => ({ kind, text }));
}

function middle(a: readonly string[], b: readonly string[]): Line[] {
  const width = b.length + 1;
  if ((a.length + 1) * width > cellsMax) return [...linesOf("removed", a), ...linesOf("added", b)];
  // common[i * width + j] is the length of the longest common subsequence of a[i…] and b[j…].
  const common = new Uint16Array((a.length + 1) * width);
  const at = (i: number, j: number) => common[i * width + j] as number;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--)
      common[i * width + j] =
        a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const lines: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < a.length && j < b.length) {
    if (a[i] === b[j]) {
      lines.push({ kind: "same", text: a[i++] as string });
      j++;
    } else if (at(i + 1, j) >= at(i, j + 1))
      lines.push({ kind: "removed", text: a[i++] as string });
    else lines.push({ kind: "added", text: b[j++] as string });
  }
  return [...lines, ...linesOf("removed", a.slice(i)), ...linesOf("added", b.slice(j))];
}
