/**
 * Locations that limit the tenants' use of their clusters: `everything`, and within it `zone-a`.
 * The model keeps reservations with the product's own code, including those that watches have not
 * delivered yet; and loses them when the process ends.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import type { ObjectKey } from "@kcp-ts/sdk";
import { SeededRandom } from "@kcp-ts/testkit";
import { podsResource, workloadPlacementName } from "../../../api/index.ts";
import {
  defaultPolicy,
  type LocationLimits,
  observePlacement,
  placedWorkloadOf,
  ReservationCache,
  reservationOf,
  type Scheduler,
  type SchedulingNotification,
  type SchedulingSnapshot,
  type SchedulingSubject,
} from "../../../scheduling/index.ts";
import { type Decision, schedulableOf } from "../../decide.ts";
import { recordedInFlight } from "../../placement-record.ts";
import { Reservations } from "../../reservations.ts";
import type { Strategy } from "../../strategy.ts";
import { clusterOf, type SimulatedWorkload } from "./simulated-workload.ts";

export interface LimitedLocation {
  readonly name: string;
  readonly matches: LocationLimits["includes"];
  pods: number;
  /** The highest limit so far: a lowered limit stops nothing. */
  podsMost: number;
}

const places: Readonly<Record<string, LocationLimits["includes"]>> = {
  everything: () => true,
  "zone-a": ({ labels }) => labels?.["zone"] === "a",
};

export class LocationLimitsModel {
  readonly random: SeededRandom;
  readonly locations: readonly LimitedLocation[];
  isUnlimited = false;
  readonly #onNews: (workload: SimulatedWorkload) => void;
  #memory: SchedulerMemory;

  constructor(seed: number, onNews: (workload: SimulatedWorkload) => void) {
    this.random = new SeededRandom(seed);
    this.#onNews = onNews;
    this.locations = Object.entries(places).map(([name, matches]) => {
      const pods = this.random.integer(12);
      return { name, matches, pods, podsMost: pods };
    });
    this.#memory = new SchedulerMemory(this, this.#onNews);
  }

  /** Raises or lowers the limit of a random Location, and returns it. */
  change(): LimitedLocation {
    const [first, ...others] = this.locations;
    const location = this.random.pick([first as LimitedLocation, ...others]);
    location.pods = this.random.integer(12);
    location.podsMost = Math.max(location.podsMost, location.pods);
    return location;
  }

  /** The coordinating process ends, and another one starts. */
  restart(): void {
    this.#memory = new SchedulerMemory(this, this.#onNews);
  }

  /** Delivers the watch events: workloads that wait are requeued when capacity is released. */
  observe(workloads: readonly SimulatedWorkload[]): void {
    this.#memory.observe(workloads);
  }

  snapshot(workload: SimulatedWorkload): SchedulingSnapshot {
    return this.#memory.reservationsOf(workload).snapshot(keyOf(workload), workload.parent);
  }

  reserve(workload: SimulatedWorkload, decision: Decision): void {
    this.#memory.reservationsOf(workload).reserve(keyOf(workload), workload.parent, decision);
    this.#memory.goals.set(workload, decision.plan.goal);
  }

