/** Ages as kubectl shows them: two or three significant figures, `5m30s`, `3d4h`, `2y20d`. */
const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

export function humanDuration(ms: number): string {
  // Clocks differ a little: less than two seconds in the future counts as now.
  if (ms <= -2 * second) return "<invalid>";
  if (ms < 0) return "0s";
  if (ms < 2 * minute) return whole(ms, second, "s");
  if (ms < 10 * minute) return whole(ms, minute, "m") + rest(ms, minute, second, "s");
  if (ms < 3 * hour) return whole(ms, minute, "m");
  if (ms < 8 * hour) return whole(ms, hour, "h") + rest(ms, hour, minute, "m");
  if (ms < 2 * day) return whole(ms, hour, "h");
  if (ms < 8 * day) return whole(ms, day, "d") + rest(ms, day, hour, "h");
  if (ms < 2 * year) return whole(ms, day, "d");
  if (ms < 8 * year) return whole(ms, year, "y") + rest(ms, year, day, "d");
  return whole(ms, year, "y");
}

/** The text of an Age column. A missing time is `<unknown>`, an invalid one is `<invalid>`. */
export function age(timestamp: string | null | undefined, nowMs: number): string {
  if (timestamp === undefined || timestamp === null || timestamp === "") return "<unknown>";
  const time = rfc3339.test(timestamp) ? Date.parse(timestamp) : Number.NaN;
  return Number.isNaN(time) ? "<invalid>" : humanDuration(nowMs - time);
}

/** Date.parse alone accepts many other texts as times. */
const rfc3339 = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d{1,9})?(?:Z|[+-]\d{2}:\d{2})$/;

function whole(ms: number, unit: number, letter: string): string {
  return `${Math.floor(ms / unit)}${letter}`;
}

function rest(ms: number, unit: number, smaller: number, letter: string): string {
  const count = Math.floor((ms % unit) / smaller);
  return count === 0 ? "" : `${count}${letter}`;
}
