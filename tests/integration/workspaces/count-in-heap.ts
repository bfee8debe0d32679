/** For tests: which texts there are anywhere in this process's heap. */
import { getHeapSnapshot } from "node:v8";

/**
 * How many of some texts are part of any string in the heap. They come in a form that is not their
 * own, because otherwise they would be found where the test has them; `reveal` is called when the
 * heap was looked at, and nothing of what it says is kept.
 */
export async function countInHeap(
  hidden: readonly string[],
  reveal: (hidden: string) => string,
): Promise<number> {
  const parts: Buffer[] = [];
  // The snapshot is taken here and only written out as it is read. All its strings are at the end,
  // as JSON.
  for await (const part of getHeapSnapshot()) parts.push(Buffer.from(part as Uint8Array));
  const snapshot = Buffer.concat(parts);
  const strings = snapshot.subarray(snapshot.lastIndexOf('"strings":['));
  return hidden.map(reveal).filter((text) => strings.includes(text)).length;
}
