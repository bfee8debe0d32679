/**
 * The SDK: what an informer takes of memory, what a client and a controller take of a processor,
 * and test servers.
 */
import { fileURLToPath } from "node:url";
import { Child } from "./child.ts";
import type { Bench } from "./contest.ts";

/**
 * Growth of resident memory over the process before the informer starts: a fresh process without
 * flags, over HTTP/2, with the server in another one.
 */
export async function informerRows({ options, report }: Bench): Promise<void> {
  const { informerObjects } = options.sizes;
  const wantedMegabytes = { whole: 90, metadata: 40 };
  for (const what of ["whole", "metadata"] as const) {
    for (const how of ["stream", "pages"] as const) {
      const env = {
        BENCH_OBJECTS: String(informerObjects),
        BENCH_SETTLE_MS: String(options.sizes.settleMs),
      };
      const program = "@kcp-ts/sdk|informer/informer-memory.bench.js";
      const figures = await figuresOf(program, [what, how], env);
      report.add({
        work: `informer of ${informerObjects} x 1 KB, ${what}, ${how}`,
        server: "kcp",
        figure: figures["grownMB"] ?? Number.NaN,
        unit: "MB",
        wanted: { what: "figure", atMost: wantedMegabytes[what] },
      });
      report.add({
        work: "... at its peak",
        server: "kcp",
        figure: figures["grownAtPeakMB"] ?? Number.NaN,
        unit: "MB",
      });
    }
  }
}

export async function sdkRows({ options, report }: Bench): Promise<void> {
  const { clientGets, controllerEvents, inProcessStarts, testServersAtOnce, settleMs } =
    options.sizes;
  const gets = { BENCH_REQUESTS: String(clientGets) };
  const get = await figuresOf("@kcp-ts/sdk|transport/get.bench.js", [], gets);
  report.add({
    work: "client, CPU of a get of 1 KB",
    server: "kcp",
    figure: get["sdkMicros"] ?? Number.NaN,
    unit: "µs",
    against: {
      name: "bare node:http2",
      figure: get["rawMicros"] ?? Number.NaN,
      ratio: get["ratio"] ?? Number.NaN,
    },
    wanted: { what: "ratio", atMost: 1.3 },
  });
  const events = { BENCH_EVENTS: String(controllerEvents) };
  const controller = await figuresOf("@kcp-ts/sdk|controller/controller.bench.js", [], events);
  report.add({
    work: "events through a controller",
    server: "kcp",
    figure: controller["eventsPerSecond"] ?? Number.NaN,
    unit: "/s",
    cpuMicros: controller["cpuMicrosPerEvent"],
    wanted: { what: "figure", atLeast: 20_000 },
  });
  const crashes = await figuresOf("@kcp-ts/testing|explore-faults.bench.js", [], {});
  report.add({
    work: `all crash points of ${crashes["writes"] ?? 0} writes`,
    server: "kcp",
    figure: crashes["ms"] ?? Number.NaN,
    unit: "ms",
    cpuMicros: crashes["cpuMicros"],
    wanted: { what: "figure", atMost: 10_000 },
  });
  const program = "@kcp-ts/testing|test-control-plane.bench.js";
  const tests = await figuresOf(program, [], {
    BENCH_STARTS: String(inProcessStarts),
    BENCH_AT_ONCE: String(testServersAtOnce),
    BENCH_SETTLE_MS: String(settleMs),
  });
  report.add({
    work: "test server, warm process, to ready",
    server: "kcp",
    figure: tests["readyMs"] ?? Number.NaN,
    unit: "ms",
    wanted: { what: "figure", atMost: 100 },
  });
  report.add({
    work: `${testServersAtOnce} test servers in a process`,
    server: "kcp",
    figure: tests["megabytes"] ?? Number.NaN,
    unit: "MB",
    wanted: { what: "figure", atMost: 300 },
  });
}

/**
 * Runs a benchmark that stands beside the code it measures, and reads the line of JSON that it
 * prints.
 */
async function figuresOf(
  program: string,
  args: readonly string[],
  env: Readonly<Record<string, string>>,
): Promise<Readonly<Record<string, number | undefined>>> {
  const [name = "", path = ""] = program.split("|");
  const file = fileURLToPath(new URL(path, import.meta.resolve(name)));
  const child = new Child(process.execPath, [file, ...args], { env });
  try {
    return JSON.parse(await child.line("{")) as Readonly<Record<string, number | undefined>>;
  } finally {
    await child.end();
  }
}
