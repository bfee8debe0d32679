/** Own kinds from TypeScript: the server enforces what the compiler knows, and what it cannot. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isStatusError } from "@kcp-ts/machinery/status";
import { setCondition } from "@kcp-ts/sdk";
import {
  conditions,
  defineKind,
  int32,
  type KindObject,
  list,
  object,
  string,
} from "@kcp-ts/sdk/schema";
import { startTestControlPlane } from "./test-control-plane.ts";

const autoscalers = defineKind({
  group: "example.com",
  version: "v1",
  kind: "Autoscaler",
  spec: object(
    {
      min: int32("Never fewer.", { minimum: 0, default: 1 }),
      max: int32("Never more."),
      mode: string("How.", { enum: ["fast", "slow"] }),
      targets: list(string(), { maxItems: 4 }),
    },
    { required: ["max"] },
  ),
  status: object({ replicas: int32(), conditions: conditions() }),
  rules: [["self.spec.min <= self.spec.max", "min is beyond max"]],
});
type Autoscaler = KindObject<typeof autoscalers>;

const at = { name: "web", namespace: "default" };

describe("defineKind", () => {
  it("gives a type, a resource and a definition that a server serves", async () => {
    const k = await startTestControlPlane({ crds: [autoscalers.definition] });
    const client = k.client.resource(autoscalers);
    const created: Autoscaler = await client.create({
      metadata: at,
      spec: { max: 3, mode: "fast" },
    });
    assert.deepEqual(created.spec, { max: 3, min: 1, mode: "fast" });
    const mode: "fast" | "slow" | undefined = created.spec.mode;
    assert.equal(mode, "fast");
    const next = setCondition(created.status?.conditions, {
      type: "Ready",
      status: "True",
      reason: "Scaled",
      message: "",
      observedGeneration: created.metadata.generation,
    });
    const updated = await client.setStatus(created, { replicas: 2, conditions: next });
    assert.equal(updated.status?.conditions?.[0]?.observedGeneration, 1);
    const same = await client.setStatus(updated, { replicas: 2, conditions: next });
    assert.equal(same, updated);
    const less = await client.setStatus(updated, { conditions: next });
    assert.equal(less.status?.replicas, undefined);
    await k.close();
  });

  it("has rules that the server enforces", async () => {
    const k = await startTestControlPlane({ crds: [autoscalers.definition] });
    const client = k.client.resource(autoscalers);
    await assert.rejects(
      client.create({ metadata: at, spec: { min: 5, max: 3 } }),
      (error: unknown) =>
        isStatusError(error, "Invalid") && /min is beyond max/.test(error.message),
    );
    // @ts-expect-error: the compiler knows the members and their values.
    await assert.rejects(client.create({ metadata: at, spec: { max: 3, mode: "odd" } }), /odd/);
    await k.close();
  });

  it("refuses the status of another object of the same name", async () => {
    const k = await startTestControlPlane({ crds: [autoscalers.definition] });
    const client = k.client.resource(autoscalers);
    const first = await client.create({ metadata: at, spec: { max: 3 } });
    await client.delete(at);
    await client.create({ metadata: at, spec: { max: 3 } });
    await assert.rejects(
      client.setStatus(first, { replicas: 1 }),
      (error: unknown) => isStatusError(error, "Invalid") && /metadata.uid/.test(error.message),
    );
    await k.close();
  });
});
