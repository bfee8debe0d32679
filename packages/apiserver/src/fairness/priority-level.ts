/** A priority level at work: its seats, who holds them, and who waits for one. */
import { FairQueue, type QueueItem } from "../event-loop/index.ts";
import type { PriorityLevelConfig } from "./flow-config.ts";

export interface QueuedRequest extends QueueItem {
  readonly seats: number;
  readonly start: () => void;
  readonly reject: (reason: RejectReason) => void;
}

/** As in Kubernetes' metrics. */
export type RejectReason = "queue-full" | "concurrency-limit" | "time-out" | "cancelled";

export class PriorityLevel {
  /** Replaced when the operator changes it. */
  config: PriorityLevelConfig;
  readonly queue = new FairQueue<QueuedRequest>();
  inUse = 0;
  nominalSeats = 0;
  /** Seats that are never lent to others. */
  reservedSeats = 0;
  /** With everything that may be borrowed. */
  seatsMax = 0;

  constructor(config: PriorityLevelConfig) {
    this.config = config;
  }

  /** What of one flow may wait: as much as a flow has in Kubernetes, where it is dealt a hand of queues. */
  get flowLengthMax(): number {
    const { queuing } = this.config;
    return queuing === undefined ? 0 : queuing.handSize * queuing.queueLengthLimit;
  }

  get lengthMax(): number {
    const { queuing } = this.config;
    return queuing === undefined ? 0 : queuing.queues * queuing.queueLengthLimit;
  }

  /** The most that one request may take, so that it fits some time and leaves room for others of its level. */
  fitting(seats: number): number {
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

/** Of a level's own seats, for one request: as in Kubernetes. */
const widestShare = 0.15;

/**
 * Deals the server's seats out by nominal shares, rounded up as in Kubernetes, and says how many that is altogether.
 *
 * The exempt level has a share like the others, if the operator gives it one: its requests do not wait for seats, but the seats are not lent either.
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
