/** Cuts the text of a label selector into tokens. Knows nothing about their order. */
export type LabelTokenKind =
  | "end"
  | "identifier"
  | "in"
  | "notin"
  | ")"
  | "("
  | ","
  | "!"
  | "="
  | "=="
  | "!="
  | ">"
  | "<";

export interface LabelToken {
  readonly kind: LabelTokenKind;
  readonly text: string;
}

/**
 * A symbol, or a run of everything that is neither symbol nor blank; keys and values are validated
 * later.
 */
const tokenPattern = /[ \t\r\n]*(?:(==|!=|[=!(),<>])|([^ \t\r\n=!(),<>]+))/y;

export function scanLabelSelector(text: string): LabelToken[] {
  const tokens: LabelToken[] = [];
  tokenPattern.lastIndex = 0;
  for (let match = tokenPattern.exec(text); match !== null; match = tokenPattern.exec(text)) {
    const [, symbol, word] = match;
    if (symbol !== undefined) tokens.push({ kind: symbol as LabelTokenKind, text: symbol });
    else if (word !== undefined) tokens.push({ kind: wordKind(word), text: word });
  }
  tokens.push({ kind: "end", text: "" });
  return tokens;
}

function wordKind(word: string): LabelTokenKind {
  return word === "in" || word === "notin" ? word : "identifier";
}
