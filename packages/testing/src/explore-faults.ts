/**
 * `exploreFaults`: runs a test of a controller without faults, then once for each of its writes
 * with a crash after it, and once for each pattern of faults. What fails is narrowed down to a
 * single fault where one is enough.
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
  formatSchedule,
  isOneByOne,
} from "./fault-schedule.ts";
import { FaultyTransport, Opportunities } from "./faulty-transport.ts";
import type { CrdSource } from "./install-crds.ts";
import {
  startTestControlPlane,
  type TestControlPlane,
  type TestControlPlaneOptions,
} from "./test-control-plane.ts";

export interface FaultyWorld {
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
export type FaultyTest = (world: FaultyWorld) => Promise<void>;

export interface ExploreOptions extends Omit<TestControlPlaneOptions, "clock"> {
  /** All if omitted. */
  readonly patterns?: readonly FaultPattern[];
  /** One schedule alone, as a report has it: to repeat a failure. */
  readonly schedule?: FaultSchedule;
  /** 1 if omitted. */
  readonly seed?: number;
  /** The most crash points; 200 if omitted. */
  readonly crashesMax?: number;
}

export interface ExplorationReport {
  /** The writes of the run without faults. */
  readonly writes: readonly string[];
  readonly runs: number;
}

/** The message has the shortest schedule that fails, and how to repeat it. */
export class ExplorationError extends Error {
  override readonly name = "ExplorationError";
  readonly schedule: FaultSchedule;

  constructor(schedule: FaultSchedule, failed: readonly string[], cause: unknown) {
    const why = cause instanceof Error ? cause.message : String(cause);
    const others = failed.length > 1 ? `\nfailing schedules: ${failed.join("; ")}` : "";
    super(
      `${formatSchedule(schedule)}\n${why}\n` +
        `to repeat it: exploreFaults(test, { schedule: ${JSON.stringify(schedule)} })${others}`,
      { cause },
    );
    this.schedule = schedule;
  }
}

/** Time of the controllers, for their back-off; bytes take as long as they take. */
const speed = 10;
const crashesMaxDefault = 200;
/** Single faults that are tried to narrow down a failure. */
const singlesMax = 40;

export async function exploreFaults(
  test: FaultyTest,
  options: ExploreOptions = {},
): Promise<ExplorationReport> {
  const { patterns = faultPatterns, schedule, seed = 1, crashesMax, crds, ...rest } = options;
  const k = await startTestControlPlane(rest);
  const explorer = new Explorer(k, crds ?? [], test);
  try {
    if (schedule !== undefined) {
      const { error } = await explorer.run(schedule);
      if (error !== undefined) throw new ExplorationError(schedule, [], error);
      return { writes: [], runs: 1 };
    }
    const plain = await explorer.run(undefined);
    if (plain.error !== undefined) throw plain.error;
    const writes = [...plain.opportunities.log];
    const crashes = Math.min(writes.length, crashesMax ?? crashesMaxDefault);
    const schedules = patterns.flatMap((pattern): FaultSchedule[] =>
      isOneByOne(pattern)
        ? Array.from({ length: crashes }, (_, at) => ({ pattern, strikes: [at + 1], seed }))
        : [{ pattern, strikes: "all", seed }],
    );
    const failures: Failure[] = [];
    for (const one of schedules) {
      const { error, opportunities } = await explorer.run(one);
      if (error !== undefined) failures.push({ schedule: one, error, opportunities });
    }
    await report(explorer, failures);
    return { writes, runs: explorer.runs };
  } finally {
    await k.close();
  }
}

interface Failure {
  readonly schedule: FaultSchedule;
  readonly error: unknown;
  readonly opportunities: Opportunities;
}

/** Throws the shortest failure: one fault, if one is enough. */
async function report(explorer: Explorer, failures: readonly Failure[]): Promise<void> {
  const [first] = [...failures].sort((a, b) => faultsOf(a.schedule) - faultsOf(b.schedule));
  if (first === undefined) return;
  const texts = failures.map(({ schedule: { pattern, strikes } }) =>
    strikes === "all" ? pattern : `${pattern} ${strikes.join(",")}`,
  );
  const shortest = first.schedule.strikes === "all" ? await narrow(explorer, first) : first;
  throw new ExplorationError(shortest.schedule, texts, shortest.error);
}

function faultsOf({ strikes }: FaultSchedule): number {
  return strikes === "all" ? Number.POSITIVE_INFINITY : strikes.length;
}

async function narrow(explorer: Explorer, failure: Failure): Promise<Failure> {
  const { writes, events } = failure.opportunities;
  const most = Math.min(singlesMax, Math.max(writes, events));
  for (let strike = 1; strike <= most; strike++) {
    const schedule = { ...failure.schedule, strikes: [strike] };
    const { error, opportunities } = await explorer.run(schedule);
    if (error !== undefined) return { schedule, error, opportunities };
  }
  return failure;
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
    const opportunities = new Opportunities();
    const incarnations = new Incarnations(this.#k, cluster, schedule, opportunities);
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
  readonly #schedule: FaultSchedule | undefined;
  readonly #opportunities: Opportunities;
  readonly #stop = new AbortController();
  readonly #running: Promise<void>[] = [];
  #fail: (error: unknown) => void = () => {};
  /** Rejects when a controller ends by itself. */
  readonly failed: Promise<never>;

  constructor(
    k: TestControlPlane,
    cluster: string,
    schedule: FaultSchedule | undefined,
    opportunities: Opportunities,
  ) {
    this.#k = k;
    this.#cluster = cluster;
    this.#schedule = schedule;
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
        schedule: this.#schedule,
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
