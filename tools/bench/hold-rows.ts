/**
 * Hostile requests: for how long each holds the event loop of a server that has just started, and
 * of one that has seen it before.
 *
 * Nothing is asserted from it; tests count work instead of time.
 */
import { join } from "node:path";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { ApiClient } from "./api-client.ts";
import type { Bench } from "./contest.ts";
import { definitionsPath, type HoldCase, type HostileRequest } from "./hold-case.ts";
import { definitionCases } from "./hold-definitions.ts";
import { objectCases } from "./hold-objects.ts";
import { against } from "./report.ts";
import { benchToken, ServerProcess } from "./server-process.ts";

const holdMaxMs = 50;
const cluster = "hostile";

export async function holdRows(bench: Bench): Promise<void> {
  const { cases, sizes } = bench.options;
  const { holdCases, holdRepeats } = sizes;
  const all = [...definitionCases, ...objectCases].filter(
    ({ name }) => cases.length === 0 || cases.some((part) => name.includes(part)),
  );
  if (all.length === 0) throw new Error(`no hostile request is named ${cases.join(" or ")}`);
  const step = Math.max(1, Math.floor(all.length / holdCases));
  const chosen = all.filter((_, i) => i % step === 0);
  for (const [i, each] of chosen.entries())
    await holdRow(bench, each, join(bench.directory, `hold-${i}`), holdRepeats);
}

async function holdRow(
  bench: Bench,
  { name, before = [], request }: HoldCase,
  directory: string,
  repeats: number,
): Promise<void> {
  const server = await ServerProcess.start(directory, { preload: "hold-sampler" });
  const client = new ApiClient({ url: `${server.url}/clusters/${cluster}`, token: benchToken });
  try {
    for (const each of before) await prepare(client, each);
    await sleep(systemClock, bench.options.sizes.holdSettleMs);
    const holds: number[] = [];
    const walls: number[] = [];
    let status = 0;
    for (let n = 0; n <= repeats; n++) {
      const { method, path, body, contentType, accept } = request(n);
      server.say("begin");
      const answer = await client.request(method, path, body, contentType, accept);
      if (n === 0) ({ status } = answer);
      // What a write sets off belongs to it.
      await sleep(systemClock, bench.options.sizes.holdSettleMs);
      server.say("end");
      const { holdMs, wallMs } = JSON.parse(await server.line('{"holdMs"')) as Hold;
      holds.push(holdMs);
      walls.push(wallMs);
    }
    const [cold = 0, ...warm] = holds;
    bench.report.add({
      work: `${name}: ${status}`,
      server: "kcp",
      figure: cold,
      unit: "ms",
      against: against("warm", cold, Math.max(...warm)),
      wanted: { what: "figure", atMost: holdMaxMs },
    });
  } finally {
    client.close();
    await server.kill();
  }
}

interface Hold {
  readonly holdMs: number;
  readonly wallMs: number;
}

async function prepare(
  client: ApiClient,
  { method, path, body, contentType }: HostileRequest,
): Promise<void> {
  await client.request(method, path, body, contentType);
  if (path !== definitionsPath) return;
  const { metadata } = JSON.parse(body ?? "") as { metadata: { name: string } };
  const established = '"type":"Established","status":"True"';
  for (;;) {
    const answer = await client.request("GET", `${definitionsPath}/${metadata.name}`);
    if (answer.body.includes(established)) return;
    if (answer.status !== 200) throw new Error(`the definition of a case was refused`);
    await sleep(systemClock, 10);
  }
}
