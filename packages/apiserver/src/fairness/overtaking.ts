/**
 * Who asks for little does not wait behind those who ask for much: a cheap request of a logical cluster that has nothing waiting begins in
 * the turn in which it arrived, also when the turn is spent or others wait.
 *
 * What overtakes is bounded twice: for each cluster, which otherwise waits like everybody else, and for all of them together.
 */
export const overtakingLimits = {
  /** What counts as little: reads of one object, not lists, watches or writes. */
  costMax: 60,
  perClusterMicros: 200,
  perTurnMicros: 1000,
} as const;

export class Overtaking {
  readonly #ofClusters = new Map<string, number>();
  #turn = -1;
  #left = 0;

  /** Takes the cost from this turn's allowance, if there is enough of it. */
  allows(turn: number, cluster: string, micros: number): boolean {
    const { costMax, perClusterMicros, perTurnMicros } = overtakingLimits;
    if (micros > costMax) return false;
    if (turn !== this.#turn) {
      this.#turn = turn;
      this.#left = perTurnMicros;
      this.#ofClusters.clear();
    }
    const spent = (this.#ofClusters.get(cluster) ?? 0) + micros;
    if (spent > perClusterMicros || micros > this.#left) return false;
    this.#left -= micros;
    this.#ofClusters.set(cluster, spent);
    return true;
  }
}
