/**
 * Processes many stored objects with limited concurrency: few enough to leave resources to other
 * requests, and with a limit on their bytes in memory.
 */

/** Enough to share a disk flush. */
const countDefault = 32;
/**
 * Counts stored bytes; decoded objects take ten times as much. A larger object is processed alone.
 */
const bytesMax = 1 << 20;

interface Sized {
  readonly value: { readonly length: number };
}

/**
 * On an error no other item is begun, and the error is thrown when the items in flight have ended.
 */
export async function forEachAtOnce<Item extends Sized>(
  items: readonly Item[],
  body: (item: Item) => Promise<void>,
  countMax: number = countDefault,
): Promise<void> {
  const running = new Set<Promise<void>>();
  let bytes = 0;
  let failure: { readonly error: unknown } | undefined;
  for (const item of items) {
    const { length } = item.value;
    while (running.size > 0 && (running.size >= countMax || bytes + length > bytesMax))
      await Promise.race(running);
    if (failure !== undefined) break;
    bytes += length;
    const done: Promise<void> = body(item)
      .catch((error: unknown) => {
        failure ??= { error };
      })
      .finally(() => {
        bytes -= length;
        running.delete(done);
      });
    running.add(done);
  }
  await Promise.all(running);
  if (failure !== undefined) throw failure.error;
}
