/**
 * Noisy neighbours: what one tenant's gets take while another does its worst, against what they
 * take in the same run when nobody else is there, just before the attack and just after it.
 *
 * Those who attack and the one who measures share one processor, the attackers at the lowest
 * priority; the server has the others, and what is left of that one, idle and under attack alike.
 * On one machine a client that sends as fast as it can would otherwise take what the server needs,
 * and the figure would be that of the machine.
 *
 * On a machine with other work the wall's time is its noise. The row by processor time holds there,
 * too: what a request has still to wait for when it comes, in processor time of the server's loop.
 */
import { join } from "node:path";
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { openingMaxMs, waitForIdle, within } from "./abuse-budget.ts";
import { ApiClient, type ApiTarget } from "./api-client.ts";
import { Child, programPath, startProgram } from "./child.ts";
import type { Bench } from "./contest.ts";
import { widget, widgets, widgetsPath } from "./crd-definitions.ts";
import { definitionsPath } from "./hold-case.ts";
import type { LoopProbe } from "./loop-probe.ts";
import { median } from "./measure.ts";
import { configMap, configMapsPath } from "./objects.ts";
import type { Attack } from "./options.ts";
import { attackerToken, ServerProcess, victimToken } from "./server-process.ts";

interface Sample {
  readonly p50: number;
  readonly p99: number;
  readonly errors: number;
  readonly count: number;
}

interface Round {
  readonly idleBefore: Sample;
  readonly beside: Sample;
  readonly idleAfter: Sample;
  readonly probe: LoopProbe;
  /** Watches of the attack, when the measurement began and when it ended. */
  readonly open: { readonly before: number; readonly after: number };
}

interface Stage {
  readonly server: ServerProcess;
  readonly measure: (durationMs: number) => Promise<Sample>;
}

/** A child that says nothing for so long beyond its work is stuck. */
const answerMaxMs = 60_000;
/** What a server has left to do after an attack takes no longer. */
const quietMaxMs = 15_000;

export async function noisyTenantRows(bench: Bench): Promise<void> {
  const { options, directory } = bench;
  const { neighbourIdleMs } = options.sizes;
  const server = await ServerProcess.start(join(directory, "neighbours"), {
    preload: "loop-probe",
    side: "server",
  });
  await fill({ url: `${server.url}/clusters/victim`, token: victimToken }, "one", 1);
  const object = `${server.url}/clusters/victim${configMapsPath("default")}/one-0`;
  const victim = new Child(
    process.execPath,
    [programPath("neighbour-victim"), object, victimToken],
    { hasInput: true, side: "clients" },
  );
  const measure = async (durationMs: number): Promise<Sample> => {
    victim.say(String(durationMs));
    const line = within(durationMs + answerMaxMs, "the gets that are measured", victim.line("{"));
    return JSON.parse(await line) as Sample;
  };
  const stage = { server, measure };
  // Nothing is compiled at first.
  await measure(neighbourIdleMs);
  for (const attack of options.attacks) {
    const target = { url: `${server.url}/clusters/${attack}`, token: attackerToken };
    await fill(target, attack, objectsOf(attack, bench));
    const rounds: Round[] = [];
    for (let i = 0; i < options.neighbourRounds; i++)
      rounds.push(await round(bench, attack, stage));
    report(bench, `${attack}, ${countOf(attack, bench)} at once`, rounds);
    if (attack === "watches") reportOpen(bench, rounds);
  }
  await victim.end();
  await server.stop();
}

async function round(bench: Bench, attack: Attack, { server, measure }: Stage): Promise<Round> {
  const { neighbourMs, neighbourIdleMs, neighbourSettleMs } = bench.options.sizes;
  const { pid } = server;
  const waitMaxMs = bench.options.isQuick ? 0 : quietMaxMs;
  await waitForIdle({ pid, waitMaxMs, after: `what was prepared for ${attack}` });
  const idleBefore = await measure(neighbourIdleMs);
  const count = String(countOf(attack, bench));
  const args = [`${server.url}/clusters/${attack}`, attackerToken, attack, count];
  const attacker = startProgram("neighbour-attacker", args, { hasInput: true, side: "clients" });
  const beginMaxMs = openingMaxMs + answerMaxMs;
  await within(beginMaxMs, `the attack ${attack} to begin`, attacker.line("attacking"));
  await sleep(systemClock, neighbourSettleMs);
  const before = await openWatches(attacker);
  server.say("begin");
  const beside = await measure(neighbourMs);
  const after = await openWatches(attacker);
  server.say("read");
  const read = within(answerMaxMs, "the server's own view of its loop", server.line("loopProbe"));
  const { loopProbe: probe } = JSON.parse(await read) as { loopProbe: LoopProbe };
  await attacker.end("SIGKILL");
  await waitForIdle({ pid, waitMaxMs, after: attack });
  const idleAfter = await measure(neighbourIdleMs);
  return { idleBefore, beside, idleAfter, probe, open: { before, after } };
}

