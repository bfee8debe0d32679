/**
 * How many events a second go through an informer, a queue and a trivial reconcile, on one core.
 * Prints one line of JSON; asserts nothing.
 */
import type { ClusterName } from "@kcp-ts/machinery/names";
import {
  Client,
  defineResource,
  InProcessTransport,
  type KubernetesObject,
} from "../client/index.ts";
import { logicalClusters } from "./clusters.ts";
import { Controller } from "./controller.ts";

const count = Number(process.env["BENCH_EVENTS"] ?? 100_000);
const objects = 10_000;
const things = defineResource<KubernetesObject>({
  group: "example.io",
  version: "v1",
  resource: "things",
  kind: "Thing",
  namespaced: true,
});

const event = (type: string, i: number, version: number) =>
  `{"type":"${type}","object":{"apiVersion":"example.io/v1","kind":"Thing","metadata":{"name":"n${i}","namespace":"default","uid":"u${i}","resourceVersion":"${version}","annotations":{"kcp.io/cluster":"tenant-${i % 100}"}},"spec":{"text":"${"x".repeat(700)}"}}}\n`;
const encoder = new TextEncoder();

/** The state, then changes in chunks of the size that a network read has. */
async function* stream(done: Promise<void>): AsyncGenerator<Uint8Array> {
  yield encoder.encode(
    Array.from({ length: objects }, (_, i) => event("ADDED", i, i + 1)).join("") +
      `{"type":"BOOKMARK","object":{"kind":"Thing","apiVersion":"example.io/v1","metadata":{"resourceVersion":"${objects}","annotations":{"k8s.io/initial-events-end":"true"}}}}\n`,
  );
  await started;
  for (let at = 0; at < count; at += 16) {
    const events = Array.from({ length: 16 }, (_, i) =>
      event("MODIFIED", (at + i) % objects, objects + at + i + 1),
    );
    yield encoder.encode(events.join(""));
  }
  await done;
}

let begin = () => {};
const started = new Promise<void>((resolve) => {
  begin = resolve;
});
const stop = new AbortController();
const stopped = new Promise<void>((resolve) => {
  stop.signal.addEventListener("abort", () => resolve());
});
const transport = new InProcessTransport(() => ({ status: 200, body: stream(stopped) }));
const clusters = logicalClusters({ client: new Client({ transport }) });
let reconciled = 0;
let finish = () => {};
const finished = new Promise<void>((resolve) => {
  finish = resolve;
});
const source = clusters.source(things);
const controller = new Controller({
  name: "bench",
  clusters,
  concurrency: 4,
  reconcile: async (key) => {
    const object = source.store.get(key);
    if (object === undefined) throw new Error("not in the store");
    reconciled++;
    if (reconciled === objects) begin();
    if (object.metadata.resourceVersion === String(objects + count)) finish();
  },
}).watch(things);
void clusters.run(stop.signal);
const running = controller.run({ signal: stop.signal });
await clusters.ready("x" as ClusterName);
await started;
const startedAt = performance.now();
const cpu = process.cpuUsage();
await finished;
const seconds = (performance.now() - startedAt) / 1000;
const { user, system } = process.cpuUsage(cpu);
console.log(
  JSON.stringify({
    events: count,
    keys: objects,
    reconciles: reconciled - objects,
    eventsPerSecond: count / seconds,
    cpuMicrosPerEvent: (user + system) / count,
  }),
);
stop.abort();
await running;
