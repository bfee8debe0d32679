import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  type Failure,
  type InformerEvent,
  type InformerState,
  informerTransitions,
  initialStep,
  nextStep,
  type SyncMethod,
} from "./reflector-machine.ts";

const failure = fc.constantFrom<Failure>(
  { kind: "expired" },
  { kind: "no-initial-events" },
  { kind: "throttled", retryAfterMs: 5000 },
  { kind: "unavailable" },
);
const event: fc.Arbitrary<InformerEvent> = fc.oneof(
  fc.constant({ type: "start" } as const),
  fc.constant({ type: "elapsed" } as const),
  fc.record({ type: fc.constant("synced" as const), resourceVersion: fc.constantFrom("5", "6") }),
  fc.record({ type: fc.constant("progress" as const), resourceVersion: fc.constantFrom("7", "8") }),
  fc.record({ type: fc.constant("ended" as const), healthy: fc.boolean() }),
  fc.record({ type: fc.constant("failed" as const), failure, healthy: fc.boolean() }),
);
const method = fc.constantFrom<SyncMethod>("stream", "pages", "whole");

describe("the reflector's state machine", () => {
  it("has a transition for every event in every state", () => {
    const states: InformerState[] = [
      "idle",
      "streaming",
      "listing",
      "watching",
      "waiting",
      "stopped",
    ];
    const events = ["start", "stop", "synced", "progress", "ended", "failed", "elapsed"];
    assert.deepEqual(Object.keys(informerTransitions).sort(), [...states].sort());
    for (const state of states) {
      assert.deepEqual(Object.keys(informerTransitions[state]).sort(), [...events].sort(), state);
    }
  });

  it("always has a command between start and stop, and none afterwards", () => {
    fc.assert(
      fc.property(method, fc.array(event, { maxLength: 40 }), (first, events) => {
        let step = nextStep(initialStep(first), { type: "start" });
        for (const one of events) {
          const before = step.state;
          step = nextStep(step, one);
          assert.notEqual(step.state, "stopped");
          assert.notEqual(step.state, "idle");
          // A state is left only together with a command, or for the stream that goes on as a
          // watch.
          if (step.state !== before && !(before === "streaming" && step.state === "watching")) {
            assert.notEqual(step.command.do, "nothing");
          }
        }
        step = nextStep(step, { type: "stop" });
        for (const one of [...events, { type: "start" } as const]) step = nextStep(step, one);
        assert.equal(step.state, "stopped");
        assert.equal(step.command.do, "nothing");
      }),
    );
  });

  it("watches only from resource versions whose state is in the store", () => {
    fc.assert(
      fc.property(method, fc.array(event, { maxLength: 40 }), (first, events) => {
        let step = nextStep(initialStep(first), { type: "start" });
        const known = new Set<string>();
        for (const one of events) {
          if ("resourceVersion" in one) known.add(one.resourceVersion);
          step = nextStep(step, one);
          if (step.command.do === "watch") assert.ok(known.has(step.command.resourceVersion));
          if (step.command.do === "sync") assert.equal(step.resourceVersion, undefined);
        }
      }),
    );
  });

  it("never sends another request without waiting, except to change the method once", () => {
    fc.assert(
      fc.property(method, fc.array(event, { maxLength: 40 }), (first, events) => {
        let step = nextStep(initialStep(first), { type: "start" });
        for (const one of events) {
          const before = step;
          step = nextStep(step, one);
          if (one.type !== "failed" || step.command.do === "nothing") continue;
          const isNewMethod = step.command.do === "sync" && step.method !== before.method;
          assert.ok(step.command.do === "wait" || isNewMethod, JSON.stringify([before, one, step]));
        }
      }),
    );
  });
});
