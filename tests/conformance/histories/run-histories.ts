/** Many histories, several at a time under the same faults, each checked as soon as it is over. */
import { sleep, systemClock } from "@kcp-ts/machinery/base";
import { checkHistory, SeededRandom, type Violation } from "@kcp-ts/testkit";
import { Connection } from "./connection.ts";
import { type Configuration, type HistoryEnvironment, openEnvironment } from "./environment.ts";
import { type EnvironmentFault, faultsOf } from "./environment-faults.ts";
import { clusters, recordHistory } from "./record-history.ts";
import { widgetDefinition } from "./recorded-kind.ts";
import type { Recorder } from "./recorder.ts";
import type { SeededBug } from "./seeded-bug-storage.ts";

export interface RunOptions {
  readonly configuration: Configuration;
  readonly seed: number;
  readonly histories: number;
  /** Recorded at the same time, under the same fault. */
  readonly concurrency?: number;
  readonly seededBug?: SeededBug | undefined;
  readonly onRound?: (summary: Summary, round: Round) => void;
}

export interface Round {
  readonly seed: number;
  readonly faults: readonly string[];
  readonly findings: readonly Finding[];
}

/** A history with violations. */
export interface Finding {
  readonly seed: number;
  readonly history: string;
  readonly faults: readonly string[];
  readonly violations: readonly Violation[];
}

export interface Summary {
  histories: number;
  operations: number;
  open: number;
  lists: number;
  events: number;
  streams: number;
  readonly faults: Map<string, number>;
  readonly findings: Finding[];
}

/** A stage is renewed now and then: disks are small. */
const roundsPerStage = 25;

export async function runHistories(options: RunOptions): Promise<Summary> {
  const { configuration, seededBug } = options;
  const summary = emptySummary();
  let seed = options.seed;
  while (summary.histories < options.histories) {
    const stage = await openEnvironment(configuration, seededBug !== undefined);
    try {
      await prepareEnvironment(stage);
      for (const server of stage.servers) await server.sendCommand({ kind: "plant", seededBug });
      seed = await runEnvironment(stage, seed, options, summary);
    } finally {
      await stage.close();
    }
  }
  return summary;
}

async function runEnvironment(
  environment: HistoryEnvironment,
  seed: number,
  { concurrency = 8, histories, onRound }: RunOptions,
  summary: Summary,
): Promise<number> {
  let next = seed;
  for (let rounds = 0; rounds < roundsPerStage && summary.histories < histories; rounds++) {
    const count = Math.min(concurrency, histories - summary.histories);
    const round = await runRound(environment, { seed: next++, count }, summary);
    onRound?.(summary, round);
  }
  return next;
}

export function emptySummary(): Summary {
  return {
    histories: 0,
    operations: 0,
    open: 0,
    lists: 0,
    events: 0,
    streams: 0,
    faults: new Map(),
    findings: [],
  };
}

/** The custom kind is served, by every server, in both clusters. */
export async function prepareEnvironment({ servers }: HistoryEnvironment): Promise<void> {
  const connections = servers.map((server) => new Connection(server, "negotiate"));
  const group = (cluster: string) => `/clusters/${cluster}/apis`;
  for (const cluster of clusters) {
    const path = `${group(cluster)}/apiextensions.k8s.io/v1/customresourcedefinitions`;
    await connections[0]?.sendRecorded({ method: "POST", path, body: widgetDefinition });
    for (const connection of connections) {
      const widgetsPath = `${group(cluster)}/histories.kcp.io/v1/widgets`;
      for (;;) {
        const answer = await connection.sendRecorded({ method: "GET", path: widgetsPath });
        if (answer.kind === "answer" && answer.status === 200) break;
        await sleep(systemClock, 20);
      }
    }
  }
  await Promise.all(connections.map((connection) => connection.close()));
}

export interface RoundOptions {
  readonly seed: number;
  /** Histories at a time. */
  readonly count: number;
  readonly timeoutMs?: number;
}

export async function runRound(
  environment: HistoryEnvironment,
  { seed, count, timeoutMs }: RoundOptions,
  summary: Summary,
): Promise<Round> {
  const random = new SeededRandom(seed);
  const chosen = chooseFaults(environment, random);
  const names = chosen.map(({ name }) => name);
  let waiting = count;
  let allReady = () => {};
  const everybody = new Promise<void>((resolve) => {
    allReady = resolve;
  });
  const over = everybody.then(() => strikeAll(chosen, random.fork()));
  const recorders = await Promise.all(
    Array.from({ length: count }, (_, index) => {
      // Whoever comes last lets the faults begin; whoever gives up does not keep the others
      // waiting.
      let isCounted = false;
      const countIn = () => {
        if (!isCounted && --waiting === 0) allReady();
        isCounted = true;
      };
      const whenReady = () => {
        countIn();
        return over;
      };
      const name = `h${seed}-${index}`;
      const history = { environment, seed: seed * 1000 + index, name, whenReady, timeoutMs };
      return recordHistory(history).finally(countIn);
    }),
  );
  const findings = recorders.flatMap((recorder, index) => {
    const violations = [
      ...crashes(environment),
      ...recorder.anomalies,
      ...checkHistory(recorder.history()),
    ];
    add(summary, recorder, names);
    return violations.length === 0
      ? []
      : [{ seed, history: `h${seed}-${index}`, faults: names, violations }];
  });
  summary.findings.push(...findings);
  return { seed, faults: names, findings };
}

/** Servers that ended although no fault ended them. */
function crashes({ servers }: HistoryEnvironment): Violation[] {
  return servers.flatMap(({ crash }) =>
    crash === undefined ? [] : [{ guarantee: "alive", message: crash, excerpt: [] }],
  );
}

/** One, and now and then another one behind it. */
function chooseFaults(
  environment: HistoryEnvironment,
  random: SeededRandom,
): readonly EnvironmentFault[] {
  const faults = faultsOf(environment);
  const total = faults.reduce((sum, { weight }) => sum + weight, 0);
  const choose = () => {
    let dice = random.integer(total);
    return faults.find(({ weight }) => {
      dice -= weight;
      return dice < 0;
    }) as EnvironmentFault;
  };
  return random.chance(0.25) ? [choose(), choose()] : [choose()];
}

async function strikeAll(faults: readonly EnvironmentFault[], random: SeededRandom): Promise<void> {
  for (const fault of faults) {
    await sleep(systemClock, 30 + random.integer(100));
    await fault.inject(random);
  }
}

function add(summary: Summary, recorder: Recorder, faults: readonly string[]): void {
  const { operations, lists, watches } = recorder;
  summary.histories++;
  summary.operations += operations.length;
  summary.open += operations.filter(({ outcome }) => outcome.kind === "open").length;
  summary.lists += lists.length;
  summary.streams += watches.length;
  summary.events += watches.reduce((sum, { events }) => sum + events.length, 0);
  for (const fault of faults) summary.faults.set(fault, (summary.faults.get(fault) ?? 0) + 1);
}
