/**
 * Locations that bound what tenants may use of their clusters: `everything`, and within it `zone-a`. What is reserved is kept as the product keeps it, with what it promises and cannot be seen
 * yet; and forgotten as it is when a process ends.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import { formatGroupResource } from "@kcp-ts/machinery/status";
import type { ObjectKey } from "@kcp-ts/sdk";
import { SeededRandom } from "@kcp-ts/testkit";
import { podsResource } from "../../../api/index.ts";
import {
  defaultPolicy,
  type LocationLimits,
  observedCopyOf,
  ReservationCache,
  readInFlight,
  reservationOf,
  type Scheduler,
  type SchedulingNotification,
  type SchedulingSnapshot,
  type SchedulingSubject,
} from "../../../scheduling/index.ts";
import { type Decision, schedulableOf } from "../../decide.ts";
import { Reservations } from "../../reservations.ts";
import type { Strategy } from "../../strategy.ts";
import { clusterOf, type SimulatedWorkload } from "./whole.ts";

export interface LimitedLocation {
  readonly name: string;
  readonly includes: LocationLimits["includes"];
  pods: number;
  /** The highest that it ever was: bounds that are lowered stop nothing. */
  podsMost: number;
}

const places: Readonly<Record<string, LocationLimits["includes"]>> = {
  everything: () => true,
  "zone-a": ({ labels }) => labels?.["zone"] === "a",
};

export class LocationLimitsModel {
  readonly random: SeededRandom;
  readonly locations: readonly LimitedLocation[];
  isLifted = false;
  readonly #onNews: (whole: SimulatedWorkload) => void;
  #memory: SchedulerMemory;

  constructor(seed: number, onNews: (whole: SimulatedWorkload) => void) {
    this.random = new SeededRandom(seed);
    this.#onNews = onNews;
    this.locations = Object.entries(places).map(([name, includes]) => {
      const pods = this.random.integer(12);
      return { name, includes, pods, podsMost: pods };
    });
    this.#memory = new SchedulerMemory(this, this.#onNews);
  }

  /** More or less; the one that was. */
  change(): LimitedLocation {
    const [first, ...others] = this.locations;
    const location = this.random.pick([first as LimitedLocation, ...others]);
    location.pods = this.random.integer(12);
    location.podsMost = Math.max(location.podsMost, location.pods);
    return location;
  }

  /** The process that decides has ended, and another one has begun. */
  restart(): void {
    this.#memory = new SchedulerMemory(this, this.#onNews);
  }

  /** What watches bring: who waits hears of room that was given back. */
  see(wholes: readonly SimulatedWorkload[]): void {
    this.#memory.see(wholes);
  }

  facts(whole: SimulatedWorkload): SchedulingSnapshot {
    return this.#memory.reservationsOf(whole).facts(keyOf(whole), whole.parent);
  }

  hold(whole: SimulatedWorkload, decision: Decision): void {
    this.#memory.reservationsOf(whole).hold(keyOf(whole), whole.parent, decision);
    this.#memory.goals.set(whole, decision.plan.goal);
  }

  /** What was decided for it last, in these clusters together, in Pods; since the last restart. */
  promised(whole: SimulatedWorkload, isIn: (cluster: string) => boolean): number {
    let sum = 0;
    for (const [cluster, share] of this.#memory.goals.get(whole) ?? [])
      if (isIn(cluster)) sum += podsOf(whole, share);
    return sum;
  }

  allowances(): readonly LocationLimits[] {
    if (this.isLifted) return [];
    return this.locations.map(({ name: location, includes, pods }) => ({
      ...{ location, includes, bounds: { [podsResource]: String(pods) } },
    }));
  }
}

export function podsOf({ kind, parent }: SimulatedWorkload, share: number): number {
  const { requests } = schedulableOf(kind.strategy, parent);
  return (reservationOf(requests, share).get(podsResource) ?? 0) / 1000;
}

function keyOf({ tenant, parent }: SimulatedWorkload): ObjectKey {
  return { cluster: tenant as ClusterName, namespace: "demo", name: parent.metadata.name };
}

/** What one process knows. */
class SchedulerMemory {
  readonly goals = new Map<SimulatedWorkload, ReadonlyMap<string, number>>();
  readonly #bounds: LocationLimitsModel;
  readonly #onNews: (whole: SimulatedWorkload) => void;
  readonly #ledger: ReservationCache;
  readonly #parts = new Set<string>();
  readonly #reservations = new Map<SimulatedWorkload, Reservations>();
  readonly #listeners: ((news: SchedulingNotification) => void)[] = [];

