/** Why a text is no cron schedule, in the words of the parser that Kubernetes uses. */

interface Bounds {
  readonly min: number;
  readonly max: number;
  readonly names?: ReadonlyMap<string, number>;
}

function named(names: string, first: number): ReadonlyMap<string, number> {
  return new Map(names.split(" ").map((name, index) => [name, index + first]));
}

const fields: readonly Bounds[] = [
  { min: 0, max: 59 },
  { min: 0, max: 23 },
  { min: 1, max: 31 },
  { min: 1, max: 12, names: named("jan feb mar apr may jun jul aug sep oct nov dec", 1) },
  { min: 0, max: 6, names: named("sun mon tue wed thu fri sat", 0) },
];

const descriptors = new Set([
  "@yearly",
  "@annually",
  "@monthly",
  "@weekly",
  "@daily",
  "@midnight",
  "@hourly",
]);

export function scheduleError(schedule: string): string | undefined {
  const text = schedule.replace(/^(CRON_)?TZ=\S*\s*/, "").trim();
  if (text === "") return "empty spec string";
  if (text.startsWith("@")) return descriptorError(text);
  const parts = text.split(/\s+/);
  if (parts.length !== fields.length)
    return `expected exactly ${fields.length} fields, found ${parts.length}: [${parts.join(" ")}]`;
  for (const [index, part] of parts.entries()) {
    const error = fieldErrorOf(part, fields[index] as Bounds);
    if (error !== undefined) return error;
  }
  return undefined;
}

function descriptorError(text: string): string | undefined {
  if (descriptors.has(text)) return undefined;
  if (!text.startsWith("@every ")) return `unrecognized descriptor: ${text}`;
  const duration = text.slice("@every ".length);
  if (/^[+-]?(\d+(\.\d*)?(ns|us|µs|ms|s|m|h))+$/.test(duration)) return undefined;
  return `failed to parse duration ${text}: time: invalid duration ${JSON.stringify(duration)}`;
}

function fieldErrorOf(part: string, bounds: Bounds): string | undefined {
  for (const expression of part.split(",")) {
    if (expression === "") continue;
    const error = rangeError(expression, bounds);
    if (error !== undefined) return error;
  }
  return undefined;
}

function rangeError(expression: string, { min, max, names }: Bounds): string | undefined {
  const [range = "", step, ...rest] = expression.split("/");
  const [low = "", high, ...further] = range.split("-");
  let [start, end] = [min, max];
  if (low !== "*" && low !== "?") {
    const first = numberOf(low, names);
    if (typeof first === "string") return first;
    start = first;
    if (further.length > 0) return `too many hyphens: ${expression}`;
    const last = high === undefined ? first : numberOf(high, names);
    if (typeof last === "string") return last;
    end = high === undefined && step !== undefined ? max : last;
  }
  let count = 1;
  if (rest.length > 0) return `too many slashes: ${expression}`;
  if (step !== undefined) {
    const steps = numberOf(step, undefined);
    if (typeof steps === "string") return steps;
    count = steps;
  }
  if (start < min) return `beginning of range (${start}) below minimum (${min}): ${expression}`;
  if (end > max) return `end of range (${end}) above maximum (${max}): ${expression}`;
  if (start > end)
    return `beginning of range (${start}) beyond end of range (${end}): ${expression}`;
  return count === 0 ? `step of range should be a positive number: ${expression}` : undefined;
}

function numberOf(text: string, names: Bounds["names"]): number | string {
  const known = names?.get(text.toLowerCase());
  if (known !== undefined) return known;
  if (/^-\d+$/.test(text)) return `negative number (${text}) not allowed: ${text}`;
  return /^\+?\d+$/.test(text)
    ? Number(text)
    : `failed to parse int from ${text}: strconv.Atoi: parsing ${JSON.stringify(text)}: invalid syntax`;
}
