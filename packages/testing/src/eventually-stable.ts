/**
 * `eventuallyStable`: a check passes, and goes on to pass while nothing writes any more. A
 * controller that reaches its aim and keeps writing has not reached it.
 */
import { sleep, systemClock } from "@kcp-ts/machinery/base";

export interface StableOptions {
  /** Ten seconds if omitted. */
  readonly timeoutMs?: number;
  /** How long nothing may be written; 40 ms if omitted. */
  readonly quietMs?: number;
}

/** Who counts writes: `k.faults` of a test control plane does. */
export interface WriteCounter {
  readonly writes: number;
  /** The last ones, for the message. */
  readonly lastWrites: readonly string[];
}

const timeoutMsDefault = 10_000;
const quietMsDefault = 40;
const pollMs = 4;

export async function eventuallyStable<Value>(
  counter: WriteCounter,
  check: () => Value | Promise<Value>,
  options: StableOptions = {},
): Promise<Value> {
  const { timeoutMs = timeoutMsDefault, quietMs = quietMsDefault } = options;
  const giveUpAtMs = systemClock.monotonic() + timeoutMs;
  let why: unknown;
  for (;;) {
    const writes = counter.writes;
    try {
      await check();
      await sleep(systemClock, quietMs);
      const value = await check();
      if (counter.writes === writes) return value;
      why = new Error(`it is still written: ${counter.lastWrites.join(", ")}`);
    } catch (error) {
      why = error;
    }
    if (systemClock.monotonic() >= giveUpAtMs) {
      throw new Error(`not stable after ${timeoutMs} ms: ${textOf(why)}`, { cause: why });
    }
    await sleep(systemClock, pollMs);
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
