/**
 * Preloaded into a server (`node --import`): how long its event loop was held, at most, between two
 * lines of stdin.
 *
 *     begin            starts to look at every turn of the event loop
 *     end              prints {"holdMs":…,"wallMs":…} to stderr: the longest turn since
 *     heap             prints {"heapBytes":…}: what is left after collections
 *
 * A turn's hold is the smallest of the time that passed, the processor time that all threads of the
 * process took, and the main thread's processor time by the kernel's clock, which ticks every four
 * milliseconds: the main thread cannot have worked for longer, and what other programs do on the
 * machine does not count.
 */
import { openSync, readSync } from "node:fs";
import { createInterface } from "node:readline";
import { sleep, systemClock } from "@kcp-ts/machinery/base";

interface Longest {
  holdMs: number;
  wallMs: number;
}

let longest: Longest | undefined;
let lastCpu = 0;
let lastWall = 0;
let lastThread = 0;

const tickMs = 4;
const schedule = openSync("/proc/thread-self/schedstat", "r");
const scheduleText = Buffer.alloc(64);

const commands = createInterface({ input: process.stdin });
commands.on("line", (line) => {
  if (line === "begin") begin();
  else if (line === "end") end();
  else if (line === "heap") void heap();
});
commands.on("close", () => process.stdin.unref());

function begin(): void {
  longest = { holdMs: 0, wallMs: 0 };
  lastCpu = cpuMs();
  lastWall = systemClock.monotonic();
  lastThread = threadMs();
  setImmediate(turn);
}

function end(): void {
  const said = longest ?? { holdMs: 0, wallMs: 0 };
  longest = undefined;
  process.stderr.write(`${JSON.stringify(said)}\n`);
}

async function heap(): Promise<void> {
  const collect = (globalThis as { gc?: () => void }).gc;
  for (let i = 0; i < 4; i++) {
    collect?.();
    await sleep(systemClock, 10);
  }
  const { heapUsed, external } = process.memoryUsage();
  process.stderr.write(`${JSON.stringify({ heapBytes: heapUsed + external })}\n`);
}

function turn(): void {
  if (longest === undefined) return;
  const cpu = cpuMs();
  const wall = systemClock.monotonic();
  const thread = threadMs();
  const hold = Math.min(cpu - lastCpu, wall - lastWall, thread - lastThread + tickMs);
  longest.holdMs = Math.max(longest.holdMs, hold);
  lastThread = thread;
  longest.wallMs = Math.max(longest.wallMs, wall - lastWall);
  lastCpu = cpu;
  lastWall = wall;
  setImmediate(turn);
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}

function threadMs(): number {
  const length = readSync(schedule, scheduleText, 0, scheduleText.length, 0);
  return Number(scheduleText.toString("latin1", 0, length).split(" ")[0]) / 1e6;
}
