/** The command line of the benchmark, and how much work each of its two sizes is. */
import { parseArgs } from "node:util";

export interface BenchOptions {
  readonly rounds: number;
  /** Groups of rows to run; all when empty. */
  readonly only: readonly Group[];
  readonly output: "table" | "json";
  readonly generator: "h2load" | "node" | undefined;
  /** Other servers that do the same work beside ours. */
  readonly targets: readonly NamedTarget[];
  readonly sizes: Sizes;
}

export interface NamedTarget {
  readonly name: string;
  /** May end in `/clusters/<name>`. */
  readonly url: string;
  readonly token: string;
}

export const groups = [
  "get",
  "create",
  "latency",
  "apply",
  "list",
  "watch",
  "start",
  "memory",
  "neighbours",
  "loops",
  "syncing",
  "holds",
] as const;
export type Group = (typeof groups)[number];

export interface Sizes {
  readonly getsPerRound: number;
  readonly createsPerRound: number;
  readonly singleGets: number;
  readonly singleCreates: number;
  readonly listItems: number;
  readonly lists: number;
  readonly pages: number;
  readonly pageItems: number;
  readonly watchers: number;
  readonly watchEvents: number;
  /** Objects in the store that is killed and started again. */
  readonly restartObjects: number;
  readonly coldStarts: number;
  readonly inProcessStarts: number;
  readonly idleClusters: number;
  /** Objects that the control loops clear away. */
  readonly loopObjects: number;
  /** Rounds whose figures are thrown away: code that is not compiled yet is half as fast. */
  readonly warmUps: number;
  readonly settleMs: number;
  /** How long a tenant is watched beside a noisy one. */
  readonly neighbourMs: number;
  readonly neighbourWatches: number;
  /** Physical clusters under a steady pace of changes, and how many objects each has. */
  readonly syncTargets: number;
  readonly syncObjects: number;
  readonly syncChangesPerSecond: number;
  readonly syncMs: number;
  /** Physical clusters whose memory is of interest. */
  readonly syncManyTargets: number;
  readonly syncManyObjects: number;
  /** Hostile requests that are sent, of all there are, and how often after the first time. */
  readonly holdCases: number;
  readonly holdRepeats: number;
  readonly holdSettleMs: number;
}

const full: Sizes = {
  getsPerRound: 20_000,
  createsPerRound: 10_000,
  singleGets: 4000,
  singleCreates: 1000,
  listItems: 10_000,
  lists: 20,
  pages: 200,
  pageItems: 500,
  watchers: 200,
  watchEvents: 500,
  restartObjects: 100_000,
  coldStarts: 5,
  inProcessStarts: 20,
  idleClusters: 10_000,
  loopObjects: 10_000,
  warmUps: 2,
  settleMs: 3000,
  neighbourMs: 5000,
  neighbourWatches: 10_000,
  syncTargets: 10,
  syncObjects: 100,
  syncChangesPerSecond: 500,
  syncMs: 10_000,
  syncManyTargets: 50,
  syncManyObjects: 1000,
  holdCases: 1_000,
  holdRepeats: 2,
  holdSettleMs: 400,
};

/** Seconds altogether: shows that everything still runs, says nothing about speed. */
const quick: Sizes = {
  getsPerRound: 100,
  createsPerRound: 100,
  singleGets: 20,
  singleCreates: 10,
  listItems: 100,
  lists: 2,
  pages: 4,
  pageItems: 10,
  watchers: 4,
  watchEvents: 10,
  restartObjects: 100,
  coldStarts: 1,
  inProcessStarts: 2,
  idleClusters: 20,
  loopObjects: 50,
  warmUps: 0,
  settleMs: 0,
  neighbourMs: 100,
  neighbourWatches: 20,
  syncTargets: 2,
  syncObjects: 10,
  syncChangesPerSecond: 20,
  syncMs: 500,
  syncManyTargets: 3,
  syncManyObjects: 10,
  holdCases: 1,
  holdRepeats: 1,
  holdSettleMs: 0,
};

/** Throws an Error with a text for people when the command line makes no sense. */
export function parseOptions(args: readonly string[]): BenchOptions {
  const { values, positionals } = parseArgs({
    args: [...args],
    allowPositionals: true,
    options: {
      rounds: { type: "string" },
      only: { type: "string", default: "" },
      quick: { type: "boolean", default: false },
      output: { type: "string", short: "o", default: "table" },
      generator: { type: "string" },
      target: { type: "string", multiple: true, default: [] },
    },
  });
  const { output, generator } = values;
  if (output !== "table" && output !== "json") throw new Error("-o takes table or json");
  if (generator !== undefined && generator !== "h2load" && generator !== "node")
    throw new Error("--generator takes h2load or node");
  return {
    rounds: parseRounds(values.rounds ?? (values.quick ? "1" : "5")),
    only: [...values.only.split(",").filter(Boolean), ...positionals].map(parseGroup),
    output,
    generator,
    targets: values.target.map(parseTarget),
    sizes: values.quick ? quick : full,
  };
}

function parseRounds(text: string): number {
  const rounds = Number(text);
  if (!Number.isInteger(rounds) || rounds < 1) throw new Error("--rounds takes a number from 1 on");
  return rounds;
}

function parseGroup(text: string): Group {
  const group = groups.find((it) => it === text);
  if (group === undefined) throw new Error(`--only takes some of ${groups.join(",")}`);
  return group;
}

function parseTarget(text: string): NamedTarget {
  const match = /^([^=]+)=(https:\/\/[^,]+),(.+)$/.exec(text);
  if (match === null) throw new Error("--target takes name=https://host:port,TOKEN");
  const [, name, url, token] = match as unknown as [string, string, string, string];
  return { name, url: url.replace(/\/$/, ""), token };
}
