/**
 * Waiting for what other programs bring about: until a check passes, or its last failure says why
 * it did not.
 */
import { type Clock, sleep, systemClock } from "@kcp-ts/machinery/base";

export interface EventuallyOptions {
  /** A minute if left out. */
  readonly timeoutMs?: number;
  readonly intervalMs?: number;
  /** The real time if left out, also when the control plane's clock stands still. */
  readonly clock?: Clock;
}

/**
 * For what never comes: a machine that is busy may take long for what does, and that decides no
 * test.
 */
const timeoutMsDefault = 60_000;
const intervalMsDefault = 5;

/** Returns what the check returned when it did not throw. */
export async function eventually<Value>(
  check: () => Value | Promise<Value>,
  options: EventuallyOptions = {},
): Promise<Value> {
  const { timeoutMs = timeoutMsDefault, intervalMs = intervalMsDefault } = options;
  const { clock = systemClock } = options;
  const giveUpAtMs = clock.monotonic() + timeoutMs;
  for (;;) {
    try {
      return await check();
    } catch (error) {
      if (clock.monotonic() >= giveUpAtMs) throw error;
    }
    await sleep(clock, intervalMs);
  }
}
