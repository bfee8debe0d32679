/** A setting that cannot be used, in words that say which and what to do. */
export class OptionsError extends Error {
  override readonly name = "OptionsError";
}
