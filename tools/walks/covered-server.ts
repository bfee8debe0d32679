/**
 * `kcp start` of the compiled files, one module per source file, in a process that counts the
 * calls of every function. The line `reset` on stdin begins a count; `read` ends it, and its
 * answer on stderr is the functions that were called, as JSON.
 */
import { Session } from "node:inspector/promises";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";

/** File to the names of its functions that were called, with their offsets. */
export type CalledFunctions = Readonly<Record<string, readonly string[]>>;

const root = new URL("../../../", import.meta.url);
const session = new Session();
session.connect();
await session.post("Profiler.enable");

const commands = createInterface({ input: process.stdin });
commands.on("close", () => process.stdin.unref());
commands.on("line", (line) => {
  if (line === "start") void start();
  else if (line === "reset") void session.post("Profiler.takePreciseCoverage").then(() => say({}));
  else if (line === "read") void read();
});

/** After the warm-up, so that no module counts for being loaded. */
async function start(): Promise<void> {
  await session.post("Profiler.startPreciseCoverage", { callCount: true, detailed: false });
  say({});
}

async function read(): Promise<void> {
  const { result } = await session.post("Profiler.takePreciseCoverage");
  const called: Record<string, string[]> = {};
  for (const { url, functions } of result) {
    const path = sourceOf(url);
    if (path === undefined) continue;
    for (const { functionName, ranges } of functions) {
      const [whole] = ranges;
      if (whole === undefined || whole.count === 0) continue;
      called[path] ??= [];
      called[path].push(
        `${functionName === "" ? "(anonymous)" : functionName}@${whole.startOffset}`,
      );
    }
  }
  say(called);
}

/** Undefined for modules of Node, of dependencies, and of tools. */
function sourceOf(url: string): string | undefined {
  if (!url.startsWith(root.href)) return undefined;
  const match = /^packages\/([^/]+)\/dist\/(.+)\.js$/.exec(url.slice(root.href.length));
  return match === null ? undefined : `packages/${match[1]}/src/${match[2]}.ts`;
}

function say(called: CalledFunctions): void {
  process.stderr.write(`${JSON.stringify({ called })}\n`);
}

const command = new URL("packages/cli/dist/index.js", root);
const { main } = (await import(command.href)) as { main(argv: readonly string[]): Promise<void> };
await main([process.execPath, fileURLToPath(command), ...process.argv.slice(2)]);
