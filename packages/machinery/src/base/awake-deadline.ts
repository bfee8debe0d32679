/**
 * A deadline for an answer, in time in which this process got to run: one that is starved or stopped hears nobody, and would take all others for dead when it wakes.
 *
 *     const deadline = awakeDeadline(clock, 2000, () => connection.destroy());
 *     connection.once("pong", () => deadline.cancel());
 */
import type { Clock, Timer } from "./clock.ts";

/** The time is looked at in so many parts… */
const ticks = 10;
/** …and behind it there is this much for an answer that has come: timers come before what has arrived. */
export const awakeGraceMs = 500;
/** However little this process gets to run. */
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
