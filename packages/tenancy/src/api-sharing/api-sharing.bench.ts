/**
 * Measures the latencies of providers and consumers: bindings per second, memory per consumer, and
 * the provider's watch over all consumers.
 *
 *     node packages/tenancy/dist/api-sharing/api-sharing.bench.js [consumers] [instances]
 */
import { TestServer } from "../testing/index.ts";
import { apis, bindingTo, cowboy, flushPendingWork, offer } from "./test-support/cowboys.ts";

const consumers = Number(process.argv[2] ?? 1000);
const instances = Number(process.argv[3] ?? 100_000);
const masters = { user: "masters" } as const;
const view = "/services/apiexport/provider/cowboys/clusters/*/apis/wildwest.dev/v1alpha1/cowboys";
const inDefault = "/apis/wildwest.dev/v1alpha1/namespaces/default/cowboys";
const atOnce = 32;

async function inParallel(
  count: number,
  work: (index: number) => Promise<unknown>,
): Promise<number> {
  const began = performance.now();
  let next = 0;
  const worker = async () => {
    while (next < count) await work(next++);
  };
  await Promise.all(Array.from({ length: atOnce }, worker));
  return performance.now() - began;
}

function say(what: string, value: string): void {
  process.stdout.write(`${what.padEnd(56)} ${value}\n`);
}

async function measure(): Promise<void> {
  const test = await TestServer.start();
  await offer(test, "provider");
  const cluster = (index: number) => `consumer-${index}`;
  await inParallel(consumers, (index) =>
    test.requestOk("POST", `/clusters/${cluster(index)}/api/v1/namespaces`, {
      ...masters,
      body: { metadata: { name: "default" } },
    }),
  );
  globalThis.gc?.();
  const before = process.memoryUsage().heapUsed;
  const body = bindingTo("provider");
  const bindingMs = await inParallel(consumers, (index) =>
    test.requestOk("POST", `${apis(cluster(index))}/apibindings`, { ...masters, body }),
  );
  await flushPendingWork(test);
  say("bindings per second", ((consumers / bindingMs) * 1000).toFixed(0));
  globalThis.gc?.();
  const held = (process.memoryUsage().heapUsed - before) / consumers;
  say("heap bytes per consumer, stored object included", held.toFixed(0));
  const makingMs = await inParallel(instances, (index) =>
    test.requestOk("POST", `/clusters/${cluster(index % consumers)}${inDefault}`, {
      ...masters,
      body: cowboy(`c-${index}`),
    }),
  );
  say("instances created per second", ((instances / makingMs) * 1000).toFixed(0));
  await measureWatch(test, cluster(7));
  await test.close();
}

async function measureWatch(test: TestServer, consumer: string): Promise<void> {
  const listing = performance.now();
  const list = await test.get(`${view}?limit=500`, masters);
  say("first page of the wildcard list, ms", (performance.now() - listing).toFixed(1));
  const { resourceVersion } = list.object.metadata;
  const starting = performance.now();
  const watch = await test.watch(`${view}?watch=1&resourceVersion=${resourceVersion}`, masters);
  say("wildcard watch started, ms", (performance.now() - starting).toFixed(1));
  const first = watch.next();
  const making = performance.now();
  await test.requestOk("POST", `/clusters/${consumer}${inDefault}`, {
    ...masters,
    body: cowboy("late"),
  });
  await first;
  say(
    "from a creation's request to the provider's event, ms",
    (performance.now() - making).toFixed(1),
  );
  await watch.leave();
  const whole = performance.now();
  const initial = await test.watch(`${view}?watch=1`, masters);
  await initial.next();
  say(
    "watch with all instances first: to its first event, ms",
    (performance.now() - whole).toFixed(1),
  );
  await initial.leave();
  const everything = performance.now();
  const all = await test.get(view, masters);
  say(
    "whole wildcard list, ms and MB",
    `${(performance.now() - everything).toFixed(0)} ${(all.text.length / 1e6).toFixed(0)}`,
  );
}

await measure();