async function openWatches(attacker: Child): Promise<number> {
  attacker.say("");
  const line = within(answerMaxMs, "how many watches are open", attacker.line("open "));
  return Number((await line).slice("open ".length));
}

function countOf(attack: Attack, { options }: Bench): number {
  return attack === "watches" || attack === "openings"
    ? options.sizes.neighbourWatches
    : {
        writes: 1000,
        lists: 100,
        "custom-lists": 100,
        tables: 20,
        bodies: 20,
        "largest-bodies": 20,
        "yaml-bodies": 20,
      }[attack];
}

function objectsOf(attack: Attack, { options }: Bench): number {
  const isList = attack === "lists" || attack === "custom-lists" || attack === "tables";
  return isList ? options.sizes.listItems : 1;
}

/** The gets' p99 when nobody else is there. */
function idleP99({ idleBefore, idleAfter }: Round): number {
  return (idleBefore.p99 + idleAfter.p99) / 2;
}

function report(bench: Bench, attack: string, rounds: readonly Round[]): void {
  const of = (pick: (round: Round) => number) => median(rounds.map(pick));
  const row = { server: "kcp", unit: "ms" } as const;
  const wanted = { what: "ratio", atMost: 5 } as const;
  const before = of(({ idleBefore }) => idleBefore.p99).toFixed(2);
  const after = of(({ idleAfter }) => idleAfter.p99).toFixed(2);
  const name = `idle p99 (${before} before, ${after} after)`;
  bench.report.add({
    ...row,
    work: `p99 of a get beside ${attack}`,
    figure: of(({ beside }) => beside.p99),
    against: { name, figure: of(idleP99), ratio: of((round) => round.beside.p99 / idleP99(round)) },
    wanted,
  });
  bench.report.add({
    ...row,
    work: "… idle, and what it met of processor time",
    figure: of((round) => idleP99(round) + round.probe.waitP99Ms),
    against: {
      name: "idle p99",
      figure: of(idleP99),
      ratio: of((round) => 1 + round.probe.waitP99Ms / idleP99(round)),
    },
    wanted,
  });
  const probes = [
    ["what a get met, p99 (CPU time)", ({ probe }: Round) => probe.waitP99Ms],
    ["the server's CPU time per second", ({ probe }: Round) => probe.busyMsPerSecond],
    ["its loop waited for a processor", ({ probe }: Round) => probe.delayedMsPerSecond],
    ["longest hold of the loop (CPU time)", ({ probe }: Round) => probe.holdMaxMs],
    ["longest collection of garbage", ({ probe }: Round) => probe.collectionMaxMs],
  ] as const;
  for (const [what, pick] of probes)
    bench.report.add({ ...row, work: `… ${what}`, figure: of(pick) });
  bench.report.add({
    work: "… gets that failed",
    server: "kcp",
    unit: "errors",
    figure: rounds.reduce((sum, { beside }) => sum + beside.errors, 0),
    wanted: { what: "figure", atMost: 0 },
  });
}

/** What is measured beside fewer watches than are meant says nothing about so many. */
function reportOpen({ report: rows, options }: Bench, rounds: readonly Round[]): void {
  const row = { server: "kcp", unit: "watches" } as const;
  const least = (pick: (open: Round["open"]) => number) =>
    Math.min(...rounds.map(({ open }) => pick(open)));
  rows.add({
    ...row,
    work: "… watches open when the measurement began",
    figure: least(({ before }) => before),
    wanted: { what: "figure", atLeast: options.sizes.neighbourWatches },
  });
  rows.add({ ...row, work: "… and when it ended", figure: least(({ after }) => after) });
}

async function fill(target: ApiTarget, name: string, count: number) {
  const client = new ApiClient(target);
  const isCustom = name === "custom-lists";
  const path = isCustom ? widgetsPath : configMapsPath("default");
  const filled = async () => {
    if (isCustom) await defineWidgets(client);
    for (let at = 0; at < count; at += 50)
      await Promise.all(
        Array.from({ length: Math.min(50, count - at) }, (_, i) =>
          client.must("POST", path, (isCustom ? widget : configMap)(`${name}-${at + i}`)),
        ),
      );
  };
  await within(answerMaxMs, `${count} objects to be written for ${name}`, filled());
  client.close();
}

async function defineWidgets(client: ApiClient): Promise<void> {
  await client.must("POST", definitionsPath, widgets);
  while ((await client.status("GET", widgetsPath)) !== 200) await sleep(systemClock, 10);
}
