/** `3` or `25%`, as budgets are written. */
import type { JsonValue } from "@kcp-ts/machinery/json";

/** In Pods, of so many. What is neither counts as nothing: who validates it is the cluster. */
export function scaledIntOrPercent(
  limit: JsonValue | undefined,
  total: number,
  round: (exact: number) => number,
): number {
  if (typeof limit === "number") return Math.max(0, limit);
  const [, digits = "0", percent] = /^(\d{1,9})(%?)$/.exec(String(limit)) ?? [];
  return percent === "%" ? round((total * Number(digits)) / 100) : Number(digits);
}
