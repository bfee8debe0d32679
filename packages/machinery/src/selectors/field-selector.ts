/**
 * Field selectors: `metadata.name=x,status.phase!=Active`.
 *
 * Each resource decides on its supported fields; here a field is any text. In values, `\` escapes
 * `,`, `=` and itself.
 */
import { utf8Length } from "../names/index.ts";
import {
  SelectorSyntaxError,
  selectorRequirementsMax,
  selectorTextBytesMax,
} from "./syntax-error.ts";

export interface FieldRequirement {
  readonly field: string;
  readonly operator: "=" | "!=";
  readonly value: string;
}

export interface FieldSelector {
  /** True when it matches everything. */
  readonly isEmpty: boolean;
  readonly requirements: readonly FieldRequirement[];
  /** A field that an object lacks has the value "". */
  matches(fieldValue: (field: string) => string): boolean;
  /** The value that some `=` requires of the field; undefined when there is none. */
  exactValue(field: string): string | undefined;
  toString(): string;
}

/** Throws `SelectorSyntaxError`. */
export function parseFieldSelector(text: string): FieldSelector {
  if (utf8Length(text) > selectorTextBytesMax)
    throw new SelectorSyntaxError(`a selector may have at most ${selectorTextBytesMax} bytes`);
  const terms = splitTerms(text).filter((term) => term !== "");
  if (terms.length > selectorRequirementsMax)
    throw new SelectorSyntaxError(
      `a selector may have at most ${selectorRequirementsMax} requirements`,
    );
  const requirements = terms.sort().map((term) => parseTerm(term, text));
  // A lone `=` restricts nothing; Kubernetes drops it.
  return newFieldSelector(requirements.filter(({ field, value }) => field !== "" || value !== ""));
}

export function escapeFieldValue(value: string): string {
  return value.replace(/[\\,=]/g, "\\$&");
}

function newFieldSelector(requirements: readonly FieldRequirement[]): FieldSelector {
  return {
    isEmpty: requirements.length === 0,
    requirements,
    matches: (fieldValue) =>
      requirements.every(
        ({ field, operator, value }) => (fieldValue(field) === value) === (operator === "="),
      ),
    exactValue: (field) =>
      requirements.find((it) => it.field === field && it.operator === "=")?.value,
    toString: () =>
      requirements
        .map(({ field, operator, value }) => `${field}${operator}${escapeFieldValue(value)}`)
        .join(","),
  };
}

/** Splits at commas without a backslash before them; escapes stay as they are. */
function splitTerms(text: string): string[] {
  const terms: string[] = [];
  let start = 0;
  for (let i = 0; i < text.length; i++) {
    if (text[i] === "\\") i++;
    else if (text[i] === ",") {
      terms.push(text.slice(start, i));
      start = i + 1;
    }
  }
  terms.push(text.slice(start));
  return terms;
}

/** The first operator splits; a field name cannot be escaped. */
function parseTerm(term: string, text: string): FieldRequirement {
  const match = /!=|==?/.exec(term);
  if (match === null)
    throw new SelectorSyntaxError(`invalid selector: '${text}'; can't understand '${term}'`);
  return {
    field: term.slice(0, match.index),
    operator: match[0] === "!=" ? "!=" : "=",
    value: unescapeValue(term.slice(match.index + match[0].length)),
  };
}

function unescapeValue(escaped: string): string {
  return escaped.replace(/\\([\s\S]?)|[,=]/gu, (found, char: string | undefined) => {
    if (char === undefined)
      // Go prints the rune as a number here.
      throw new SelectorSyntaxError(
        `invalid field selector: unescaped character in value: ${found.charCodeAt(0)}`,
      );
    if (char !== "\\" && char !== "," && char !== "=")
      throw new SelectorSyntaxError(`invalid field selector: invalid escape sequence: ${found}`);
    return char;
  });
}
