import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { FakeClock } from "@kcp-ts/testkit";
import { Client, defineResource, type KubernetesObject } from "../client/index.ts";
import { FakeApiServer } from "../fake-server/index.ts";
import { Informer } from "./informer.ts";
import { byNamespace } from "./store.ts";

const things = defineResource<KubernetesObject>({
  group: "example.io",
  version: "v1",
  resource: "things",
  kind: "Thing",
  namespaced: true,
});

function setUp() {
  const clock = new FakeClock();
  const server = new FakeApiServer({ clock });
  const client = new Client({ transport: server.transport(), clock });
  const cluster = "root" as ClusterName;
  const informer = new Informer({ client, resource: things, scope: { cluster } });
  return { clock, server, informer };
}

describe("a large initial state", () => {
  it("is delivered to handlers in slices, and other tasks run in between", async () => {
    const { clock, server, informer } = setUp();
    for (let i = 0; i < 2500; i++) {
      server.put({ resource: "example.io/v1/things", namespace: "default", name: `n${i}` });
    }
    let told = 0;
    const toldInBetween: number[] = [];
    informer.addHandler({
      added() {
        if (++told === 1000) clock.schedule(0, () => toldInBetween.push(told));
      },
    });
    const stop = new AbortController();
    const done = informer.run(stop.signal);
    await clock.advanceAndFlush(0);
    assert.deepEqual(toldInBetween, [1000]);
    assert.equal(told, 2500);
    stop.abort();
    await done;
  });
});

describe("indexers", () => {
  it("can be added by several users, but not two indexers under one name", () => {
    const { informer } = setUp();
    informer.addIndexers(byNamespace);
    informer.addIndexers(byNamespace);
    assert.throws(
      () => informer.addIndexers({ namespace: { values: () => [] } }),
      /exists already and is another one/,
    );
  });
});
