/**
 * Preloaded into a server (`node --import`): what one request costs, between two lines of stdin.
 *
 *     begin            collects garbage, then starts to look at every turn of the event loop
 *     end              prints {"holdMs":…,"collections":…,"peakBytes":…,"keptBytes":…} to stderr, once the server has nothing left to do
 *
 * A hold is processor time of the main thread in one turn of the event loop; the collections of garbage in that turn are part of it. The peak is how much more memory was resident at any
 * moment than at the beginning, as the kernel saw it; kept is what a collection leaves of it.
 */
import { appendFileSync, openSync, readFileSync, readSync, writeFileSync } from "node:fs";
import { PerformanceObserver, performance } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { systemClock } from "@kcp-ts/machinery/base";
import { TurnProfile } from "./turn-profile.ts";

const intervalMs = 1;
const schedule = openSync("/proc/thread-self/schedstat", "r");
const scheduleText = Buffer.alloc(64);
const collect = (globalThis as { gc?: () => void }).gc;

/** A file to which turns that are longer than half of what is allowed are written, function by function. */
const profilePath = process.env["KCP_REDTEAM_PROFILE"];
const profile = profilePath === undefined ? undefined : await TurnProfile.open();
const profiledMsMin = 25;
let longest = { from: 0, to: 0 };
let lookedAt = 0;

/** Of garbage, as V8 tells of them. */
let collections: ReturnType<typeof performance.getEntries> = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) collections.push(entry);
}).observe({ entryTypes: ["gc"] });

let isRunning = false;
let holdMs = 0;
let last = 0;
let residentBefore = 0;
let usedBefore = 0;

const commands = createInterface({ input: process.stdin });
commands.on("close", () => process.stdin.unref());
commands.on("line", (line) => {
  if (line === "begin") void begin();
  else if (line === "end") end();
});

async function begin(): Promise<void> {
  await profile?.begin();
  collect?.();
  usedBefore = used();
  // From here on the kernel remembers the highest that it sees.
  writeFileSync("/proc/self/clear_refs", "5");
  residentBefore = residentBytes("VmHWM");
  holdMs = 0;
  last = threadMs();
  lookedAt = performance.now();
  collections = [];
  isRunning = true;
  process.stderr.write('{"redteam":"begun"}\n');
  look();
}

function look(): void {
  systemClock.schedule(intervalMs, () => {
    if (!isRunning) return;
    turn();
    look();
  });
}

function turn(): void {
  const now = threadMs();
  const to = performance.now();
  if (now - last > holdMs) {
    holdMs = now - last;
    longest = { from: lookedAt, to };
  }
  last = now;
  lookedAt = to;
}

/** Others' work goes on after an answer; it belongs to the request until the loop is quiet. */
const quietMs = 40;
const quietShare = 0.15;
const endMsMax = 10_000;

function end(waitedMs = 0, before = threadMs()): void {
  systemClock.schedule(quietMs, () => {
    const now = threadMs();
    if (now - before < quietMs * quietShare || waitedMs >= endMsMax) void finish();
    else end(waitedMs + quietMs, now);
  });
}

async function finish(): Promise<void> {
  isRunning = false;
  turn();
  const peakBytes = residentBytes("VmHWM") - residentBefore;
  // Observers are told in a turn of their own.
  await new Promise((resolve) => setImmediate(resolve));
  const told = collectionsOf(longest);
  collect?.();
  const keptBytes = used() - usedBefore;
  const tree = await profile?.end(longest.from, longest.to);
  if (profilePath !== undefined && holdMs > profiledMsMin) {
    appendFileSync(profilePath, `\n${holdMs.toFixed(1)} ms of processor time, ${tree}`);
  }
  process.stderr.write(`${JSON.stringify({ holdMs, collections: told, peakBytes, keptBytes })}\n`);
}

/** Those of a turn: how long, by the wall, of which kind (1 of the young, 4 of all), and why (4 asked for, 16 because memory is to be given back). */
function collectionsOf({ from, to }: { readonly from: number; readonly to: number }): string[] {
  return collections
    .filter(({ startTime, duration }) => startTime + duration >= from && startTime <= to)
    .map(({ duration, detail }) => {
      const { kind, flags } = detail as { readonly kind: number; readonly flags: number };
      return `${duration.toFixed(1)} ms of kind ${kind} for ${flags}`;
    });
}

function used(): number {
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

function threadMs(): number {
  // Asking for the process's time brings the thread's up to date; else it would be that of the last tick.
  process.cpuUsage();
  const length = readSync(schedule, scheduleText, 0, scheduleText.length, 0);
  return Number(scheduleText.toString("latin1", 0, length).split(" ")[0]) / 1e6;
}

function residentBytes(field: string): number {
  const status = readFileSync("/proc/self/status", "utf8");
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? 0) * 1024;
}
