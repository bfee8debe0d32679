/**
 * Preloaded into a server (`node --import`): measures one request, between two lines of stdin.
 *
 *     begin    collects garbage, then measures every turn of the event loop
 *     end      prints {"holdMs":…,"collections":…,"peakBytes":…,"keptBytes":…} to stderr when the
 *              server is idle
 *
 * A hold is the processor time of the main thread in one turn of the event loop, collections of
 * garbage included. The peak is the highest resident memory, less that of the beginning; the kernel
 * records it. Kept is what a collection of garbage leaves of the used memory.
 */
import { appendFileSync, openSync, readFileSync, readSync, writeFileSync } from "node:fs";
import { PerformanceObserver, performance } from "node:perf_hooks";
import { createInterface } from "node:readline";
import { getHeapStatistics } from "node:v8";
import { systemClock } from "@kcp-ts/machinery/base";
import { TurnProfile } from "./turn-profile.ts";

const intervalMs = 1;
/**
 * The same after a response: looking takes a tenth of a processor's time on a busy machine, which
 * would be taken for work of the server.
 */
const quietIntervalMs = 5;
const schedule = openSync("/proc/thread-self/schedstat", "r");
const scheduleText = Buffer.alloc(64);
const collect = (globalThis as { gc?: () => void }).gc;

/** A file that receives the profile of each turn longer than half of the limit. */
const profilePath = process.env["KCP_REDTEAM_PROFILE"];
const profile = profilePath === undefined ? undefined : await TurnProfile.open();
const profiledMsMin = 25;
const profiledBytesMin = 32 << 20;
let longest = { from: 0, to: 0 };
let lookedAt = 0;

/** The collections of garbage that V8 reports. */
let collections: ReturnType<typeof performance.getEntries> = [];
new PerformanceObserver((list) => {
  for (const entry of list.getEntries()) collections.push(entry);
}).observe({ entryTypes: ["gc"] });

let isRunning = false;
let isAnswered = false;
let holdMs = 0;
let last = 0;
let residentBefore = 0;
let usedBefore = 0;
let memoryBefore = "";

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
  // Resets the peak of resident memory that the kernel records.
  writeFileSync("/proc/self/clear_refs", "5");
  residentBefore = residentBytes("VmHWM");
  memory = { heap: 0, external: 0, malloced: 0 };
  noteMemory();
  memoryBefore = memoryText();
  holdMs = 0;
  last = threadMs();
  lookedAt = performance.now();
  collections = [];
  isRunning = true;
  isAnswered = false;
  process.stderr.write('{"redteam":"begun"}\n');
  look();
}

function look(): void {
  systemClock.schedule(isAnswered ? quietIntervalMs : intervalMs, () => {
    if (!isRunning) return;
    turn();
    look();
  });
}

function turn(): void {
  noteMemory();
  const now = threadMs();
  const to = performance.now();
  if (now - last > holdMs) {
    holdMs = now - last;
    longest = { from: lookedAt, to };
  }
  last = now;
  lookedAt = to;
}

/** The largest figures of V8 in the turns of a profiled request: garbage is part of them. */
let memory = { heap: 0, external: 0, malloced: 0 };

function noteMemory(): void {
  if (profilePath === undefined) return;
  const now = getHeapStatistics();
  memory = {
    heap: Math.max(memory.heap, now.total_physical_size),
    external: Math.max(memory.external, now.external_memory),
    malloced: Math.max(memory.malloced, now.malloced_memory),
  };
}

function memoryText(): string {
  const shown = Object.entries(memory).map(([name, bytes]) => `${name} ${bytes >> 20} MiB`);
  return `at most: ${shown.join(", ")}`;
}

/** Controllers work on after a response; their work belongs to the request until it ends. */
const quietMs = 40;
const quietShare = 0.15;
const endMsMax = 10_000;

function end(waitedMs = 0, before = threadMs()): void {
  isAnswered = true;
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
  // Observers are called in another turn.
  await new Promise((resolve) => setImmediate(resolve));
  const collected = collectionsOf(longest);
  collect?.();
  const keptBytes = used() - usedBefore;
  const tree = await profile?.end(longest.from, longest.to);
  const allocated = await profile?.allocations();
  if (profilePath !== undefined && (holdMs > profiledMsMin || peakBytes > profiledBytesMin)) {
    const taken = `${holdMs.toFixed(1)} ms of processor time, ${peakBytes >> 20} MiB`;
    appendFileSync(
      profilePath,
      `\n${taken}; ${memoryText()} (${memoryBefore}); ${tree}${allocated}`,
    );
  }
  process.stderr.write(
    `${JSON.stringify({ holdMs, collections: collected, peakBytes, keptBytes })}\n`,
  );
}

/**
 * The collections in one turn: wall time, kind (1 young generation, 4 all) and V8's flags (4
 * requested, 16 to reduce memory).
 */
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
  // A call of getrusage updates the kernel's figure, which else is that of the last tick.
  process.cpuUsage();
  const length = readSync(schedule, scheduleText, 0, scheduleText.length, 0);
  return Number(scheduleText.toString("latin1", 0, length).split(" ")[0]) / 1e6;
}

function residentBytes(field: string): number {
  const status = readFileSync("/proc/self/status", "utf8");
  return Number(new RegExp(`^${field}:\\s+(\\d+) kB$`, "m").exec(status)?.[1] ?? 0) * 1024;
}
