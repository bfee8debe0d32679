/**
 * Goal: an informer with a filter stores the selected objects, misses none of their changes, and
 * delivers every deletion.
 */
import assert from "node:assert/strict";
import { afterEach, describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { FakeClock, SeededRandom } from "@kcp-ts/testkit";
import { Client, defineResource, type KubernetesObject } from "../client/index.ts";
import { FakeApiServer } from "../fake-server/index.ts";
import { Informer } from "./informer.ts";

interface Thing extends KubernetesObject {
  readonly size?: number;
}

const things = defineResource<Thing>({
  group: "example.io",
  version: "v1",
  resource: "things",
  kind: "Thing",
  namespaced: true,
});
const resource = "example.io/v1/things";
const running: AbortController[] = [];
afterEach(() => {
  for (const controller of running.splice(0)) controller.abort();
});

function setUp(watchList: boolean) {
  const clock = new FakeClock();
  const server = new FakeApiServer({ clock, watchList });
  const client = new Client({ transport: server.transport(), clock, random: new SeededRandom(1) });
  const informer = new Informer<Thing, string>({
    client,
    resource: things,
    scope: { cluster: "root" as ClusterName },
    filter: ({ size = 0 }) => size > 0,
    transform: ({ metadata: { name }, size }) => `${name} ${size}`,
  });
  const heard: string[] = [];
  informer.addHandler({
    added: (object) => heard.push(`added ${object}`),
    updated: (object) => heard.push(`updated ${object}`),
    deleted: (object) => heard.push(`deleted ${object}`),
    replaced: () => heard.push("replaced"),
  });
  const controller = new AbortController();
  running.push(controller);
  return {
    start: () => {
      void informer.run(controller.signal);
      return clock.advanceAndFlush(0);
    },
    server,
    informer,
    settle: (ms = 0) => clock.advanceAndFlush(ms),
    put: (name: string, size: number) =>
      server.put({ resource, namespace: "default", name }, { size }),
    remove: (name: string) => server.remove({ resource, namespace: "default", name }),
    take: () => heard.splice(0),
  };
}

describe("an informer with a filter", () => {
  for (const watchList of [true, false]) {
    const how = watchList ? "streamed" : "listed";
    it(`stores only those, of a ${how} state and of changes`, async () => {
      const { put, start, settle, informer, take } = setUp(watchList);
      put("kept", 1);
      put("left", 0);
      await start();
      assert.deepEqual(take(), ["added kept 1", "replaced"]);
      put("later", 2);
      put("left", 0);
      put("kept", 3);
      await settle();
      assert.deepEqual(take(), ["added later 2", "updated kept 3"]);
      assert.deepEqual(informer.store.list(), ["kept 3", "later 2"]);
    });
  }

  it("stores an object when it passes the filter, and removes it when it no longer does", async () => {
    const { put, start, settle, informer, take } = setUp(true);
    put("one", 0);
    await start();
    take();
    put("one", 1);
    await settle();
    put("one", 0);
    await settle();
    put("one", 0);
    await settle();
    assert.deepEqual(take(), ["added one 1", "deleted one 0"]);
    assert.equal(informer.store.size, 0);
  });

  it("delivers the deletion of objects that it did not store", async () => {
    const { put, remove, start, settle, take } = setUp(true);
    put("left", 0);
    await start();
    take();
    remove("left");
    await settle();
    assert.deepEqual(take(), ["deleted left 0"]);
  });

  it("reports when deletions may have been missed", async () => {
    const { put, remove, start, settle, take, server } = setUp(true);
    put("left", 0);
    put("kept", 1);
    await start();
    await settle(20_000);
    take();
    server.breakWatches();
    remove("left");
    put("kept", 2);
    server.store.compact();
    await settle(60_000);
    const told = take();
    assert.deepEqual(told, ["updated kept 2", "replaced"]);
  });
});
