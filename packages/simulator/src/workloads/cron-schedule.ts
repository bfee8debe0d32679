/** The schedule of a CronJob: five fields, in UTC. Pure. */
const shorthands = new Map([
  ["@yearly", "0 0 1 1 *"],
  ["@annually", "0 0 1 1 *"],
  ["@monthly", "0 0 1 * *"],
  ["@weekly", "0 0 * * 0"],
  ["@daily", "0 0 * * *"],
  ["@midnight", "0 0 * * *"],
  ["@hourly", "0 * * * *"],
]);

const fields = [
  { min: 0, max: 59, names: [] },
  { min: 0, max: 23, names: [] },
  { min: 1, max: 31, names: [] },
  { min: 1, max: 12, names: "jan feb mar apr may jun jul aug sep oct nov dec".split(" ") },
  { min: 0, max: 7, names: "sun mon tue wed thu fri sat".split(" ") },
] as const;

export interface CronSchedule {
  readonly minutes: ReadonlySet<number>;
  readonly hours: ReadonlySet<number>;
  readonly days: ReadonlySet<number>;
  readonly months: ReadonlySet<number>;
  readonly weekdays: ReadonlySet<number>;
  /** With both day fields given, either one is enough, as in cron. */
  readonly isEitherDay: boolean;
}

/** Undefined for an invalid schedule. */
export function parseSchedule(text: string): CronSchedule | undefined {
  const parts = (shorthands.get(text.trim()) ?? text.trim()).split(/\s+/);
  if (parts.length !== fields.length) return undefined;
  const sets = parts.map((part, index) => parseField(part, index));
  if (sets.some((set) => set === undefined)) return undefined;
  const [minutes, hours, days, months, weekdays] = sets as Set<number>[] as [
    Set<number>,
    Set<number>,
    Set<number>,
    Set<number>,
    Set<number>,
  ];
  if (weekdays.has(7)) weekdays.add(0);
  const isStar = (index: number) => (parts[index] as string).startsWith("*");
  return { minutes, hours, days, months, weekdays, isEitherDay: !isStar(2) && !isStar(4) };
}

function parseField(text: string, index: number): Set<number> | undefined {
  const { min, max, names } = fields[index] as (typeof fields)[number];
  const known = names as readonly string[];
  const values = new Set<number>();
  for (const part of text.toLowerCase().split(",")) {
    const [range = "", step = "1"] = part.split("/");
    const numberOf = (word: string) =>
      known.includes(word) ? known.indexOf(word) + (index === 3 ? 1 : 0) : Number(word);
    const [from, to] =
      range === "*" || range === "?"
        ? [min, max]
        : range.includes("-")
          ? (range.split("-").map(numberOf) as [number, number])
          : [numberOf(range), part.includes("/") ? max : numberOf(range)];
    const stride = Number(step);
    const isRight = [from, to, stride].every(Number.isInteger) && from >= min && to <= max;
    if (!isRight || from > to || stride < 1) return undefined;
    for (let value = from; value <= to; value += stride) values.add(value);
  }
  return values;
}

const minuteMs = 60_000;
/** Four years and a day: every date occurs within this time. */
const minutesMax = 1462 * 24 * 60;

/** The first time after the given one; undefined for the 31st of February. */
export function nextAfter(schedule: CronSchedule, afterMs: number): number | undefined {
  let atMs = Math.floor(afterMs / minuteMs) * minuteMs + minuteMs;
  for (let tries = 0; tries < minutesMax; tries++) {
    const date = new Date(atMs);
    if (!schedule.months.has(date.getUTCMonth() + 1) || !isDay(schedule, date)) {
      atMs = Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), date.getUTCDate() + 1);
    } else if (!schedule.hours.has(date.getUTCHours())) {
      atMs = Math.floor(atMs / 3_600_000) * 3_600_000 + 3_600_000;
    } else if (!schedule.minutes.has(date.getUTCMinutes())) atMs += minuteMs;
    else return atMs;
    if (atMs - afterMs > minutesMax * minuteMs) return undefined;
  }
  return undefined;
}

function isDay({ days, weekdays, isEitherDay }: CronSchedule, date: Date): boolean {
  const [isDate, isWeekday] = [days.has(date.getUTCDate()), weekdays.has(date.getUTCDay())];
  return isEitherDay ? isDate || isWeekday : isDate && isWeekday;
}
