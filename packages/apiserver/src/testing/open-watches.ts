/** How many watches are open, as metrics tell it. */
import type { TestServer } from "./test-server.ts";

export async function openWatches(server: TestServer): Promise<number> {
  const { text } = await server.get("/metrics");
  let count = 0;
  for (const [, value] of text.matchAll(/^apiserver_longrunning_requests\{.*\} (\d+)$/gm))
    count += Number(value);
  return count;
}

/** Clients come and go sooner or later. */
export async function untilWatches(server: TestServer, count: number): Promise<void> {
  while ((await openWatches(server)) !== count)
    await new Promise((resolve) => setImmediate(resolve));
}
