/**
 * Goal: events go when their time has come, wherever they are, and not before; one that is written
 * again lives on.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { events as coreEvents, eventsV1Events as newEvents } from "@kcp-ts/sdk/kinds";
import { startTestControlPlane } from "@kcp-ts/testing/internal";

const namespace = "default";
const hourMs = 3_600_000;

function coreEvent(name: string) {
  return {
    metadata: { namespace, name },
    involvedObject: { kind: "ConfigMap", namespace, name: "x" },
    type: "Normal",
    reason: "Tested",
  };
}

describe("event expiry", () => {
  it("events of both groups and all clusters go an hour after they were last written", async () => {
    await using plane = await startTestControlPlane({ clock: "fake" });
    const [a, b] = [plane.clientFor("a"), plane.clientFor("b")];
    await a.resource(coreEvents).create(coreEvent("old"));
    await a.resource(coreEvents).create(coreEvent("counted"));
    await b
      .resource(newEvents)
      .create({
        metadata: { namespace, name: "new-group" },
        regarding: { kind: "ConfigMap", namespace, name: "x" },
        type: "Normal",
        reason: "Tested",
        action: "Testing",
        reportingController: "example.com/tester",
        reportingInstance: "one",
        eventTime: new Date(plane.clock.now()).toISOString().replace("Z", "000Z"),
      });
    const names = async () => {
      const lists = await Promise.all([a, b].map((one) => one.resource(coreEvents).list()));
      return lists.flatMap(({ items }) => items.map(({ metadata }) => metadata.name));
    };
    await plane.clock.advanceAndFlush(hourMs / 2);
    await a
      .resource(coreEvents)
      .patch({ namespace, name: "counted" }, { type: "merge", patch: { count: 2 } });
    await plane.clock.advanceAndFlush(hourMs / 2 - 60_000);
    assert.deepEqual(await names(), ["counted", "old", "new-group"]);
    await plane.clock.advanceAndFlush(hourMs / 10);
    assert.deepEqual(await names(), ["counted"]);
    await plane.clock.advanceAndFlush(hourMs / 2);
    assert.deepEqual(await names(), []);
  });
});
