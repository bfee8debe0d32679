/**
 * Looks at what the server's thread is doing: loaded into its process before it starts, by
 * `--import`. Not part of the product.
 *
 * A line `begin` on stdin starts to take samples of the stack, `read` is answered on stderr with
 * the share of them that were inside each of the functions below. Samples are counted, not the time
 * between them: what other processes take from the server is not counted.
 */
import { Session } from "node:inspector/promises";
import { createInterface } from "node:readline";

/**
 * Stages of the pipeline, by the names of their functions, and the share of the thread's busy time
 * that passes inside them.
 */
export type ProfileProbe = Readonly<Record<(typeof stages)[number], number>>;

const stages = ["authenticate", "authorize"] as const;
const intervalMicros = 200;

const session = new Session();
session.connect();
await session.post("Profiler.enable");
await session.post("Profiler.setSamplingInterval", { interval: intervalMicros });

const commands = createInterface({ input: process.stdin });
commands.on("close", () => process.stdin.unref());
commands.on("line", (line) => {
  if (line === "begin") void session.post("Profiler.start");
  else if (line === "read") void tell();
});

async function tell(): Promise<void> {
  const { profile } = await session.post("Profiler.stop");
  const nodes = new Map(profile.nodes.map((node) => [node.id, node]));
  const counts = { authenticate: 0, authorize: 0 };
  let busy = 0;
  const walk = (id: number, inside: ReadonlySet<string>) => {
    const node = nodes.get(id);
    if (node === undefined) return;
    const { functionName } = node.callFrame;
    if (functionName === "(idle)") return;
    const here = new Set([...inside, functionName]);
    const hits = node.hitCount ?? 0;
    busy += hits;
    for (const stage of stages) if (here.has(stage)) counts[stage] += hits;
    for (const child of node.children ?? []) walk(child, here);
  };
  walk(profile.nodes[0]?.id ?? 0, new Set());
  const profileProbe = Object.fromEntries(stages.map((stage) => [stage, counts[stage] / busy]));
  process.stderr.write(`${JSON.stringify({ profileProbe })}\n`);
}
