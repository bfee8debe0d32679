/**
 * A watcher that does not read is ended: its queue is bounded, and its client resumes without a
 * loss.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { TestServer } from "../testing/index.ts";
import { watcherLimits } from "./index.ts";

const configmaps = "/clusters/a/api/v1/namespaces/default/configmaps";

async function start() {
  const server = await TestServer.start();
  const { metadata } = await server.requestOk("POST", configmaps, {
    body: { metadata: { name: "x" } },
  });
  const write = (n: string) => server.patch(`${configmaps}/x`, "merge", { data: { n } });
  const target = `${configmaps}?watch=1&resourceVersion=${metadata.resourceVersion}`;
  return { server, target, write };
}

/** A watch that has caught up, has been sent one event and then stops reading. */
async function watchAndSleep({ server, target, write }: Awaited<ReturnType<typeof start>>) {
  const reader = await server.watch(target);
  const first = reader.next();
  await new Promise((resolve) => setImmediate(resolve));
  await write("first");
  return { reader, version: (await first)?.object.metadata.resourceVersion };
}

describe("a watcher that does not read", () => {
  it("may fall behind by as many events as the buffer holds, and gets them all", async () => {
    const started = await start();
    const { server, write } = started;
    const { reader } = await watchAndSleep(started);
    for (let i = 0; i < watcherLimits.bufferedEventsMax; i++) await write(String(i));
    const events = await reader.take(watcherLimits.bufferedEventsMax);
    assert.equal(events.at(-1)?.object.data?.["n"], String(watcherLimits.bufferedEventsMax - 1));
    await reader.leave();
    await server.close();
  });

  it("is ended without an error one event later, and resumes at its position", async () => {
    const started = await start();
    const { server, write } = started;
    const { reader, version } = await watchAndSleep(started);
    for (let i = 0; i <= watcherLimits.bufferedEventsMax; i++) await write(String(i));
    assert.deepEqual(await reader.rest(), []);
    const again = await server.watch(`${configmaps}?watch=1&resourceVersion=${version}`);
    const events = await again.take(watcherLimits.bufferedEventsMax + 1);
    assert.equal(events[0]?.object.data?.["n"], "0");
    assert.equal(events.at(-1)?.object.data?.["n"], String(watcherLimits.bufferedEventsMax));
    await again.leave();
    await server.close();
  });

  it("is ended when the queued bytes are too many, though the events are few", async () => {
    const started = await start();
    const { server, write } = started;
    const { reader } = await watchAndSleep(started);
    const large = "x".repeat(1_000_000);
    const enough = Math.ceil(watcherLimits.bufferedBytesMax / large.length) + 1;
    for (let i = 0; i < enough; i++) await write(`${large}${i}`);
    assert.deepEqual(await reader.rest(), []);
    await server.close();
  });

  it("does not slow down other watchers", async () => {
    const started = await start();
    const { server, target, write } = started;
    const { reader: sleeping } = await watchAndSleep(started);
    const awake = await server.watch(target);
    for (let i = 0; i < 100; i++) await write(String(i));
    assert.equal((await awake.take(101)).at(-1)?.object.data?.["n"], "99");
    await sleeping.leave();
    await awake.leave();
    await server.close();
  });
});
