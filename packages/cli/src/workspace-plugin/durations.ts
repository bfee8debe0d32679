/** `30s`, `2m`, `1h`, or plain seconds. */
export function durationMs(text: string, flag: string): number {
  const found = /^(\d{1,9})(s|m|h)?$/.exec(text);
  if (found === null)
    throw new Error(`invalid ${flag} ${JSON.stringify(text)}: 30s, 2m or 1h, say`);
  const units: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000 };
  return Number(found[1]) * (units[found[2] ?? "s"] ?? 1000);
}
