/**
 * `exploreFaults`: runs a test of a controller without faults, then once for each of its writes and
 * each fault of a write, and once for each pattern of faults. What fails is narrowed down to the
 * fewest faults that are enough.
 *
 * All runs share one control plane; each has a logical cluster of its own.
 */
import type { UserInfo } from "@kcp-ts/apiserver";
import { Client } from "@kcp-ts/sdk";
import { AcceleratedClock } from "@kcp-ts/testkit";
import { eventuallyStable, type StableOptions } from "./eventually-stable.ts";
import {
  type FaultPattern,
  type FaultSchedule,
  faultPatterns,
  faultsOf,
  formatSchedule,
} from "./fault-schedule.ts";
import { FaultyTransport } from "./faulty-transport.ts";
import type { CrdSource } from "./install-crds.ts";
import { narrowFaults } from "./narrow-faults.ts";
import { Opportunities, type Strike } from "./opportunities.ts";
import { planSchedules, scheduleOf } from "./plan-schedules.ts";
import {
  startTestControlPlane,
  type TestControlPlane,
  type TestControlPlaneOptions,
} from "./test-control-plane.ts";

export interface FaultyEnvironment {
  /** An administrator's client of a fresh logical cluster, without faults: for the test itself. */
  readonly client: Client;
  readonly cluster: string;
  /** The faults of this run; undefined in the first one. */
  readonly schedule: FaultSchedule | undefined;
  /**
   * Starts the controller with a client that meets the faults, and again after each crash. It must
   * end when the signal aborts.
   */
  runController(program: ControllerRun, user?: UserInfo): void;
  /** The check passes, and nothing is written any more. */
  eventuallyStable<Value>(
    check: () => Value | Promise<Value>,
    options?: StableOptions,
  ): Promise<Value>;
}

export type ControllerRun = (client: Client, signal: AbortSignal) => Promise<void>;
export type FaultyTest = (environment: FaultyEnvironment) => Promise<void>;

export interface ExploreOptions extends Omit<TestControlPlaneOptions, "clock"> {
  /** All if omitted. */
  readonly patterns?: readonly FaultPattern[];
  /** One schedule alone, as a report has it: to repeat a failure. */
  readonly schedule?: FaultSchedule;
  /** 1 if omitted. */
  readonly seed?: number;
  /** The most writes that are crash points, refused or lost, each alone; 200 if omitted. */
  readonly crashesMax?: number;
  /** So many runs with two faults of two patterns, chosen by the seed; none if omitted. */
  readonly pairs?: number;
}

export interface ExplorationReport {
  /** The writes of the run without faults. */
  readonly writes: readonly string[];
  readonly runs: number;
  /** The numbers of writes beyond `crashesMax`, whose faults were not tried alone. */
  readonly untried: readonly number[];
}

/** The message has the shortest schedule that fails, and how to repeat it. */
export class ExplorationError extends Error {
  override readonly name = "ExplorationError";
  readonly schedule: FaultSchedule;

  constructor(
    schedule: FaultSchedule,
    cause: unknown,
    failed: readonly string[] = [],
    hint: string = "",
  ) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const lines = [
      formatSchedule(schedule),
      why,
      hint,
      `to repeat it: exploreFaults(test, { schedule: ${JSON.stringify(schedule)} })`,
      failed.length > 1 ? `failing schedules: ${failed.join("; ")}` : "",
    ];
    super(lines.filter((line) => line !== "").join("\n"), { cause });
    this.schedule = schedule;
  }
}

/** Time of the controllers, for their back-off; bytes take as long as they take. */
const speed = 10;
const crashesMaxDefault = 200;
/** Runs that narrow down a failure: those that fail take as long as the test waits. */
const narrowingRunsMax = 60;

export async function exploreFaults(
  test: FaultyTest,
  options: ExploreOptions = {},
): Promise<ExplorationReport> {
  const { patterns, schedule, seed = 1, crashesMax, pairs, crds, ...rest } = options;
  const k = await startTestControlPlane(rest);
  const explorer = new Explorer(k, crds ?? [], test);
  try {
    if (schedule !== undefined) {
      const { error } = await explorer.run(schedule);
      if (error !== undefined) throw new ExplorationError(schedule, error);
      return { writes: [], runs: 1, untried: [] };
    }
    const plain = await explorer.run(undefined);
    if (plain.error !== undefined) throw plain.error;
    const writes = plain.opportunities.log;
    const plan = planSchedules({
      writes: writes.length,
      patterns: patterns ?? faultPatterns,
      writesMax: crashesMax ?? crashesMaxDefault,
      pairs: pairs ?? 0,
      seed,
    });
    const failures: Failure[] = [];
    for (const one of plan.schedules) {
      const { error, opportunities } = await explorer.run(one);
      if (error !== undefined)
        failures.push({ schedule: one, error, struck: opportunities.struck });
    }
    await report(explorer, failures);
    if (crashesMax === undefined && plan.untried.length > 0)
      process.emitWarning(
        `exploreFaults tried ${crashesMaxDefault} of ${writes.length} writes one by one; crashesMax raises that`,
      );
    return { writes, runs: explorer.runs, untried: plan.untried };
  } finally {
    await k.close();
  }
}

