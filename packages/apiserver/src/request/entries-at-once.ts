/** Something is done for each of many stored objects, some of them at a time: few enough not to crowd out others, and not more of their bytes than may be in memory. */

/** Enough to share a disk flush. */
const countMax = 32;
/** Of stored bytes; what is made of them takes ten times as much. One that is larger goes alone. */
const bytesMax = 1 << 20;

interface Sized {
  readonly value: { readonly length: number };
}

/** When one fails, no other is begun, and that is thrown when those under way have ended. */
export async function forEachAtOnce<Item extends Sized>(
  items: readonly Item[],
  body: (item: Item) => Promise<void>,
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
