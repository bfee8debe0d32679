/** What follows from a write comes some turns of the event loop later, or when time has gone on: tests wait for the effect. */
import type { TestServer } from "./test-server.ts";

/** Lets the server do what follows from what was written. */
export async function flushPendingWork(_test: TestServer): Promise<void> {
  for (let turn = 0; turn < 60; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Waits, while time goes on, until what was written has had its effect. */
export async function until(
  test: TestServer,
  what: string,
  isSo: () => Promise<boolean>,
): Promise<void> {
  for (let turn = 0; turn < 300; turn++) {
    if (await isSo()) return;
    await flushPendingWork(test);
    test.clock.advance(100);
  }
  throw new Error(`it never came to pass that ${what}`);
}
