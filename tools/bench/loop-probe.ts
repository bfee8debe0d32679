/**
 * Looks at the event loop of the server from inside: loaded into its process before it starts, by
 * `--import`. Not part of the product.
 *
 * A line `begin` on stdin starts a measurement, `read` is answered on stderr with what it saw
 * since. A timer that is due every millisecond sees how long the loop was held in between. Holds
 * are told in processor time of the loop's own thread: what other processes take from it is not
 * counted.
 */
import { openSync, readSync } from "node:fs";
import { PerformanceObserver } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { systemClock } from "@kcp-ts/machinery/base";

export interface LoopProbe {
  /** The longest that the loop was held. */
  readonly holdMaxMs: number;
  /**
   * What somebody who comes at any moment still has to wait for in one of a hundred cases: longer
   * holds are met more often.
   */
  readonly waitP99Ms: number;
  /** Processor time of the loop's thread in a second: how much of an attack arrived. */
  readonly busyMsPerSecond: number;
  /**
   * What that thread waited for a processor in a second, with something to do: other threads had
   * it, the server's own among them.
   */
  readonly delayedMsPerSecond: number;
  /** The longest collection of garbage, by the wall. */
  readonly collectionMaxMs: number;
}

const intervalMs = 1;
const holds: number[] = [];
let collectionMaxMs = 0;
let isRunning = false;
let before = 0;
let begunAt = 0;
let delayedBefore = 0;

const buffer = Buffer.alloc(64);
const file = openThreadStatus();

const collections = new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries())
    collectionMaxMs = Math.max(collectionMaxMs, duration);
});
const commands = createInterface({ input: process.stdin });
commands.on("close", () => process.stdin.unref());
commands.on("line", (line) => {
  if (line === "begin") begin();
  else if (line === "read") {
    isRunning = false;
    collections.disconnect();
    process.stderr.write(`${JSON.stringify({ loopProbe: summary() })}\n`);
  }
});

function begin(): void {
  holds.length = 0;
  collectionMaxMs = 0;
  [before, delayedBefore] = threadMs();
  begunAt = systemClock.monotonic();
  isRunning = true;
  collections.observe({ entryTypes: ["gc"] });
  look();
}

function look(): void {
  systemClock.schedule(intervalMs, () => {
    if (!isRunning) return;
    const [now] = threadMs();
    holds.push(now - before);
    before = now;
    look();
  });
}

function summary(): LoopProbe {
  const holdMaxMs = holds.reduce((longest, hold) => Math.max(longest, hold), 0);
  const total = holds.reduce((sum, hold) => sum + Math.max(hold, intervalMs), 0);
  const longerThan = (wait: number) =>
    holds.reduce((sum, hold) => sum + Math.max(0, hold - wait), 0) / total;
  let [low, high] = [0, holdMaxMs];
  for (let i = 0; i < 30; i++) {
    const middle = (low + high) / 2;
    if (longerThan(middle) > 0.01) low = middle;
    else high = middle;
  }
  const seconds = (systemClock.monotonic() - begunAt) / 1000;
  const busyMsPerSecond = holds.reduce((sum, hold) => sum + hold, 0) / seconds;
  const delayedMsPerSecond = (threadMs()[1] - delayedBefore) / seconds;
  return { holdMaxMs, waitP99Ms: high, busyMsPerSecond, delayedMsPerSecond, collectionMaxMs };
}

/**
 * What this thread had of a processor, and what it waited for one; of the wall, and nothing, where
 * the system does not tell.
 */
function threadMs(): readonly [number, number] {
  if (file === undefined) return [systemClock.monotonic(), 0];
  // Asking for the process's time brings the thread's up to date; else it would be that of the last
  // tick.
  process.cpuUsage();
  const length = readSync(file, buffer, 0, buffer.length, 0);
  const [hadNs, waitedNs] = buffer.toString("latin1", 0, length).split(" ");
  return [Number(hadNs) / 1e6, Number(waitedNs) / 1e6];
}

function openThreadStatus(): number | undefined {
  try {
    return openSync(`/proc/self/task/${process.pid}/schedstat`, "r");
  } catch {
    // Not Linux.
    return undefined;
  }
}
