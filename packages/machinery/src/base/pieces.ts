/** Work that can be cut: a generator that rests between pieces none of which takes long, and returns what came out. */
export type Pieces<Result> = Generator<void, Result, void>;

/** Says when a walk over many small things has done enough for one piece: `if (pace.isTime()) yield;`. */
export class Pace {
  readonly #each: number;
  #left: number;

  constructor(each: number) {
    this.#each = each;
    this.#left = each;
  }

  isTime(): boolean {
    if (--this.#left > 0) return false;
    this.#left = this.#each;
    return true;
  }
}

/** What is known already, or work of which it comes out. */
export type MaybePieces<Result extends object> = Result | Pieces<Result>;

export function isPieces<Result extends object>(work: MaybePieces<Result>): work is Pieces<Result> {
  return Symbol.iterator in work && "next" in work;
}

/** All pieces one after the other, without a rest. */
export function atOnce<Result>(work: Pieces<Result>): Result {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}
