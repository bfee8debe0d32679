/** Gets and creates: rates with 64 in flight, and how long one alone takes. */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { startProgram } from "./child.ts";
import { compare } from "./compare.ts";
import { type Bench, benchNamespace, type Contest, type Shape } from "./contest.ts";
import type { Contender } from "./measure.ts";
import { configMap, configMapsPath } from "./objects.ts";

const inFlight = 64;
const path = configMapsPath(benchNamespace);
const onePath = `${path}/one`;

export async function getRows({ options, report }: Bench, contest: Contest): Promise<void> {
  const shape = manyInFlight(options.sizes.getsPerRound);
  const measured = await contest.measure([
    ...contest.requests(onePath, shape),
    contest.bareRequests("bare HTTP/2 get", "/one", shape),
    contest.bareRequests("bare HTTP/2 get, streams", "/one", shape, { api: "streams" }),
  ]);
  const servers = contest.contestants.length;
  compare(report, {
    work: `get, ${inFlight} in flight`,
    unit: "/s",
    measured,
    servers,
    wanted: { "bare HTTP/2 get": { what: "ratio", atLeast: 0.6 } },
  });
}

/**
 * Compared with the bare get, the most that the process can do, and with what else bounds a create:
 * its body and the disk.
 */
export async function createRows(bench: Bench, contest: Contest): Promise<void> {
  const shape = manyInFlight(bench.options.sizes.createsPerRound);
  const body = configMap();
  const measured = await contest.measure([
    ...contest.requests(path, shape, body),
    contest.bareRequests("bare HTTP/2 get", "/one", shape),
    contest.bareRequests("bare HTTP/2 get, streams", "/one", shape, { api: "streams" }),
    contest.bareRequests("bare HTTP/2 post", "/", shape, { body }),
    bareDisk(bench, contest, "level", "bare LevelDB batches of 64"),
    bareDisk(bench, contest, "append", "bare fdatasync of 64"),
  ]);
  compare(bench.report, {
    work: `durable create of 1 KB, ${inFlight} in flight`,
    unit: "/s",
    measured,
    servers: contest.contestants.length,
    wanted: { "bare HTTP/2 get": { what: "ratio", atLeast: 0.35 } },
  });
}

export async function latencyRows({ options, report }: Bench, contest: Contest): Promise<void> {
  const servers = contest.contestants.length;
  const gets = { connections: 1, streams: 1, requests: options.sizes.singleGets };
  const creates = { ...gets, requests: options.sizes.singleCreates };
  const body = configMap();
  const got = await contest.measure([
    ...contest.requests(onePath, gets),
    contest.bareRequests("bare HTTP/2 get", "/one", gets),
  ]);
  compare(report, { work: "get, 1 in flight", unit: "µs", measured: got, servers });
  const created = await contest.measure([
    ...contest.requests(path, creates, body),
    contest.bareRequests("bare HTTP/2 post", "/", creates, { body }),
  ]);
  compare(report, { work: "durable create, 1 in flight", unit: "µs", measured: created, servers });
}

function manyInFlight(requests: number): Shape {
  return { requests, connections: 8, streams: inFlight / 8 };
}

function bareDisk(
  { directory, options }: Bench,
  contest: Contest,
  kind: "level" | "append",
  name: string,
): Contender {
  const folder = join(directory, `bare-${kind}`);
  mkdirSync(folder);
  const count = options.sizes.createsPerRound;
  const args = [kind, folder, contest.bodyFile("one"), String(count), String(inFlight)];
  return {
    name,
    round: async () => {
      const child = startProgram("bare-disk", args);
      const perSecond = Number(await child.line());
      await child.end();
      return { perSecond, count };
    },
  };
}
