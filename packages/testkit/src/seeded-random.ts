/**
 * Randomness that can be repeated: the same seed gives the same numbers on every machine.
 *
 * SplitMix32: one multiply-and-shift round per number, good enough to drive tests, not for secrets.
 */
import type { Random } from "@kcp-ts/machinery/base";

export class SeededRandom implements Random {
  readonly seed: number;
  #state: number;

  constructor(seed: number) {
    this.seed = seed;
    this.#state = seed | 0;
  }

  next(): number {
    this.#state = (this.#state + 0x9e3779b9) | 0;
    let mixed = this.#state ^ (this.#state >>> 16);
    mixed = Math.imul(mixed, 0x21f0aaad);
    mixed ^= mixed >>> 15;
    mixed = Math.imul(mixed, 0x735a2d97);
    mixed ^= mixed >>> 15;
    return (mixed >>> 0) / 2 ** 32;
  }

  /** An integer in [0, below). */
  integer(below: number): number {
    return Math.floor(this.next() * below);
  }

  chance(probability: number): boolean {
    return this.next() < probability;
  }

  pick<Item>(items: readonly [Item, ...Item[]]): Item {
    return items[this.integer(items.length)] as Item;
  }

  /** A generator of its own, so that one part of a test drawing more does not shift the others. */
  fork(): SeededRandom {
    return new SeededRandom(this.integer(2 ** 32));
  }
}
