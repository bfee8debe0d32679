/**
 * Comma-separated values as in RFC 4180: quoted fields may contain commas, doubled quotes and line
 * ends.
 *
 * Empty lines are skipped; a quote inside a plain field, or text after a closing quote, is an
 * error.
 */
export interface CsvRecord {
  /** The line at which the record begins; the first line is 1. */
  readonly line: number;
  readonly fields: readonly string[];
}

export class CsvError extends Error {
  override readonly name = "CsvError";
  readonly line: number;

  constructor(line: number, message: string) {
    super(message);
    this.line = line;
  }
}

export function parseCsv(input: string): CsvRecord[] {
  const text = input
    .replace(/^\ufeff/, "")
    .replaceAll("\r\n", "\n")
    .replace(/\r$/, "");
  const records: CsvRecord[] = [];
  let line = 1;
  let at = 0;
  while (at < text.length) {
    const start = line;
    const fields: string[] = [];
    for (;;) {
      const field = text[at] === '"' ? quotedField(text, at, line) : plainField(text, at, line);
      fields.push(field.value);
      line += field.lineEnds;
      at = field.end;
      if (text[at] !== ",") break;
      at++;
    }
    at++;
    line++;
    if (fields.length > 1 || fields[0] !== "") records.push({ line: start, fields });
  }
  return records;
}

interface Field {
  readonly value: string;
  /** The number of line ends inside the field. */
  readonly lineEnds: number;
  /** The index after the field: of a comma, a line end, or the end of the text. */
  readonly end: number;
}

function plainField(text: string, start: number, line: number): Field {
  let end = start;
  while (end < text.length && text[end] !== "," && text[end] !== "\n") {
    if (text[end] === '"') throw new CsvError(line, "a quote inside a field without quotes");
    end++;
  }
  return { value: text.slice(start, end), lineEnds: 0, end };
}

function quotedField(text: string, start: number, line: number): Field {
  let value = "";
  let from = start + 1;
  for (;;) {
    const quote = text.indexOf('"', from);
    if (quote === -1) throw new CsvError(line, "a quoted field is not closed");
    value += text.slice(from, quote);
    const behind = text[quote + 1];
    if (behind === '"') {
      value += '"';
      from = quote + 2;
      continue;
    }
    if (behind !== undefined && behind !== "," && behind !== "\n") {
      throw new CsvError(line, "text behind a closing quote");
    }
    return { value, lineEnds: value.split("\n").length - 1, end: quote + 1 };
  }
}
