/**
 * A priority level in use: its seats, the requests that hold them, and the requests that wait for
 * one.
 */
import { FairQueue, type QueueItem } from "../event-loop/index.ts";
import type { PriorityLevelConfig } from "./flow-config.ts";

export interface QueuedRequest extends QueueItem {
  readonly seats: number;
  readonly start: () => void;
  readonly reject: (reason: RejectReason) => void;
}

/** The reasons of Kubernetes' metrics. */
export type RejectReason = "queue-full" | "concurrency-limit" | "time-out" | "cancelled";

export class PriorityLevel {
  /** Replaced when the operator changes the PriorityLevelConfiguration. */
  config: PriorityLevelConfig;
  readonly queue = new FairQueue<QueuedRequest>();
  seatsInUse = 0;
  nominalSeats = 0;
  /** Seats that are never lent to other levels. */
  reservedSeats = 0;
  /** The seats of the level with all that it may borrow. */
  seatsMax = 0;

  constructor(config: PriorityLevelConfig) {
    this.config = config;
  }

  /**
   * The waiting requests of one flow: as many as in Kubernetes, where shuffle sharding deals a flow
   * a hand of queues.
   */
  get flowLengthMax(): number {
    const { queuing } = this.config;
    return queuing === undefined ? 0 : queuing.handSize * queuing.queueLengthLimit;
  }

  get lengthMax(): number {
    const { queuing } = this.config;
    return queuing === undefined ? 0 : queuing.queues * queuing.queueLengthLimit;
  }

  /**
   * The most seats that one request may take, so that it can start at all and leaves seats for
   * other requests of its level.
   */
  clampSeats(seats: number): number {
    const { nominalSeats } = this;
    const { queuing } = this.config;
    const most =
      queuing === undefined
        ? nominalSeats
        : Math.min(
            Math.ceil(nominalSeats * widestShare),
            Math.floor(nominalSeats / queuing.handSize),
          );
    return Math.min(seats, Math.max(1, most));
  }
}

/** The part of a level's own seats that one request may take, as in Kubernetes. */
const widestShare = 0.15;

/**
 * Distributes the server's seats by nominal shares, rounded up as in Kubernetes, and returns the
 * sum.
 *
 * The exempt level has shares like the others if the operator gives it some: its requests do not
 * wait for seats, but its seats are not lent either.
 */
export function assignSeats(levels: Iterable<PriorityLevel>, seatsTotal: number): number {
  const all = [...levels];
  const shares = all.reduce((sum, { config }) => sum + config.nominalShares, 0);
  let nominalSum = 0;
  for (const level of all) {
    const { nominalShares, lendablePercent, borrowingLimitPercent } = level.config;
    const nominal = shares === 0 ? 0 : Math.ceil((seatsTotal * nominalShares) / shares);
    level.nominalSeats = nominal;
    level.reservedSeats = nominal - Math.round((nominal * lendablePercent) / 100);
    level.seatsMax =
      nominal +
      (borrowingLimitPercent === undefined
        ? seatsTotal
        : Math.round((nominal * borrowingLimitPercent) / 100));
    nominalSum += nominal;
  }
  return nominalSum;
}
