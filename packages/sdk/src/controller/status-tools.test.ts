import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { FakeClock, flushEventLoop } from "@kcp-ts/testkit";
import { Client, defineResource, type KubernetesObject } from "../client/index.ts";
import { FakeApiServer } from "../fake-server/index.ts";
import { type Condition, findCondition, isConditionTrue, setCondition } from "./condition.ts";
import { eventsPerObjectBurst, similarMessagesMax } from "./event-correlator.ts";
import { type Event, EventRecorder, eventsInFlightMax } from "./event-recorder.ts";
import { hasFinalizer, withFinalizer } from "./finalizer.ts";
import { HealthChecks } from "./health.ts";

const things = defineResource<KubernetesObject>({
  group: "example.io",
  version: "v1",
  resource: "things",
  kind: "Thing",
  namespaced: true,
});
const target = { namespace: "default", name: "a" };
const root = "root" as ClusterName;

function setUp() {
  const clock = new FakeClock();
  const server = new FakeApiServer({ clock });
  const client = new Client({ transport: server.transport(), clock });
  return { clock, server, client, resource: client.resource(things) };
}

describe("conditions", () => {
  const ready = { type: "Ready", status: "True", reason: "Fine", message: "" } as const;

  it("change their transition time only with their status", () => {
    const first = setCondition(undefined, ready, 0);
    assert.equal(first[0]?.lastTransitionTime, "1970-01-01T00:00:00Z");
    assert.equal(setCondition(first, { ...ready }, 5000), first);
    const reworded = setCondition(first, { ...ready, message: "new" }, 5000);
    assert.equal(findCondition(reworded, "Ready")?.lastTransitionTime, "1970-01-01T00:00:00Z");
    const changed = setCondition(reworded, { ...ready, status: "False" }, 5000);
    assert.equal(findCondition(changed, "Ready")?.lastTransitionTime, "1970-01-01T00:00:05Z");
    assert.deepEqual(
      [isConditionTrue(first, "Ready"), isConditionTrue(changed, "Ready")],
      [true, false],
    );
  });

  it("leave other conditions unchanged", () => {
    const other: Condition = { ...ready, type: "Other", lastTransitionTime: "x" };
    const list = setCondition([other], ready, 0);
    assert.equal(list[0], other);
    assert.equal(list.length, 2);
  });
});

describe("finalizers", () => {
  it("are added before the work, and removed after the clean-up", async () => {
    const { resource } = setUp();
    const calls: string[] = [];
    const step = async (cleanUp = async () => void calls.push("clean")) => {
      const object = await resource.get(target);
      const reconcile = async (one: KubernetesObject) => {
        calls.push(`work ${hasFinalizer(one, "example.io/x")}`);
      };
      return withFinalizer({ resource, object, finalizer: "example.io/x", reconcile, cleanUp });
    };
    await resource.create({ metadata: { ...target, finalizers: ["example.io/other"] } });
    await step();
    await resource.delete(target);
    await assert.rejects(
      step(async () => {
        throw new Error("cannot clean up yet");
      }),
      /yet/,
    );
    assert.ok(hasFinalizer(await resource.get(target), "example.io/x"));
    await step();
    assert.deepEqual((await resource.get(target)).metadata.finalizers, ["example.io/other"]);
    await step();
    assert.deepEqual(calls, ["work true", "clean"]);
  });

  it("do not overwrite a concurrent change of the object", async () => {
    const { resource } = setUp();
    const object = await resource.create({ metadata: target });
    await resource.update({ ...object, metadata: { ...object.metadata, finalizers: ["b/c"] } });
    const work = async () => {};
    await assert.rejects(
      withFinalizer({ resource, object, finalizer: "a/b", reconcile: work, cleanUp: work }),
      { reason: "Conflict" },
    );
  });
});

