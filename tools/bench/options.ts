/** The command line of the benchmark, and how much work each of its two sizes is. */
import { parseArgs } from "node:util";

export interface BenchOptions {
  readonly rounds: number;
  /**
   * Noisy neighbours are looked at once, unless rounds are asked for: a round of all of them takes
   * two minutes.
   */
  readonly neighbourRounds: number;
  /** Groups of rows to run; all when empty. */
  readonly only: readonly Group[];
  readonly output: "table" | "json";
  readonly generator: "h2load" | "node" | undefined;
  /** Other servers that do the same work beside ours. */
  readonly targets: readonly NamedTarget[];
  /** What a noisy neighbour does; all of it unless told. */
  readonly attacks: readonly Attack[];
  /**
   * Parts of the names of hostile requests: those that have one are sent, and all when there are
   * none.
   */
  readonly cases: readonly string[];
  readonly isQuick: boolean;
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
  "access",
  "apply",
  "list",
  "scale",
  "watch",
  "start",
  "memory",
  "neighbours",
  "loops",
  "holds",
  "crds",
  "natives",
  "workspaces",
  "consumers",
  "informers",
  "sdk",
  "syncing",
  "syncing-memory",
  "tunnel",
  "moves",
  "placement",
  "rest",
] as const;
export type Group = (typeof groups)[number];

export const attacks = [
  "writes",
  "lists",
  "custom-lists",
  "tables",
  "watches",
  "openings",
  "bodies",
  "largest-bodies",
  "yaml-bodies",
] as const;
export type Attack = (typeof attacks)[number];

