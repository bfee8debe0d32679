/**
 * Preloaded into a server (`node --import`): how long its event loop was held, at most, between two lines of stdin.
 *
 *     begin            starts to look at every turn of the event loop
 *     end              prints {"holdMs":…,"wallMs":…} to stderr: the longest turn since
 *
 * A turn's hold is the smaller of the time that passed and the processor time that all threads of the process took: the main thread cannot have worked for
 * longer than either, and other programs on the machine count in neither alone.
 */
import { createInterface } from "node:readline";
import { systemClock } from "@kcp-ts/machinery/base";

interface Longest {
  holdMs: number;
  wallMs: number;
}

let longest: Longest | undefined;
let lastCpu = 0;
let lastWall = 0;

const commands = createInterface({ input: process.stdin });
commands.on("line", (line) => {
  if (line === "begin") begin();
  else if (line === "end") end();
});
commands.on("close", () => process.stdin.unref());

function begin(): void {
  longest = { holdMs: 0, wallMs: 0 };
  lastCpu = cpuMs();
  lastWall = systemClock.monotonic();
  setImmediate(turn);
}

function end(): void {
  const said = longest ?? { holdMs: 0, wallMs: 0 };
  longest = undefined;
  process.stderr.write(`${JSON.stringify(said)}\n`);
}

function turn(): void {
  if (longest === undefined) return;
  const cpu = cpuMs();
  const wall = systemClock.monotonic();
  longest.holdMs = Math.max(longest.holdMs, Math.min(cpu - lastCpu, wall - lastWall));
  longest.wallMs = Math.max(longest.wallMs, wall - lastWall);
  lastCpu = cpu;
  lastWall = wall;
  setImmediate(turn);
}

function cpuMs(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1000;
}
