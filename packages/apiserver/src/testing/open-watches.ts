/** The number of open watches, from the metrics. */
import type { TestServer } from "./test-server.ts";

export async function openWatches(server: TestServer): Promise<number> {
  const { text } = await server.get("/metrics");
  let count = 0;
  for (const [, value] of text.matchAll(/^apiserver_longrunning_requests\{.*\} (\d+)$/gm))
    count += Number(value);
  return count;
}

/** Waits, because connections open and close asynchronously. */
export async function untilWatches(server: TestServer, count: number): Promise<void> {
  while ((await openWatches(server)) !== count)
    await new Promise((resolve) => setImmediate(resolve));
}
