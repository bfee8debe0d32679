/** Values such as `3` or `25%`, as rolling update limits are written. */
import type { JsonValue } from "@kcp-ts/machinery/json";

/** The value in Pods, of a total. An invalid value counts as 0: the cluster validates it. */
export function scaledIntOrPercent(
  limit: JsonValue | undefined,
  total: number,
  round: (exact: number) => number,
): number {
  if (typeof limit === "number") return Math.max(0, limit);
  const [, digits = "0", percent] = /^(\d{1,9})(%?)$/.exec(String(limit)) ?? [];
  return percent === "%" ? round((total * Number(digits)) / 100) : Number(digits);
}
