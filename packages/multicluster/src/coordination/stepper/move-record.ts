/**
 * The record of a move with a deadline, for each cluster in which it is in flight: the replicas
 * before the move, the time of its last scale-up, and whether the move was rolled back.
 *
 * The record belongs to one request: when the request changes, `request` changes, and the record no
 * longer counts.
 */
export interface MoveRecord {
  /** Replicas before the move. */
  readonly from: number;
  /** The time of the last scale-up. */
  readonly sinceMs: number;
  readonly isRolledBack: boolean;
  /** The hash of the request. */
  readonly request: string;
  /**
   * Other clusters in which an all-or-nothing workload was rolled back: no copy is left there that
   * could carry the record.
   */
  readonly failedIn?: readonly string[];
}