  constructor(bounds: LocationLimitsModel, onNews: (whole: SimulatedWorkload) => void) {
    this.#bounds = bounds;
    this.#onNews = onNews;
    const tell = () => {
      for (const listener of this.#listeners) listener({ kind: "room" });
    };
    this.#ledger = new ReservationCache({ placeOf: (_cluster, target) => target, onFreed: tell });
  }

  see(wholes: readonly SimulatedWorkload[]): void {
    const gone = new Set(this.#parts);
    for (const whole of wholes) {
      const resource = formatGroupResource(whole.kind.strategy.parts);
      this.reservationsOf(whole).see(keyOf(whole), whole.parent);
      for (const part of whole.parts.values()) {
        const { name } = part.metadata;
        const seen = observedCopyOf(part, { ...keyOf(whole), name }, resource);
        if (seen === undefined) continue;
        gone.delete(seen.key);
        this.#parts.add(seen.key);
        this.#ledger.see(seen);
      }
    }
    for (const key of gone) {
      this.#parts.delete(key);
      this.#ledger.unsee(key);
    }
  }

  /** As a coordinator has them; who waits hears of room. */
  reservationsOf(whole: SimulatedWorkload): Reservations {
    const known = this.#reservations.get(whole);
    if (known !== undefined) return known;
    const made = new Reservations(this.#scheduler(), whole.kind.strategy as Strategy);
    this.#reservations.set(whole, made);
    const nobody = { addHandler: () => ({ remove() {} }), store: { keysByIndex: () => [] } };
    made.follow(nobody as never, nobody as never, () => this.#onNews(whole));
    return made;
  }

  #scheduler(): Scheduler {
    const factsFor = (subject: SchedulingSubject): SchedulingSnapshot => ({
      policy: defaultPolicy,
      allowances: this.#bounds.allowances(),
      usage: {
        inCluster: ({ name, home }) => this.#ledger.usedByOthers(subject)(name, home),
        byWorkspace: (targets) => this.#ledger.usedInWorkspace(subject, targets),
      },
      neighbours: [],
    });
    const hold: Scheduler["hold"] = (subject, held) =>
      this.#ledger.hold(subject, held, subject.labels);
    const seeUnderWay: Scheduler["seeUnderWay"] = (subject, all) =>
      this.#ledger.seeUnderWay(subject, all, subject.labels);
    const subscribe = (listener: (news: SchedulingNotification) => void) =>
      void this.#listeners.push(listener);
    return { factsFor, hold, seeUnderWay, subscribe, follow() {} } as unknown as Scheduler;
  }
}

/** What the parts of a tenant's wholes ask for in some clusters, in Pods. */
export function podsRequested(
  wholes: readonly SimulatedWorkload[],
  tenant: string,
  isIn: (cluster: string) => boolean,
): number {
  let sum = 0;
  for (const whole of wholes)
    if (whole.tenant === tenant)
      for (const part of whole.parts.values())
        if (isIn(clusterOf(part))) sum += podsOf(whole, whole.kind.strategy.shareOf(part).replicas);
  return sum;
}

/** What they say is on its way to some clusters, in Pods. */
export function podsInFlight(
  wholes: readonly SimulatedWorkload[],
  tenant: string,
  isIn: (cluster: string) => boolean,
): number {
  let sum = 0;
  for (const whole of wholes.filter((one) => one.tenant === tenant))
    for (const [cluster, { replicas }] of readInFlight(whole.parent.metadata.annotations))
      if (isIn(cluster)) sum += podsOf(whole, replicas);
  return sum;
}
