/** Noisy neighbours: what one tenant's gets take while another does its worst, against what they take when nobody else is there. */
import { join } from "node:path";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { ApiClient } from "./api-client.ts";
import { Child, programPath, startProgram } from "./child.ts";
import type { Bench } from "./contest.ts";
import { configMap, configMapsPath } from "./objects.ts";
import { against } from "./report.ts";
import { attackerToken, ServerProcess, victimToken } from "./server-process.ts";

interface Sample {
  readonly p50: number;
  readonly p99: number;
  readonly errors: number;
}

const attacks = ["writes", "lists", "tables", "watches", "bodies"] as const;

export async function neighbourRows(bench: Bench): Promise<void> {
  const { sizes } = bench.options;
  const server = await ServerProcess.start(join(bench.directory, "neighbours"));
  const attacked = { url: `${server.url}/clusters/attacker`, token: attackerToken };
  await fill(attacked, "attacker", sizes.listItems);
  await fill({ url: `${server.url}/clusters/victim`, token: victimToken }, "one", 1);
  const object = `${server.url}/clusters/victim${configMapsPath("default")}/one-0`;
  const victim = new Child(
    process.execPath,
    [programPath("neighbour-victim"), object, victimToken],
    {
      hasInput: true,
    },
  );
  const measure = async (): Promise<Sample> => {
    victim.say(String(sizes.neighbourMs));
    return JSON.parse(await victim.line("{")) as Sample;
  };
  await measure();
  const counts = {
    writes: 1000,
    lists: 100,
    tables: 20,
    watches: sizes.neighbourWatches,
    bodies: 20,
  };
  for (const attack of attacks) {
    const idle = await measure();
    const args = [attacked.url, attacked.token, attack, String(counts[attack])];
    const attacker = startProgram("neighbour-attacker", args);
    await attacker.line("attacking");
    await sleep(systemClock, sizes.settleMs);
    const beside = await measure();
    await attacker.end("SIGKILL");
    await sleep(systemClock, sizes.settleMs);
    report(bench, `${attack}, ${counts[attack]} at once`, idle, beside);
  }
  await victim.end();
  await server.stop();
}

function report(bench: Bench, attack: string, idle: Sample, beside: Sample): void {
  const row = { server: "kcp", unit: "ms" } as const;
  bench.report.add({
    ...row,
    work: `p99 of a get beside ${attack}`,
    figure: beside.p99,
    against: against("idle p99", beside.p99, idle.p99),
    wanted: { what: "ratio", atMost: 5 },
  });
  bench.report.add({
    ...row,
    work: `p50 of a get beside ${attack}`,
    figure: beside.p50,
    against: against("idle p50", beside.p50, idle.p50),
  });
  bench.report.add({
    work: `refused gets beside ${attack}`,
    server: "kcp",
    unit: "errors",
    figure: beside.errors,
    wanted: { what: "figure", atMost: 0 },
  });
}

async function fill(target: { url: string; token: string }, name: string, count: number) {
  const client = new ApiClient(target);
  const path = configMapsPath("default");
  for (let at = 0; at < count; at += 50)
    await Promise.all(
      Array.from({ length: Math.min(50, count - at) }, (_, i) =>
        client.must("POST", path, configMap(`${name}-${at + i}`)),
      ),
    );
  client.close();
}
