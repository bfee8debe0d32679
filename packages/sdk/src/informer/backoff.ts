/**
 * Exponential backoff with jitter: the clients of a server that comes back must not reconnect in
 * the same second.
 */
import type { Random } from "@kcp-ts/machinery/base";

export interface BackoffOptions {
  readonly firstMs: number;
  readonly mostMs: number;
}

/** The values of client-go's reflectors. */
export const informerBackoff: BackoffOptions = { firstMs: 800, mostMs: 30_000 };

/** Between one and two times the step; `failures` counts from 1. */
export function backoffMs(options: BackoffOptions, failures: number, random: Random): number {
  const step = Math.min(options.mostMs, options.firstMs * 2 ** Math.min(failures - 1, 30));
  return step * (1 + random.next());
}
