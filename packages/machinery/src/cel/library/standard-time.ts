/**
 * Parts of timestamps and durations: `getFullYear`, `getHours` and their kin, in UTC or a named
 * zone.
 */
import {
  type CallContext,
  type FunctionDeclaration,
  fn,
  member,
} from "../check/function-declaration.ts";
import { DURATION, INT, STRING, TIMESTAMP } from "../types/type.ts";
import type { CelDuration, CelTimestamp } from "../values/time.ts";
import { type LocalTime, localTime } from "../values/time-zone.ts";
import { CelError, type CelResult } from "../values/value.ts";

/** Looking up a zone's offset takes as long as this many simple steps. */
const ZONE_LOOKUP_STEPS = 1000;

export const standardTime: readonly FunctionDeclaration[] = [
  part("getFullYear", "year", (time) => time.year),
  part("getMonth", "month", (time) => time.month),
  part("getDayOfYear", "day_of_year", (time) => time.dayOfYear),
  part("getDayOfMonth", "day_of_month", (time) => time.day - 1),
  part("getDate", "day_of_month_1_based", (time) => time.day),
  part("getDayOfWeek", "day_of_week", (time) => time.dayOfWeek),
  part("getHours", "hours", (time) => time.hours, 3_600_000_000_000n),
  part("getMinutes", "minutes", (time) => time.minutes, 60_000_000_000n),
  part("getSeconds", "seconds", (time) => time.seconds, 1_000_000_000n),
  part("getMilliseconds", "milliseconds", (time) => time.milliseconds, 1_000_000n),
];

function part(
  name: string,
  suffix: string,
  read: (time: LocalTime) => number,
  nanosPerUnit?: bigint,
): FunctionDeclaration {
  const call = (timestamp: CelTimestamp, zone = "UTC"): CelResult => {
    const time = localTime(timestamp, zone);
    return time instanceof CelError ? time : BigInt(read(time));
  };
  // cel-go's own irregularity.
  const zoned =
    name === "getSeconds" ? "timestamp_to_seconds_tz" : `timestamp_to_${suffix}_with_tz`;
  const overloads = [
    member(`timestamp_to_${suffix}`, [TIMESTAMP], INT, (timestamp: CelTimestamp) =>
      call(timestamp),
    ),
    member(
      zoned,
      [TIMESTAMP, STRING],
      INT,
      (timestamp: CelTimestamp, zone: string, context: CallContext) => {
        context.step(ZONE_LOOKUP_STEPS);
        return call(timestamp, zone);
      },
    ),
  ];
  if (nanosPerUnit !== undefined) {
    // Totals, milliseconds included.
    const inUnits = (duration: CelDuration) => duration.nanos / nanosPerUnit;
    overloads.push(member(`duration_to_${suffix}`, [DURATION], INT, inUnits));
  }
  return fn(name, ...overloads);
}
