import type { YieldTimer } from "./pace.ts";

export interface ConcurrencyOptions {
  readonly concurrency: number;
  readonly pace: YieldTimer;
  readonly signal: AbortSignal;
}

/**
 * Runs `body` for every item with bounded concurrency. After the first failure no further call
 * begins, and the failure is thrown when the calls in flight have ended.
 */
export async function forEachConcurrently<Item>(
  items: readonly Item[],
  { concurrency, pace, signal }: ConcurrencyOptions,
  body: (item: Item) => Promise<void>,
): Promise<void> {
  let next = 0;
  const failures: unknown[] = [];
  const work = async () => {
    while (next < items.length && failures.length === 0) {
      signal.throwIfAborted();
      await pace.rest(signal);
      if (next >= items.length) return;
      try {
        await body(items[next++] as Item);
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(concurrency, items.length) }, work));
  if (failures.length > 0) throw failures[0];
}
