/** Dates, times and durations as the formats `date`, `date-time` and `duration` accept them. */

const monthDays = [31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31] as const;

/** `2006-01-02`, a day that exists. */
export function isDate(text: string): boolean {
  const match = /^(\d{4})-(\d{2})-(\d{2})$/.exec(text);
  if (match === null) return false;
  const year = Number(match[1]);
  const month = Number(match[2]);
  const day = Number(match[3]);
  const leap = (year % 4 === 0 && year % 100 !== 0) || year % 400 === 0;
  if (month === 2 && day === 29 && !leap) return false;
  return day >= 1 && day <= (monthDays[month - 1] ?? 0);
}

const timePattern = /^([0-9]{2}):([0-9]{2}):([0-9]{2})(?:.[0-9]+)?(?:z|[+-][0-9]{2}:[0-9]{2})$/;

/**
 * RFC 3339, with the leniency of the upstream check: any separator before the fraction, offsets not
 * validated.
 */
export function isDateTime(text: string): boolean {
  const [date, time] = text.toLowerCase().split("t", 2);
  if (date === undefined || time === undefined || !isDate(date)) return false;
  const match = timePattern.exec(time);
  if (match === null) return false;
  return (
    (match[1] as string) <= "23" && (match[2] as string) <= "59" && (match[3] as string) <= "59"
  );
}

const durationTextMax = 1_000;
const goUnit = "(?:ns|us|µs|μs|ms|s|m|h)";
const goDurationPattern = new RegExp(`^[-+]?(?:0|(?:(?:\\d+\\.?\\d*|\\.\\d+)${goUnit})+)$`);
const exactUnits = new Set(
  "ns us µs ms s m h d w nano micro milli sec min hr hour day wk week".split(" "),
);
/** The last variant of each unit also matches as a prefix: `seconds`, `weeks`. */
const prefixUnits = ["nano", "micro", "milli", "sec", "min", "hour", "day", "week"];

/** Go's `1h30m`, or Scala's `3 days`. */
export function isDuration(text: string): boolean {
  if (text.length > durationTextMax) return false;
  if (goDurationPattern.test(text)) return true;
  let found = false;
  for (const [, digits, unitText] of text.matchAll(/(\d+)\s*([A-Za-zµ]+)/g)) {
    if (BigInt(digits as string) > 2n ** 63n - 1n) return false;
    const unit = (unitText as string).toLowerCase();
    if (exactUnits.has(unit) || prefixUnits.some((prefix) => unit.startsWith(prefix))) found = true;
  }
  return found;
}
