/** Work that can be cut: a generator that rests between pieces none of which takes long, and returns what came out. */
export type Pieces<Result> = Generator<void, Result, void>;

/** All pieces one after the other, without a rest. */
export function atOnce<Result>(work: Pieces<Result>): Result {
  for (;;) {
    const { done, value } = work.next();
    if (done === true) return value;
  }
}
