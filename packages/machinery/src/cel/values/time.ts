/**
 * Points in time and spans of time, to the nanosecond, within the ranges of protobuf's messages.
 */
import { chargeSteps } from "./step-counter.ts";
import { CelError } from "./value.ts";

const NANOS_PER_SECOND = 1_000_000_000n;
/** 0001-01-01T00:00:00Z */
const SECONDS_MIN = -62_135_596_800n;
/** 9999-12-31T23:59:59Z */
const SECONDS_MAX = 253_402_300_799n;
const INT64_MIN = -(2n ** 63n);
const INT64_MAX = 2n ** 63n - 1n;

export class CelTimestamp {
  /** Nanoseconds since 1970-01-01T00:00:00Z. */
  readonly nanos: bigint;
  /** The offset from UTC that it was written with, which its text keeps. */
  readonly offsetSeconds: number;

  constructor(nanos: bigint, offsetSeconds = 0) {
    this.nanos = nanos;
    this.offsetSeconds = offsetSeconds;
  }
}

export class CelDuration {
  /** Fits into 64 bits. */
  readonly nanos: bigint;

  constructor(nanos: bigint) {
    this.nanos = nanos;
  }
}

export function timestampOf(nanos: bigint, offsetSeconds = 0): CelTimestamp | CelError {
  const inRange =
    nanos >= SECONDS_MIN * NANOS_PER_SECOND && nanos < (SECONDS_MAX + 1n) * NANOS_PER_SECOND;
  return inRange ? new CelTimestamp(nanos, offsetSeconds) : new CelError("timestamp overflow");
}

export function durationOf(nanos: bigint): CelDuration | CelError {
  return nanos >= INT64_MIN && nanos <= INT64_MAX
    ? new CelDuration(nanos)
    : new CelError("duration overflow");
}

const RFC3339 = /^(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)(?:[.,](\d+))?(Z|[+-]\d\d:\d\d)$/;

export function parseTimestamp(text: string): CelTimestamp | undefined {
  const match = RFC3339.exec(text);
  if (match === null) return undefined;
  const [, year, month, day, hour, minute, second, fraction = "", zone = "Z"] = match;
  const seconds = utcSeconds(Number(year), Number(month), Number(day));
  if (seconds === undefined || Number(hour) > 23 || Number(minute) > 59 || Number(second) > 59)
    return undefined;
  const offset = zone === "Z" ? 0 : parseOffsetSeconds(zone);
  if (offset === undefined) return undefined;
  const total = seconds + Number(hour) * 3600 + Number(minute) * 60 + Number(second) - offset;
  const nanos = BigInt(fraction.slice(0, 9).padEnd(9, "0"));
  const timestamp = timestampOf(BigInt(total) * NANOS_PER_SECOND + nanos, offset);
  return timestamp instanceof CelError ? undefined : timestamp;
}

/** A date such as 2024-02-29, at midnight UTC. */
export function parseDate(text: string): CelTimestamp | undefined {
  const match = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text);
  if (match === null) return undefined;
  const seconds = utcSeconds(Number(match[1]), Number(match[2]), Number(match[3]));
  return seconds === undefined ? undefined : new CelTimestamp(BigInt(seconds) * NANOS_PER_SECOND);
}

/** `+hh:mm` or `-hh:mm` in seconds. */
export function parseOffsetSeconds(text: string): number | undefined {
  const match = /^([+-]?)(\d\d):(\d\d)$/.exec(text);
  if (match === null) return undefined;
  const hours = Number(match[2]);
  const minutes = Number(match[3]);
  if (hours > 23 || minutes > 59) return undefined;
  return (match[1] === "-" ? -1 : 1) * (hours * 3600 + minutes * 60);
}

/** Seconds since 1970 at the start of a day; undefined if there is no such day. */
function utcSeconds(year: number, month: number, day: number): number | undefined {
  const date = new Date(0);
  date.setUTCFullYear(year, month - 1, day);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day) return undefined;
  return date.getTime() / 1000;
}

export function formatTimestamp({ nanos: total, offsetSeconds }: CelTimestamp): string {
  const { seconds, nanos } = split(total);
  const date = new Date((Number(seconds) + offsetSeconds) * 1000);
  const pad = (value: number, width = 2) => String(value).padStart(width, "0");
  const day = `${pad(date.getUTCFullYear(), 4)}-${pad(date.getUTCMonth() + 1)}-${pad(date.getUTCDate())}`;
  const time = `${pad(date.getUTCHours())}:${pad(date.getUTCMinutes())}:${pad(date.getUTCSeconds())}`;
  return `${day}T${time}${fractionText(nanos)}${offsetText(offsetSeconds)}`;
}

function offsetText(offsetSeconds: number): string {
  if (offsetSeconds === 0) return "Z";
  const minutes = Math.abs(offsetSeconds) / 60;
  const pad = (value: number) => String(value).padStart(2, "0");
  return `${offsetSeconds < 0 ? "-" : "+"}${pad(Math.floor(minutes / 60))}:${pad(minutes % 60)}`;
}

/** Whole seconds, rounded down, and the nanoseconds above them. */
export function split(nanos: bigint): { seconds: bigint; nanos: bigint } {
  const rest = ((nanos % NANOS_PER_SECOND) + NANOS_PER_SECOND) % NANOS_PER_SECOND;
  return { seconds: (nanos - rest) / NANOS_PER_SECOND, nanos: rest };
}

function fractionText(nanos: bigint): string {
  if (nanos === 0n) return "";
  return `.${String(nanos).padStart(9, "0").replace(/0+$/, "")}`;
}

/** Seconds with their fraction: `1.5s`. */
export function formatDuration(duration: CelDuration): string {
  const negative = duration.nanos < 0n;
  const { seconds, nanos } = split(negative ? -duration.nanos : duration.nanos);
  return `${negative ? "-" : ""}${seconds}${fractionText(nanos)}s`;
}

const UNITS = new Map([
  ["ns", 1n],
  ["us", 1_000n],
  ["µs", 1_000n],
  ["μs", 1_000n],
  ["ms", 1_000_000n],
  ["s", NANOS_PER_SECOND],
  ["m", 60n * NANOS_PER_SECOND],
  ["h", 3600n * NANOS_PER_SECOND],
]);

/** The longest text that is read as a duration, in UTF-16 units. */
const DURATION_LENGTH_MAX = 1024;

/** Go's duration syntax: `-1h30m`, `1.5s`, `0`. */
export function parseDuration(text: string): CelDuration | undefined {
  if (text.length > DURATION_LENGTH_MAX) return undefined;
  chargeSteps(text.length * 4);
  const sign = text.startsWith("-") ? -1n : 1n;
  let rest = /^[+-]/.test(text) ? text.slice(1) : text;
  if (rest === "0") return new CelDuration(0n);
  if (rest === "") return undefined;
  let total = 0n;
  while (rest !== "") {
    const match = /^(\d*)(?:\.(\d*))?(ns|us|\u00b5s|\u03bcs|ms|s|m|h)/.exec(rest);
    const unit = UNITS.get(match?.[3] ?? "");
    if (match === null || unit === undefined) return undefined;
    const [whole, digits = "", fraction = ""] = match;
    if (digits === "" && fraction === "") return undefined;
    total += BigInt(digits || "0") * unit;
    if (fraction !== "") total += (BigInt(fraction) * unit) / 10n ** BigInt(fraction.length);
    rest = rest.slice(whole.length);
  }
  const duration = durationOf(sign * total);
  return duration instanceof CelError ? undefined : duration;
}
