/** Randomness is injected through constructors, so that a seeded run can be repeated. */
export interface Random {
  /** A number in [0, 1). */
  next(): number;
}

export const systemRandom: Random = { next: () => Math.random() };
