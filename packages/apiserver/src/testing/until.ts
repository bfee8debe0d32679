/**
 * The effects of a write come some turns of the event loop later, or when time has passed: tests
 * wait for the effect.
 */
import type { TestServer } from "./test-server.ts";

/** Lets the server process the effects of earlier writes. */
export async function flushPendingWork(_test: TestServer): Promise<void> {
  for (let turn = 0; turn < 60; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Waits, while time advances, until a write has had its effect. */
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
