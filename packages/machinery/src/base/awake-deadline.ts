/**
 * A deadline for a response, in time in which this process ran: a starved or suspended process
 * receives nothing, and would treat all its peers as dead when it resumes.
 *
 *     const deadline = awakeDeadline(clock, 2000, () => connection.destroy());
 *     connection.once("pong", () => deadline.cancel());
 */
import type { Clock, Timer } from "./clock.ts";

/** The number of steps in which the time is checked. */
const ticks = 10;
/**
 * The additional time for a response that has already arrived: timers fire before sockets are read.
 */
export const awakeGraceMs = 500;
/** The upper bound, however little processor time this process gets. */
const longestMs = 60_000;

export function awakeDeadline(clock: Clock, timeoutMs: number, onOver: () => void): Timer {
  const tickMs = timeoutMs / ticks;
  const untilMs = clock.monotonic() + longestMs;
  let timer: Timer;
  const wait = (left: number) => {
    const dueAtMs = clock.monotonic() + tickMs;
    timer = clock.schedule(tickMs, () => {
      const nowMs = clock.monotonic();
      const isLate = nowMs - dueAtMs > tickMs && nowMs < untilMs;
      const after = isLate ? left : left - 1;
      if (after > 0) wait(after);
      else timer = clock.schedule(awakeGraceMs, onOver);
    });
  };
  wait(ticks);
  return { cancel: () => timer.cancel() };
}
