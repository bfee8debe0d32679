/** Adds the seed and the last changes of a history to its error. */
export function withSeed(seed: number, history: readonly string[], play: () => void): void {
  try {
    play();
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    const text = [`seed ${seed}: ${message}`, ...history.slice(-80)].join("\n  ");
    throw new Error(text, { cause: error });
  }
}
