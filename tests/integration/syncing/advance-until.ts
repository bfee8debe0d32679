/** For programs on a clock that stands still: who waits for something has to move it. */
import assert from "node:assert/strict";
import type { FakeClock } from "@kcp-ts/testkit";

export async function advanceUntil(
  clock: FakeClock,
  end: Promise<unknown> | undefined,
): Promise<void> {
  let isOver = false;
  const over = Promise.resolve(end).finally(() => {
    isOver = true;
  });
  for (let second = 0; !isOver && second < 600; second++) await clock.advanceAndFlush(1000);
  assert.ok(isOver, "it does not end in ten minutes");
  await over;
}