describe("an event recorder", () => {
  function recording() {
    const { clock, server, client } = setUp();
    const errors: unknown[] = [];
    const recorder = new EventRecorder({
      component: "tester",
      client: () => client,
      onError: (error) => errors.push(error),
      clock,
    });
    const object = (name: string): KubernetesObject => ({
      apiVersion: "example.io/v1",
      kind: "Thing",
      metadata: { name, namespace: "default", uid: `uid-${name}` },
    });
    const tell = (message: string, name = "a") =>
      recorder.record(root, object(name), { type: "Normal", reason: "Done", message });
    const stored = () =>
      [...(server.store.stateAt(server.store.revision) ?? [])]
        .filter(([key]) => key.startsWith("/v1/events|"))
        .map(([, event]) => event as unknown as Event);
    return { clock, server, recorder, tell, stored, errors };
  }

  it("counts a repeated event", async () => {
    const { recorder, tell, stored, clock } = recording();
    tell("created the pod");
    tell("created the pod");
    await recorder.flush();
    clock.advance(60_000);
    tell("created the pod");
    await recorder.flush();
    const [event, ...others] = stored();
    assert.equal(others.length, 0);
    assert.equal(event?.count, 3);
    assert.equal(event?.firstTimestamp, "2026-01-01T00:00:00Z");
    assert.equal(event?.lastTimestamp, "2026-01-01T00:01:00Z");
    assert.deepEqual(event?.involvedObject, {
      apiVersion: "example.io/v1",
      kind: "Thing",
      name: "a",
      namespace: "default",
      uid: "uid-a",
    });
  });

  it("aggregates similar events", async () => {
    const { recorder, tell, stored } = recording();
    for (let i = 0; i < similarMessagesMax + 5; i++) tell(`attempt ${i}`);
    await recorder.flush();
    const list = stored();
    assert.equal(list.length, similarMessagesMax + 1);
    const combined = list.find(({ message }) => message.startsWith("(combined"));
    assert.equal(combined?.count, 5);
    assert.equal(combined?.message, "(combined from similar events): attempt 14");
  });

  it("limits the events of one object, without affecting other objects", async () => {
    const { recorder, tell, stored, clock } = recording();
    for (let i = 0; i < eventsPerObjectBurst + 10; i++) tell("again");
    tell("again", "b");
    await recorder.flush();
    const counts = () => stored().map(({ count }) => count);
    assert.deepEqual(counts().sort(), [1, eventsPerObjectBurst]);
    clock.advance(300_000);
    tell("again");
    tell("again");
    await recorder.flush();
    assert.deepEqual(counts().sort(), [1, eventsPerObjectBurst + 1]);
  });

  it("creates an event again that has expired on the server", async () => {
    const { recorder, tell, stored, server } = recording();
    tell("x");
    await recorder.flush();
    const { namespace = "", name } = stored()[0]?.metadata ?? { name: "" };
    server.remove({ resource: "/v1/events", namespace, name });
    tell("x");
    await recorder.flush();
    assert.deepEqual(
      stored().map(({ count }) => count),
      [2],
    );
  });

  it("drops and reports events that a dead server does not accept, and never waits", async () => {
    const { tell, server, errors } = recording();
    server.hang(eventsInFlightMax);
    for (let i = 0; i < eventsInFlightMax; i++) tell("x", `n${i}`);
    await flushEventLoop();
    assert.equal(errors.length, 0);
    tell("x", "one more");
    assert.match(String(errors[0]), /more than 100 events/);
  });
});

describe("health checks", () => {
  it("report ok, or the failed check, without its reason", async () => {
    const reasons: unknown[] = [];
    const checks = new HealthChecks((_, error) => reasons.push(error)).add("ping", () => {});
    assert.deepEqual(await checks.report(), { isHealthy: true, text: "ok" });
    checks.add("informer", async () => {
      throw new Error("secret reason");
    });
    const report = await checks.report();
    assert.equal(report.isHealthy, false);
    assert.equal(
      report.text,
      "[+]ping ok\n[-]informer failed: reason withheld\nhealthz check failed\n",
    );
    assert.match(String(reasons[0]), /secret reason/);
  });
});
