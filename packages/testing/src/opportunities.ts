/** What a controller did that a fault could hit, and what was hit; shared by its incarnations. */
import type { TransportRequest } from "@kcp-ts/sdk";
import {
  type FaultPattern,
  type FaultSchedule,
  faultsOf,
  type ScheduledFault,
} from "./fault-schedule.ts";

export interface Strike {
  readonly pattern: FaultPattern;
  readonly opportunity: number;
}

interface Write {
  readonly number: number;
  readonly name: string;
}

/**
 * A controller whose requests differ at each attempt, as times in them do, would be hit at each:
 * then it makes no progress, whatever it does.
 */
const strikesOfPathMax = 5;

export class Opportunities {
  readonly #faults: readonly ScheduledFault[];
  readonly #seen = new Set<string>();
  readonly #ofPath = new Map<string, { strikes: number; wasHit: boolean }>();
  events = 0;
  /** Of events, before states in between are left out. */
  batches = 0;
  reads = 0;
  /** The writes in order, for reports. */
  readonly log: string[] = [];
  readonly struck: Strike[] = [];

  constructor(schedule: FaultSchedule | undefined) {
    this.#faults = schedule === undefined ? [] : faultsOf(schedule);
  }

  /** Counts a write, from 1 on. */
  write({ method, path }: TransportRequest): Write {
    const name = `${method} ${path.split("?")[0]}`;
    return { number: this.log.push(name), name };
  }

  has(pattern: FaultPattern): boolean {
    return this.#faults.some((one) => one.pattern === pattern);
  }

  strikes(pattern: FaultPattern, opportunity: number): boolean {
    const isHit = this.#faults.some(
      ({ pattern: of, strikes }) =>
        of === pattern && (strikes === "all" || strikes.includes(opportunity)),
    );
    if (isHit) this.struck.push({ pattern, opportunity });
    return isHit;
  }

  /**
   * Where every write is hit, each is hit once, so that its repetition succeeds: a write is its
   * path and what is written. A schedule with numbers hits just these.
   */
  strikesWrite(
    pattern: FaultPattern,
    { number, name }: Write,
    { body = "" }: TransportRequest,
  ): boolean {
    const fault = this.#faults.find((one) => one.pattern === pattern);
    if (fault === undefined) return false;
    if (fault.strikes === "all" && !this.#isNew(`${pattern} ${name}`, textOf(body))) return false;
    return this.strikes(pattern, number);
  }

  #isNew(path: string, body: string): boolean {
    const known = this.#ofPath.get(path) ?? { strikes: 0, wasHit: false };
    this.#ofPath.set(path, known);
    const write = `${path}\n${body}`;
    const isCreate = path.includes(" POST ");
    const isNew =
      !known.wasHit && !this.#seen.has(write) && (isCreate || known.strikes < strikesOfPathMax);
    known.wasHit = isNew;
    if (!isNew) return false;
    this.#seen.add(write);
    known.strikes++;
    return true;
  }
}

function textOf(body: string | Uint8Array): string {
  return typeof body === "string" ? body : new TextDecoder().decode(body);
}
