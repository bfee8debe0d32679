/**
 * The availability budget of a workload over all clusters: how many replicas may become unavailable
 * before fewer than the least number are available. Moves and roll-outs spend the same kind of
 * budget, each from the worst case of what the other may still do.
 */
export class AvailabilityBudget {
  /** A lower bound of the replicas that stay available. */
  available: number;
  /** The least number of replicas that stay available. */
  readonly floor: number;

  constructor(available: number, floor: number) {
    this.available = available;
    this.floor = floor;
  }

  /** Replicas that may become unavailable; negative where too few are available already. */
  get spare(): number {
    return this.available - this.floor;
  }

  spend(replicas: number): void {
    this.available -= replicas;
  }
}
