/** The clauses of a format string: `%s`, `%.2f`, `%%`. */
import { FORMAT_PRECISION_MAX } from "../limits.ts";
import { CelError } from "../values/value.ts";

export interface FormatClause {
  readonly letter: string;
  readonly precision: number;
  /** Where the text after the clause begins. */
  readonly end: number;
}

const PRECISION_DEFAULT = 6;
const LETTERS = "sdfebxXo";

/**
 * The clauses of a format string up to the first one that is wrong, which ends the list as an
 * error.
 */
export function formatClauses(format: string): (FormatClause | CelError)[] {
  const clauses: (FormatClause | CelError)[] = [];
  for (let at = format.indexOf("%"); at !== -1; ) {
    if (format.charAt(at + 1) === "%") {
      at = format.indexOf("%", at + 2);
      continue;
    }
    const clause = parseClause(format, at + 1);
    clauses.push(clause);
    if (clause instanceof CelError) break;
    at = format.indexOf("%", clause.end);
  }
  return clauses;
}

/** Reads the clause whose percent sign is before `at`. */
export function parseClause(format: string, at: number): FormatClause | CelError {
  if (at >= format.length) return new CelError("unexpected end of string");
  let precision = PRECISION_DEFAULT;
  if (format.charAt(at) === ".") {
    const digits = /^\d*/.exec(format.slice(at + 1, at + 12))?.[0] ?? "";
    if (at + 1 + digits.length >= format.length) {
      return precisionError("could not find end of precision specifier");
    }
    if (digits === "") return precisionError("error while converting precision to integer");
    precision = Number(digits);
    if (precision > FORMAT_PRECISION_MAX) {
      return precisionError(
        `precision ${precision} exceeds maximum allowed precision ${FORMAT_PRECISION_MAX}`,
      );
    }
    at += 1 + digits.length;
  }
  const letter = format.charAt(at);
  if (!LETTERS.includes(letter)) return clauseError(`unrecognized formatting clause "${letter}"`);
  return { letter, precision, end: at + 1 };
}

function precisionError(words: string): CelError {
  return clauseError(`error while parsing precision: ${words}`);
}

function clauseError(words: string): CelError {
  return new CelError(`could not parse formatting clause: ${words}`);
}