export interface Sizes {
  readonly getsPerRound: number;
  readonly createsPerRound: number;
  readonly singleGets: number;
  readonly singleCreates: number;
  readonly listItems: number;
  readonly lists: number;
  readonly pages: number;
  readonly pageItems: number;
  /** Objects in one logical cluster, in namespaces of some, and in each of several servers. */
  readonly scaleObjects: readonly number[];
  readonly scaleNamespaceItems: number;
  readonly watchers: number;
  readonly watchEvents: number;
  /** Objects in the store that is killed and started again. */
  readonly restartObjects: number;
  readonly coldStarts: number;
  readonly inProcessStarts: number;
  readonly idleClusters: number;
  /** Objects that the control loops clear away. */
  readonly loopObjects: number;
  readonly informerObjects: number;
  readonly clientGets: number;
  readonly controllerEvents: number;
  readonly testServersAtOnce: number;
  /** Rounds whose figures are thrown away: code that is not compiled yet is half as fast. */
  readonly warmUps: number;
  readonly settleMs: number;
  /** Until a server that was busy has given back what it will. */
  readonly quietMs: number;
  /** How long a tenant is watched beside a noisy one. */
  readonly neighbourMs: number;
  /** The same when nobody else is there, before and after. */
  readonly neighbourIdleMs: number;
  /** Until an attack is at its height. */
  readonly neighbourSettleMs: number;
  readonly neighbourWatches: number;
  /** Hostile requests that are sent, of all there are, and how often after the first time. */
  readonly holdCases: number;
  readonly holdRepeats: number;
  readonly holdSettleMs: number;
  /** Distinct definitions in one cluster, and clusters with the same one. */
  readonly definitions: number;
  readonly definedClusters: number;
  readonly customObjects: number;
  /** Made and deleted before anything is measured. */
  readonly warmUpWorkspaces: number;
  /** Made and deleted, flat and in a tree. */
  readonly workspaces: number;
  /** Made in one server, which is started again with all of them. */
  readonly manyWorkspaces: number;
  /** Logical clusters that bind to one export, and the instances in all of them together. */
  readonly consumers: number;
  readonly consumerInstances: number;
  /** Physical clusters that Deployments are split over. */
  readonly moveTargets: number;
  /** Deployments, each over all of them. */
  readonly moveObjects: number;
  readonly movesPerSecond: number;
  readonly movesMs: number;
  /** Physical clusters under a steady pace of changes, and how many objects each has. */
  readonly syncTargets: number;
  readonly syncObjects: number;
  readonly syncChangesPerSecond: number;
  readonly syncMs: number;
  /** Physical clusters whose memory is of interest. */
  readonly syncManyTargets: number;
  readonly syncManyObjects: number;
  readonly tunnelLogBytes: number;
  readonly tunnelSessions: number;
  /** Workloads that are placed, and clusters that they are placed in. */
  readonly placedWorkloads: number;
  readonly placementClusters: number;
  /** Deployments over two clusters, and how long the control plane is observed at rest. */
  readonly restObjects: number;
  readonly restMs: number;
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
  scaleObjects: [10_000, 100_000, 1_000_000],
  scaleNamespaceItems: 10_000,
  watchers: 200,
  watchEvents: 500,
  restartObjects: 100_000,
  coldStarts: 5,
  inProcessStarts: 20,
  idleClusters: 10_000,
  loopObjects: 10_000,
  informerObjects: 100_000,
  clientGets: 20_000,
  controllerEvents: 100_000,
  testServersAtOnce: 30,
  warmUps: 2,
  settleMs: 3000,
  quietMs: 25_000,
  neighbourMs: 5000,
  neighbourIdleMs: 3000,
  neighbourSettleMs: 2000,
  neighbourWatches: 10_000,
  holdCases: 1_000,
  holdRepeats: 2,
  holdSettleMs: 250,
  definitions: 1_000,
  definedClusters: 10_000,
  customObjects: 3_000,
  warmUpWorkspaces: 500,
  workspaces: 3000,
  manyWorkspaces: 100_000,
  consumers: 1000,
  consumerInstances: 100_000,
  moveTargets: 4,
  moveObjects: 50,
  movesPerSecond: 20,
  movesMs: 10_000,
  syncTargets: 10,
  syncObjects: 100,
  syncChangesPerSecond: 500,
  syncMs: 10_000,
  syncManyTargets: 50,
  syncManyObjects: 1000,
  tunnelLogBytes: 500_000_000,
  tunnelSessions: 200,
  placedWorkloads: 1000,
  placementClusters: 100,
  restObjects: 300,
  restMs: 10_000,
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
  scaleObjects: [100, 200],
  scaleNamespaceItems: 100,
  watchers: 4,
  watchEvents: 10,
  restartObjects: 100,
  coldStarts: 1,
  inProcessStarts: 2,
  idleClusters: 20,
  loopObjects: 50,
  informerObjects: 100,
  clientGets: 50,
  controllerEvents: 100,
  testServersAtOnce: 2,
  warmUps: 0,
  settleMs: 0,
  quietMs: 0,
  neighbourMs: 100,
  neighbourIdleMs: 100,
  neighbourSettleMs: 0,
  neighbourWatches: 20,
  holdCases: 1,
  holdRepeats: 1,
  holdSettleMs: 0,
  definitions: 5,
  definedClusters: 5,
  customObjects: 20,
  warmUpWorkspaces: 5,
  workspaces: 20,
  manyWorkspaces: 40,
  consumers: 10,
  consumerInstances: 100,
  moveTargets: 2,
  moveObjects: 3,
  movesPerSecond: 10,
  movesMs: 500,
  syncTargets: 2,
  syncObjects: 10,
  syncChangesPerSecond: 20,
  syncMs: 500,
  syncManyTargets: 3,
  syncManyObjects: 10,
  tunnelLogBytes: 2_000_000,
  tunnelSessions: 5,
  placedWorkloads: 20,
  placementClusters: 5,
  restObjects: 5,
  restMs: 500,
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
      attacks: { type: "string", default: attacks.join() },
      cases: { type: "string", multiple: true, default: [] },
      workspaces: { type: "string" },
      target: { type: "string", multiple: true, default: [] },
    },
  });
  const { output, generator } = values;
  if (output !== "table" && output !== "json") throw new Error("-o takes table or json");
  if (generator !== undefined && generator !== "h2load" && generator !== "node")
    throw new Error("--generator takes h2load or node");
  return {
    rounds: parseRounds(values.rounds ?? (values.quick ? "1" : "5")),
    neighbourRounds: parseRounds(values.rounds ?? "1"),
    only: [...values.only.split(",").filter(Boolean), ...positionals].map(parseGroup),
    output,
    generator,
    targets: values.target.map(parseTarget),
    attacks: values.attacks.split(",").map(parseAttack),
    cases: values.cases,
    isQuick: values.quick,
    sizes: sizesOf(values.quick, values.workspaces),
  };
}

/** `--workspaces` says how many are made in one server. */
function sizesOf(isQuick: boolean, workspaces: string | undefined): Sizes {
  const sizes = isQuick ? quick : full;
  if (workspaces === undefined) return sizes;
  const manyWorkspaces = Number(workspaces);
  if (!Number.isInteger(manyWorkspaces) || manyWorkspaces < 1)
    throw new Error("--workspaces takes a number from 1 on");
  return { ...sizes, manyWorkspaces };
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

function parseAttack(text: string): Attack {
  const attack = attacks.find((it) => it === text);
  if (attack === undefined) throw new Error(`--attacks takes some of ${attacks.join(",")}`);
  return attack;
}

function parseTarget(text: string): NamedTarget {
  const match = /^([^=]+)=(https:\/\/[^,]+),(.+)$/.exec(text);
  if (match === null) throw new Error("--target takes name=https://host:port,TOKEN");
  const [, name, url, token] = match as unknown as [string, string, string, string];
  return { name, url: url.replace(/\/$/, ""), token };
}
