/** A point in time as a calendar and a clock on the wall show it, in any zone. */
import { type CelTimestamp, parseOffsetSeconds, split } from "./time.ts";
import { CelError } from "./value.ts";

export interface LocalTime {
  readonly year: number;
  /** From 0. */
  readonly month: number;
  /** From 1. */
  readonly day: number;
  /** From 0. */
  readonly dayOfYear: number;
  /** From 0, which is Sunday. */
  readonly dayOfWeek: number;
  readonly hours: number;
  readonly minutes: number;
  readonly seconds: number;
  readonly milliseconds: number;
}

/** `zone` is a name such as `Europe/Berlin`, or an offset such as `-08:00`. */
export function localTime(timestamp: CelTimestamp, zone: string): LocalTime | CelError {
  const { seconds, nanos } = split(timestamp.nanos);
  const offset = offsetSeconds(Number(seconds), zone);
  if (offset instanceof CelError) return offset;
  const date = new Date((Number(seconds) + offset) * 1000);
  const yearStart = new Date(0);
  yearStart.setUTCFullYear(date.getUTCFullYear(), 0, 1);
  return {
    year: date.getUTCFullYear(),
    month: date.getUTCMonth(),
    day: date.getUTCDate(),
    dayOfYear: Math.floor((date.getTime() - yearStart.getTime()) / 86_400_000),
    dayOfWeek: date.getUTCDay(),
    hours: date.getUTCHours(),
    minutes: date.getUTCMinutes(),
    seconds: date.getUTCSeconds(),
    milliseconds: Number(nanos / 1_000_000n),
  };
}

function offsetSeconds(seconds: number, zone: string): number | CelError {
  if (zone === "UTC" || zone === "") return 0;
  if (zone.includes(":")) {
    return parseOffsetSeconds(zone) ?? new CelError(`unknown time zone ${zone}`);
  }
  const formatter = formatterFor(zone);
  if (formatter === undefined) return new CelError(`unknown time zone ${zone}`);
  const parts = new Map(
    formatter.formatToParts(new Date(seconds * 1000)).map(({ type, value }) => [type, value]),
  );
  const number = (type: Intl.DateTimeFormatPartTypes) => Number(parts.get(type));
  const year = parts.get("era") === "BC" ? 1 - number("year") : number("year");
  const local = new Date(0);
  local.setUTCFullYear(year, number("month") - 1, number("day"));
  local.setUTCHours(number("hour"), number("minute"), number("second"));
  return local.getTime() / 1000 - seconds;
}

/** Formatters kept; there are about 600 zone names. */
const FORMATTERS_MAX = 64;
/** The longest name that is looked up, in UTF-16 units. */
const ZONE_NAME_LENGTH_MAX = 64;
const formatters = new Map<string, Intl.DateTimeFormat>();

function formatterFor(zone: string): Intl.DateTimeFormat | undefined {
  const known = formatters.get(zone);
  if (known !== undefined) return known;
  if (zone.length > ZONE_NAME_LENGTH_MAX) return undefined;
  try {
    const formatter = new Intl.DateTimeFormat("en-US", {
      timeZone: zone,
      hourCycle: "h23",
      era: "short",
      year: "numeric",
      month: "numeric",
      day: "numeric",
      hour: "numeric",
      minute: "numeric",
      second: "numeric",
    });
    if (formatters.size >= FORMATTERS_MAX) formatters.clear();
    formatters.set(zone, formatter);
    return formatter;
  } catch (error) {
    if (error instanceof RangeError) return undefined;
    throw error;
  }
}
