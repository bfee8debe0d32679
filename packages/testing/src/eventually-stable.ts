/**
 * `eventuallyStable`: a check passes, and goes on to pass while nothing writes any more. A
 * controller that reaches its aim and keeps writing has not reached it.
 */
import { sleep, systemClock, yieldToEventLoop } from "@kcp-ts/machinery/base";

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
const turnsOfSlice = 8;

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
      const isQuiet = await staysQuiet(counter, quietMs);
      const value = await check();
      if (isQuiet && counter.writes === writes) return value;
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

/**
 * False as soon as something is written. Where the machine is busy, time passes in which nothing
 * runs: each slice counts as long as it was meant to be, and leaves everything else a turn.
 */
async function staysQuiet(counter: WriteCounter, quietMs: number): Promise<boolean> {
  const { writes } = counter;
  for (let leftMs = quietMs; leftMs > 0; leftMs -= pollMs) {
    await sleep(systemClock, Math.min(pollMs, leftMs));
    for (let turn = 0; turn < turnsOfSlice; turn++) await yieldToEventLoop();
    if (counter.writes !== writes) return false;
  }
  return true;
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
