/**
 * How long until it serves: in a fresh directory, after a kill with much in the store, and inside a
 * process.
 */
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { systemClock } from "@kcp-ts/machinery/base";
import { ApiClient } from "./api-client.ts";
import { startProgram } from "./child.ts";
import type { Bench } from "./contest.ts";
import { median } from "./measure.ts";
import { configMap, configMapsPath, namespace } from "./objects.ts";
import { benchToken, ServerProcess } from "./server-process.ts";

export async function startRows(bench: Bench): Promise<void> {
  await coldRow(bench);
  await killedRow(bench);
  await inProcessRow(bench);
}

async function coldRow({ options, directory, report }: Bench): Promise<void> {
  const times: number[] = [];
  for (let i = 0; i < options.sizes.coldStarts; i++) {
    const server = await ServerProcess.start(join(directory, `cold-${i}`));
    times.push(server.readyMs);
    await server.stop();
  }
  report.add({
    work: "start, fresh directory, to readyz",
    server: "kcp",
    figure: median(times),
    unit: "ms",
    wanted: { what: "figure", atMost: 600 },
  });
}

/**
 * Killed right after a write, so that the log is as long as it gets. It serves when it has answered
 * for what was written last.
 */
async function killedRow({ options, directory, report, generate }: Bench): Promise<void> {
  const root = join(directory, "killed");
  const { restartObjects, coldStarts } = options.sizes;
  const base = "/clusters/bench";
  const path = `${base}${configMapsPath("full")}`;
  let server = await ServerProcess.start(root);
  let client = new ApiClient({ url: server.url, token: benchToken });
  await client.must("POST", `${base}/api/v1/namespaces`, namespace("full"));
  const shape = { requests: restartObjects, connections: 8, streams: 8 };
  await generate({ url: server.url + path, token: benchToken, body: configMap(), ...shape });
  const times: number[] = [];
  for (let i = 0; i < coldStarts; i++) {
    await client.must("POST", path, configMap(`last-${i}`));
    client.close();
    await server.kill();
    const startedAt = systemClock.monotonic();
    server = await ServerProcess.start(root);
    client = new ApiClient({ url: server.url, token: benchToken });
    await client.must("GET", `${path}/last-${i}`);
    times.push(systemClock.monotonic() - startedAt);
  }
  client.close();
  await server.stop();
  report.add({
    work: `start after kill -9, ${restartObjects} objects, to a get`,
    server: "kcp",
    figure: median(times),
    unit: "ms",
    wanted: { what: "figure", atMost: 1000 },
  });
}

async function inProcessRow({ options, directory, report }: Bench): Promise<void> {
  const { inProcessStarts } = options.sizes;
  const folder = join(directory, "in-process");
  mkdirSync(folder);
  const child = startProgram("in-process-start", [folder, String(inProcessStarts)]);
  const times: number[] = [];
  for (let i = 0; i < inProcessStarts; i++) times.push(Number(await child.line()));
  await child.end();
  report.add({
    work: "start in process, in memory",
    server: "kcp",
    figure: median(times),
    unit: "ms",
    wanted: { what: "figure", atMost: 100 },
  });
}
