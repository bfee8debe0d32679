/**
 * Assertions of invariants; operating errors are handled instead.
 *
 * A failed assertion ends the request that hit it, never a silent default. Assertions stay on in
 * production.
 */
export class AssertionFailed extends Error {
  override readonly name = "AssertionFailed";
}

export function assert(condition: unknown, message: string): asserts condition {
  if (!condition) throw new AssertionFailed(message);
}

/** Marks a branch that the types say cannot be reached. */
export function unreachable(value: never): never {
  throw new AssertionFailed(`unreachable: ${String(value)}`);
}