  /**
   * The last decision about a workload since the last restart, for the selected clusters together,
   * in Pods.
   */
  promised(workload: SimulatedWorkload, isIn: (cluster: string) => boolean): number {
    let sum = 0;
    for (const [cluster, share] of this.#memory.goals.get(workload) ?? [])
      if (isIn(cluster)) sum += podsOf(workload, share);
    return sum;
  }

  locationLimits(): readonly LocationLimits[] {
    if (this.isUnlimited) return [];
    return this.locations.map(({ name: location, matches: includes, pods }) => ({
      location,
      includes,
      resourceLimits: { [podsResource]: String(pods) },
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

/** The state of one process. */
class SchedulerMemory {
  readonly goals = new Map<SimulatedWorkload, ReadonlyMap<string, number>>();
  readonly #bounds: LocationLimitsModel;
  readonly #onNews: (workload: SimulatedWorkload) => void;
  readonly #ledger: ReservationCache;
  readonly #placed = new Map<SimulatedWorkload, ReturnType<typeof placedWorkloadOf>>();
  readonly #reservations = new Map<SimulatedWorkload, Reservations>();
  readonly #listeners: ((schedulingNotification: SchedulingNotification) => void)[] = [];

  constructor(limits: LocationLimitsModel, onNews: (workload: SimulatedWorkload) => void) {
    this.#bounds = limits;
    this.#onNews = onNews;
    const tell = (place: string) => {
      for (const listener of this.#listeners) listener({ kind: "room", place });
    };
    this.#ledger = new ReservationCache({
      clusterKeyOf: (_cluster, target) => target,
      onFreed: tell,
    });
  }

  observe(workloads: readonly SimulatedWorkload[]): void {
    for (const workload of workloads) {
      const { record, parent, kind } = workload;
      if (record === undefined) continue;
      const { workloads: resource } = kind.strategy;
      const { name, labels = {} } = parent.metadata;
      const metadata = { name: workloadPlacementName(resource, name), labels };
      const workloadRef = { apiVersion: parent.apiVersion, kind: parent.kind, name };
      const object = { metadata, spec: { workloadRef }, status: record };
      const placed = placedWorkloadOf(object as never);
      observePlacement(this.#ledger, keyOf(workload), placed, this.#placed.get(workload));
      this.#placed.set(workload, placed);
    }
  }

  /**
   * The reservations of a coordinator; workloads that wait are requeued when capacity is released.
   */
  reservationsOf(workload: SimulatedWorkload): Reservations {
    const known = this.#reservations.get(workload);
    if (known !== undefined) return known;
    const made = new Reservations(this.#scheduler(), workload.kind.strategy as Strategy, {
      list: () => [],
    });
    this.#reservations.set(workload, made);
    const nobody = { keysByIndex: () => [] };
    made.follow(nobody as never, () => this.#onNews(workload));
    return made;
  }

  #scheduler(): Scheduler {
    const snapshotFor = (subject: SchedulingSubject): SchedulingSnapshot => ({
      policy: defaultPolicy,
      locationLimits: this.#bounds.locationLimits(),
      usage: {
        inCluster: ({ name, computeWorkspace }) =>
          this.#ledger.usedByOthers(subject)(name, computeWorkspace),
        byWorkspace: (targets) => this.#ledger.usedInWorkspace(subject, targets),
      },
      existingWorkloads: [],
    });
    const reserve: Scheduler["reserve"] = (subject, held) =>
      this.#ledger.reserve(subject, held, subject.labels);
    const subscribe = (listener: (schedulingNotification: SchedulingNotification) => void) =>
      void this.#listeners.push(listener);
    return { snapshotFor, reserve, subscribe, reservations: this.#ledger } as unknown as Scheduler;
  }
}

/** The Pods that the copies of a tenant's workloads request in the selected clusters. */
export function podsRequested(
  workloads: readonly SimulatedWorkload[],
  tenant: string,
  isIn: (cluster: string) => boolean,
): number {
  let sum = 0;
  for (const workload of workloads)
    if (workload.tenant === tenant)
      for (const copy of workload.copies.values())
        if (isIn(clusterOf(copy)))
          sum += podsOf(workload, workload.kind.strategy.shareOf(copy).replicas);
  return sum;
}

/** The Pods that a tenant's workloads record as in flight to the selected clusters. */
export function podsInFlight(
  workloads: readonly SimulatedWorkload[],
  tenant: string,
  isIn: (cluster: string) => boolean,
): number {
  let sum = 0;
  for (const workload of workloads.filter((one) => one.tenant === tenant))
    for (const [cluster, { replicas }] of recordedInFlight(workload.record))
      if (isIn(cluster)) sum += podsOf(workload, replicas);
  return sum;
}