interface Failure {
  readonly schedule: FaultSchedule;
  readonly error: unknown;
  readonly struck: readonly Strike[];
}

/** Throws the shortest failure: one fault, if one is enough. */
async function report(explorer: Explorer, failures: readonly Failure[]): Promise<void> {
  const [first] = [...failures].sort((a, b) => lengthOf(a.schedule) - lengthOf(b.schedule));
  if (first === undefined) return;
  const texts = failures.map(({ schedule }) =>
    faultsOf(schedule)
      .map(({ pattern, strikes }) => (strikes === "all" ? pattern : `${pattern} ${strikes}`))
      .join(" with "),
  );
  const { failure, isCut } = await narrow(explorer, first);
  const hint = isCut ? `it may be shorter: narrowing ended after ${narrowingRunsMax} runs` : "";
  throw new ExplorationError(failure.schedule, failure.error, texts, hint);
}

/** A pattern at every opportunity is as long as there is. */
function lengthOf(schedule: FaultSchedule): number {
  let length = 0;
  for (const { strikes } of faultsOf(schedule))
    length += strikes === "all" ? Number.POSITIVE_INFINITY : strikes.length;
  return length;
}

async function narrow(
  explorer: Explorer,
  failure: Failure,
): Promise<{ readonly failure: Failure; readonly isCut: boolean }> {
  let shortest = failure;
  const fails = async (strikes: readonly Strike[]) => {
    const schedule = scheduleOf(strikes, failure.schedule);
    const { error, opportunities } = await explorer.run(schedule);
    if (error === undefined) return false;
    shortest = { schedule, error, struck: opportunities.struck };
    return true;
  };
  // Where the order of requests decides, the same faults may pass: then the report names them all.
  const isExact = Number.isFinite(lengthOf(failure.schedule)) || (await fails(failure.struck));
  if (!isExact) return { failure, isCut: false };
  const { isCut } = await narrowFaults(failure.struck, fails, narrowingRunsMax);
  return { failure: shortest, isCut };
}

class Explorer {
  readonly #k: TestControlPlane;
  readonly #crds: readonly CrdSource[];
  readonly #test: FaultyTest;
  runs = 0;

  constructor(k: TestControlPlane, crds: readonly CrdSource[], test: FaultyTest) {
    this.#k = k;
    this.#crds = crds;
    this.#test = test;
  }

  async run(schedule: FaultSchedule | undefined): Promise<Outcome> {
    const cluster = `explored-${++this.runs}`;
    if (this.#crds.length > 0) await this.#k.installCrds(this.#crds, cluster);
    const opportunities = new Opportunities(schedule);
    const incarnations = new Incarnations(this.#k, cluster, schedule?.seed ?? 1, opportunities);
    const { faults } = this.#k;
    try {
      await Promise.race([
        incarnations.failed,
        this.#test({
          client: this.#k.clientFor(cluster),
          cluster,
          schedule,
          runController: (program, user) => incarnations.start(program, user),
          eventuallyStable: (check, options) =>
            eventuallyStable(faults.writesIn(cluster), check, options),
        }),
      ]);
      return { error: undefined, opportunities };
    } catch (error) {
      return { error, opportunities };
    } finally {
      await incarnations.stop();
    }
  }
}

interface Outcome {
  readonly error: unknown;
  readonly opportunities: Opportunities;
}

/** The processes of a controller, one after the other. */
class Incarnations {
  readonly #k: TestControlPlane;
  readonly #cluster: string;
  readonly #seed: number;
  readonly #opportunities: Opportunities;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[] = [];
  #fail: (error: unknown) => void = () => {};
  /** Rejects when a controller ends by itself. */
  readonly failed: Promise<never>;

  constructor(k: TestControlPlane, cluster: string, seed: number, opportunities: Opportunities) {
    this.#k = k;
    this.#cluster = cluster;
    this.#seed = seed;
    this.#opportunities = opportunities;
    this.failed = new Promise((_, reject) => {
      this.#fail = reject;
    });
    this.failed.catch(() => {});
  }

  start(program: ControllerRun, user?: UserInfo): void {
    this.#running.push(this.#loop(program, user).catch(this.#fail));
  }

  async #loop(program: ControllerRun, user: UserInfo | undefined): Promise<void> {
    const { transport: inner, basePath } = this.#k.clientFor(this.#cluster, user);
    const clock = new AcceleratedClock(speed);
    while (!this.#stop.signal.aborted) {
      const death = new AbortController();
      const transport = new FaultyTransport({
        inner,
        seed: this.#seed,
        opportunities: this.#opportunities,
        clock,
        onCrash: () => death.abort(),
      });
      const signal = AbortSignal.any([death.signal, this.#stop.signal]);
      try {
        await program(new Client({ transport, basePath, clock }), signal);
      } catch (error) {
        // What a process says on its way out of a crash is of no interest.
        if (!signal.aborted) throw error;
      } finally {
        transport.kill();
      }
      if (!signal.aborted) throw new Error("the controller ended by itself");
    }
  }

  async stop(): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#running);
  }
}
