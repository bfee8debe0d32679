/**
 * Where in a document a cursor is, by indentation. Pure, and for text that is being written: the
 * server reads the YAML, this only helps to write it.
 */
export interface YamlPosition {
  /** Keys from the root to the object of this line; `[]` is an item of a list. */
  readonly parents: readonly string[];
  /** The key of this line, or as much of it as is in front of the cursor. */
  readonly key: string;
  /** True behind the colon. */
  readonly isValue: boolean;
  /** Where the key or the value begins in the text. */
  readonly start: number;
  /** The column of the keys of this object. */
  readonly indent: number;
  /** Keys that this object already has. */
  readonly siblings: ReadonlySet<string>;
}

interface Line {
  readonly indent: number;
  /** Of the `- ` in front of the key, if there is one. */
  readonly dash: number | undefined;
  readonly key: string | undefined;
}

const linePattern = /^( *)((?:- +)*)(?:([^\s#:'"{[][^:#]*|"[^"]*"|'[^']*')\s*:(?:\s|$))?/;

function read(text: string): Line | undefined {
  if (/^\s*(?:#.*)?$/.test(text)) return undefined;
  const [, spaces = "", dashes = "", key] = linePattern.exec(text) ?? [];
  const bare = dashes === "" && /^ *-$/.test(text.trimEnd());
  return {
    indent: spaces.length + dashes.length + (bare ? 2 : 0),
    dash: dashes === "" && !bare ? undefined : spaces.length,
    key: key?.replace(/^["']|["']$/g, ""),
  };
}

export function positionAt(text: string, offset: number): YamlPosition {
  const before = text.slice(0, offset).split("\n");
  const row = before.length - 1;
  const lines = text.split("\n");
  const typed = before[row] as string;
  const match = /^( *(?:- +)*)(.*)$/.exec(typed) as RegExpExecArray;
  const [, lead = "", rest = ""] = match;
  const colon = /:\s/.exec(`${rest} `);
  const isValue = colon !== null && rest.includes(":");
  const indent = lead.length;
  const parents: string[] = [];
  const lastDash = lead.lastIndexOf("- ");
  let limit = lastDash === -1 ? indent : lead.indexOf("-");
  if (lastDash !== -1) parents.unshift("[]");
  // A list may begin at the column of its key.
  let mayEqual = lastDash !== -1;
  for (let at = row - 1; at >= 0 && (limit > 0 || mayEqual); at--) {
    const line = read(lines[at] as string);
    if (line === undefined) continue;
    if (line.dash !== undefined && line.dash < limit && line.indent <= limit) {
      if (line.indent < limit && line.key !== undefined) parents.unshift(line.key);
      parents.unshift("[]");
      limit = line.dash;
      mayEqual = true;
    } else if (
      line.dash === undefined &&
      line.key !== undefined &&
      (line.indent < limit || (mayEqual && line.indent === limit))
    ) {
      parents.unshift(line.key);
      limit = line.indent;
      mayEqual = false;
    }
  }
  const key = isValue ? rest.slice(0, rest.indexOf(":")) : rest;
  const valueAt = isValue ? (/^[^:]*:\s*/.exec(rest)?.[0].length ?? 0) : 0;
  return {
    parents,
    key: key.trim(),
    isValue,
    start: offset - rest.length + valueAt,
    indent,
    siblings: siblingsOf(lines, row, indent),
  };
}

/** Keys at the same column, up to where the object begins and ends. */
function siblingsOf(lines: readonly string[], row: number, indent: number): ReadonlySet<string> {
  const found = new Set<string>();
  const walk = (step: 1 | -1) => {
    for (let at = row + step; at >= 0 && at < lines.length; at += step) {
      const line = read(lines[at] as string);
      if (line === undefined) continue;
      if (line.indent < indent) return;
      if (line.indent > indent) continue;
      // A dash begins another item.
      if (line.dash !== undefined && step === 1) return;
      if (line.key !== undefined) found.add(line.key);
      if (line.dash !== undefined) return;
    }
  };
  if (read(lines[row] as string)?.dash === undefined) walk(-1);
  walk(1);
  return found;
}
