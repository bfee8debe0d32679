/** The result of a step. */
import type { MoveState } from "./move-machine.ts";
import type { MoveRecord } from "./move-record.ts";
import type { OrdinalRange } from "./ordinal-ranges.ts";

/** What a unit would do next, before the guards that all units have in common. */
export interface ProposedStep {
  /**
   * The next replicas by cluster, or `remove`. Clusters whose copy stays absent or unchanged are
   * omitted.
   */
  readonly next: ReadonlyMap<string, number | "remove">;
  /** For ordinal ranges: the first ordinal of the next range, by cluster. */
  readonly starts?: ReadonlyMap<string, number>;
  /** The desired assignment that the steps lead to. */
  readonly goal: ReadonlyMap<string, number>;
  /** Replicas without a feasible cluster. */
  readonly unscheduled: number;
  /** Replicas that are removed after they are replaced. */
  readonly surplus: number;
  /** Desired replicas that the limits do not permit to start yet. */
  readonly deferred: number;
  /** What it waits for. */
  readonly deferredReason?: "SurgeLimited" | "WaitingForVolumes" | "WaitingForTermination";
  /** The reason why some replicas are unschedulable, if the cluster states do not explain it. */
  readonly unschedulableReason?: string | undefined;
  /** Clusters whose copies did not become available in time; none if omitted. */
  readonly rolledBack?: ReadonlySet<string>;
  /**
   * The desired ordinals of each cluster, with their claims. Undefined while nothing new can be
   * requested.
   */
  readonly requestedOrdinals?: ReadonlyMap<string, OrdinalRange> | undefined;
}

export interface Plan extends ProposedStep {
  readonly states: ReadonlyMap<string, MoveState>;
  /** The move records to write on the per-cluster objects. */
  readonly records: ReadonlyMap<string, MoveRecord>;
  /** The time of the next deadline. */
  readonly requeueAtMs: number | undefined;
}

/** A plan without a step: a kind that decides its writes itself has only a goal. */
export function planOfGoal(goal: ReadonlyMap<string, number>, unscheduled = 0): Plan {
  return {
    next: new Map(),
    goal,
    unscheduled,
    surplus: 0,
    deferred: 0,
    states: new Map(),
    records: new Map(),
    requeueAtMs: undefined,
  };
}
