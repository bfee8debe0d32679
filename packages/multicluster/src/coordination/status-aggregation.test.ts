import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { countedReads } from "@kcp-ts/testkit";
import { type AggregationInput, aggregatedConditions } from "./status-aggregation.ts";
import type { WorkloadCondition } from "./workload.ts";

const conditions = (count: number): WorkloadCondition[] =>
  Array.from({ length: count }, (_, i) => ({
    type: `Type${i}`,
    status: "True",
    reason: "Fine",
    message: "",
    lastTransitionTime: "2026-01-01T00:00:00Z",
  }));

/** What is read to aggregate the conditions of two copies with so many types of them. */
function readsFor(count: number): number {
  const status = { conditions: conditions(count) };
  const workload = {
    apiVersion: "apps/v1",
    kind: "Deployment",
    metadata: { name: "web", namespace: "default" },
    spec: {},
    status,
  };
  const copy = (cluster: string) => ({
    cluster,
    object: workload,
    isReachable: true,
    isUnmanaged: false,
    syncError: undefined,
  });
  const scheduled = { isScheduled: true, isBlocked: false, reason: "R", message: "" };
  const input = { parent: workload, scheduled, nowMs: 0, isWriting: false };
  const copies = [copy("east"), copy("west")];
  const { object, reads } = countedReads({ ...input, copies });
  const all = aggregatedConditions(object as unknown as AggregationInput, object.copies);
  assert.equal(all.length, count + 1);
  return reads();
}

describe("aggregated conditions", () => {
  it("take twice the reads for twice as many types, which clusters choose", () => {
    const [one, two] = [readsFor(100), readsFor(200)];
    assert.ok(two < 2.2 * one, `${one} and ${two} reads`);
  });
});
