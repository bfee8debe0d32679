/**
 * Noisy neighbours: what one tenant's gets take while another does its worst, against what they take when nobody else is there.
 *
 * The server has a processor of its own, idle and under attack alike; those who attack and the one who measures share the others, the
 * attackers at the lowest priority. On one machine a client that sends as fast as it can would otherwise take what the server needs, and the figure
 * would be that of the machine. What is left of it is shown by a control: the same attack on a server next door, on the clients' processors.
 *
 * On a machine with other work the wall's time is its noise. The row by processor time holds there, too: what a request has still to wait for when
 * it comes, in processor time of the server's loop, on top of what it takes when nobody else is there.
 */
import { join } from "node:path";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { ApiClient } from "./api-client.ts";
import { Child, programPath, startProgram } from "./child.ts";
import type { Bench } from "./contest.ts";
import type { LoopProbe } from "./loop-probe.ts";
import { median } from "./measure.ts";
import { configMap, configMapsPath } from "./objects.ts";
import type { Attack } from "./options.ts";
import { against } from "./report.ts";
import { attackerToken, ServerProcess, victimToken } from "./server-process.ts";

interface Sample {
  readonly p50: number;
  readonly p99: number;
  readonly errors: number;
  readonly count: number;
}

interface Round {
  readonly idle: Sample;
  readonly beside: Sample;
  readonly nextDoor: Sample;
  readonly probe: LoopProbe;
}

interface Stage {
  readonly server: ServerProcess;
  readonly nextDoor: ServerProcess;
  readonly measure: () => Promise<Sample>;
}

export async function neighbourRows(bench: Bench): Promise<void> {
  const { options, directory } = bench;
  const server = await ServerProcess.start(join(directory, "neighbours"), {
    preload: "loop-probe",
    side: "server",
  });
  const nextDoor = await ServerProcess.start(join(directory, "next-door"), { side: "clients" });
  await fill({ url: `${server.url}/clusters/victim`, token: victimToken }, "one", 1);
  const object = `${server.url}/clusters/victim${configMapsPath("default")}/one-0`;
  const victim = new Child(
    process.execPath,
    [programPath("neighbour-victim"), object, victimToken],
    { hasInput: true, side: "clients" },
  );
  const measure = async (): Promise<Sample> => {
    victim.say(String(options.sizes.neighbourMs));
    return JSON.parse(await victim.line("{")) as Sample;
  };
  await measure();
  const stage = { server, nextDoor, measure };
  for (const attack of options.attacks) {
    for (const { url } of [server, nextDoor])
      await fill(
        { url: `${url}/clusters/${attack}`, token: attackerToken },
        attack,
        objectsOf(attack, bench),
      );
    const rounds: Round[] = [];
    for (let i = 0; i < options.rounds; i++) rounds.push(await round(bench, attack, stage));
    report(bench, `${attack}, ${countOf(attack, bench)} at once`, rounds);
  }
  await victim.end();
  await nextDoor.stop();
  await server.stop();
}

async function round(bench: Bench, attack: Attack, stage: Stage): Promise<Round> {
  const { server, nextDoor, measure } = stage;
  const idle = await measure();
  const elsewhere = await beside(bench, attack, nextDoor, measure);
  const probed = async () => {
    server.say("begin");
    const sample = await measure();
    server.say("read");
    const { loopProbe } = JSON.parse(await server.line("loopProbe")) as { loopProbe: LoopProbe };
    return { beside: sample, probe: loopProbe };
  };
  return { idle, nextDoor: elsewhere, ...(await beside(bench, attack, server, probed)) };
}

async function beside<Result>(
  bench: Bench,
  attack: Attack,
  { url }: ServerProcess,
  measure: () => Promise<Result>,
): Promise<Result> {
  const { settleMs } = bench.options.sizes;
  const count = String(countOf(attack, bench));
  const args = [`${url}/clusters/${attack}`, attackerToken, attack, count];
  const attacker = startProgram("neighbour-attacker", args, { side: "clients" });
  await attacker.line("attacking");
  await sleep(systemClock, settleMs);
  const sample = await measure();
  await attacker.end("SIGKILL");
  await sleep(systemClock, settleMs);
  return sample;
}

function countOf(attack: Attack, { options }: Bench): number {
  return attack === "watches" || attack === "openings"
    ? options.sizes.neighbourWatches
    : { writes: 1000, lists: 100, tables: 20, bodies: 20 }[attack];
}

function objectsOf(attack: Attack, { options }: Bench): number {
  return attack === "lists" || attack === "tables" ? options.sizes.listItems : 1;
}

function report(bench: Bench, attack: string, rounds: readonly Round[]): void {
  const of = (pick: (round: Round) => number) => median(rounds.map(pick));
  const row = { server: "kcp", unit: "ms" } as const;
  const ratio = of(({ idle, beside }) => beside.p99 / idle.p99);
  bench.report.add({
    ...row,
    work: `p99 of a get beside ${attack}`,
    figure: of(({ beside }) => beside.p99),
    against: { name: "idle p99", figure: of(({ idle }) => idle.p99), ratio },
    wanted: { what: "ratio", atMost: 5 },
  });
  bench.report.add({
    ...row,
    work: "… by processor time: idle, and what a request met",
    figure: of(({ idle, probe }) => idle.p99 + probe.waitP99Ms),
    against: {
      ...{ name: "idle p99", figure: of(({ idle }) => idle.p99) },
      ratio: of(({ idle, probe }) => 1 + probe.waitP99Ms / idle.p99),
    },
    wanted: { what: "ratio", atMost: 5 },
  });
  const alone = of(({ nextDoor }) => nextDoor.p99);
  bench.report.add({
    ...row,
    work: `… with the attack on a server next door`,
    figure: alone,
    against: {
      ...{ name: "idle p99", figure: of(({ idle }) => idle.p99) },
      ratio: of(({ idle, nextDoor }) => nextDoor.p99 / idle.p99),
    },
  });
  const p50 = of(({ beside }) => beside.p50);
  bench.report.add({
    ...row,
    work: `… p50`,
    figure: p50,
    against: against(
      "idle p50",
      p50,
      of(({ idle }) => idle.p50),
    ),
  });
  const probes = [
    ["what a request met, p99 (CPU time)", ({ probe }: Round) => probe.waitP99Ms],
    ["the server's CPU time per second", ({ probe }: Round) => probe.busyMsPerSecond],
    ["longest hold of the loop (CPU time)", ({ probe }: Round) => probe.holdMaxMs],
    ["longest collection of garbage", ({ probe }: Round) => probe.collectionMaxMs],
  ] as const;
  for (const [what, pick] of probes)
    bench.report.add({ ...row, work: `… ${what}`, figure: of(pick) });
  bench.report.add({
    work: `… refused gets`,
    server: "kcp",
    unit: "errors",
    figure: rounds.reduce((sum, { beside }) => sum + beside.errors, 0),
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
