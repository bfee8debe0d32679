/**
 * Parses times as Go's `time.Parse` does, with its leniency and its texts: an hour may have one
 * digit, a comma may replace the point, and an error names the part of the layout at which it was
 * found.
 */
export type TimeLayout = "2006-01-02T15:04:05Z07:00" | "2006-01-02T15:04:05.000000Z07:00";

export type ParsedTime =
  /** `fraction` has the digits after the seconds. */
  { readonly atMs: number; readonly fraction: string } | { readonly error: string };

const plainPattern =
  /^\d{4}-(?:0[1-9]|1[0-2])-(?:0[1-9]|1\d|2[0-8])T(?:[01]\d|2[0-3])(?::[0-5]\d){2}(?:\.\d{6})?Z$/;

/**
 * Whether the time is in UTC and in the form of servers, so that nothing has to be normalised.
 * False for the last days of months, which need a full check.
 */
export function isPlainTime(
  value: string,
  form: "2006-01-02T15:04:05Z" | "2006-01-02T15:04:05.000000Z",
): boolean {
  return value.length === form.length && plainPattern.test(value);
}

export function parseGoTime(value: string, layout: TimeLayout): ParsedTime {
  const reader = new TimeReader(value);
  try {
    return reader.read(layout.includes(".") ? "micro" : "seconds");
  } catch (problem) {
    if (!(problem instanceof TimeProblem)) throw problem;
    const shown = `parsing time ${JSON.stringify(value)}`;
    const { part, rest, message } = problem;
    if (message !== "") return { error: `${shown}: ${message}` };
    return { error: `${shown} as "${layout}": cannot parse ${JSON.stringify(rest)} as "${part}"` };
  }
}

class TimeProblem extends Error {
  readonly part: string;
  readonly rest: string;

  constructor(part: string, rest: string, message = "") {
    super(message);
    this.part = part;
    this.rest = rest;
  }
}

const outOfRange = (what: string) => new TimeProblem("", "", `${what} out of range`);

class TimeReader {
  #rest: string;

  constructor(value: string) {
    this.#rest = value;
  }

  read(precision: "seconds" | "micro"): ParsedTime {
    const year = this.#digits("2006", /^\d{4}/);
    this.#skip("-");
    const month = this.#digits("01", /^\d\d/);
    if (month < 1 || month > 12) throw outOfRange("month");
    this.#skip("-");
    const day = this.#digits("02", /^\d\d/);
    this.#skip("T");
    const hour = this.#within("hour", 24, this.#digits("15", /^\d\d?/));
    this.#skip(":");
    const minute = this.#within("minute", 60, this.#digits("04", /^\d\d/));
    this.#skip(":");
    const second = this.#within("second", 60, this.#digits("05", /^\d\d/));
    const fraction =
      precision === "micro"
        ? this.#take(".000000", /^[.,]\d{6}/)
        : (this.#taken(/^[.,]\d+/) ?? ".");
    const offsetMs = this.#zone();
    if (this.#rest !== "")
      throw new TimeProblem("", "", `extra text: ${JSON.stringify(this.#rest)}`);
    if (day < 1 || day > daysIn(year, month)) throw outOfRange("day");
    const date = new Date(0);
    date.setUTCFullYear(year, month - 1, day);
    date.setUTCHours(hour, minute, second);
    return { atMs: date.getTime() - offsetMs, fraction: fraction.slice(1) };
  }

  #zone(): number {
    if (this.#taken(/^Z/) !== undefined) return 0;
    const text = this.#take("Z07:00", /^[+-]\d\d:\d\d/);
    const [hours, minutes] = [Number(text.slice(1, 3)), Number(text.slice(4))];
    // One more than there are, as Go has it.
    if (hours > 24) throw outOfRange("time zone offset hour");
    if (minutes > 60) throw outOfRange("time zone offset minute");
    return (text.startsWith("-") ? -1 : 1) * (hours * 60 + minutes) * 60_000;
  }

  #within(what: string, end: number, value: number): number {
    if (value >= end) throw outOfRange(what);
    return value;
  }

  #digits(part: string, pattern: RegExp): number {
    return Number(this.#take(part, pattern));
  }

  #take(part: string, pattern: RegExp): string {
    const found = this.#taken(pattern);
    if (found === undefined) throw new TimeProblem(part, this.#rest);
    return found;
  }

  #taken(pattern: RegExp): string | undefined {
    const found = pattern.exec(this.#rest)?.[0];
    if (found !== undefined) this.#rest = this.#rest.slice(found.length);
    return found;
  }

  #skip(character: string): void {
    if (!this.#rest.startsWith(character)) throw new TimeProblem(character, this.#rest);
    this.#rest = this.#rest.slice(1);
  }
}

function daysIn(year: number, month: number): number {
  if (month === 2) return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
  return month === 4 || month === 6 || month === 9 || month === 11 ? 30 : 31;
}
