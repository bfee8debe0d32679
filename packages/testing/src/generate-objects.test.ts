import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isStatusError } from "@kcp-ts/machinery/status";
import { bool, defineKind, int32, list, map, object, string } from "@kcp-ts/sdk/schema";
import { generateObjects } from "./generate-objects.ts";
import { startTestControlPlane } from "./test-control-plane.ts";

const machines = defineKind({
  group: "example.com",
  version: "v1",
  kind: "Machine",
  spec: object(
    {
      cores: int32("", { minimum: 1, maximum: 64 }),
      image: string("", { maxLength: 20, minLength: 1 }),
      mode: string("", { enum: ["fast", "slow"] }),
      isSpare: bool(),
      labels: map(string()),
      disks: list(object({ size: int32("", { minimum: 1 }) }, { required: ["size"] }), {
        maxItems: 3,
      }),
    },
    { required: ["cores", "image"] },
  ),
});

describe("generated objects", () => {
  it("are accepted if they are valid, and refused for their flaw if they are not", async () => {
    const k = await startTestControlPlane({ crds: [machines.definition] });
    const client = k.client.resource(machines);
    const flaws = new Set<string>();
    let n = 0;
    for (const { spec, flaw } of generateObjects(machines.definition, { count: 120, seed: 7 })) {
      const metadata = { name: `m-${n++}`, namespace: "default" };
      // Its type is what is being tried.
      const made = client.create({ metadata, spec: spec as never });
      if (flaw === undefined) await made;
      else {
        flaws.add(flaw);
        await assert.rejects(
          made,
          (error: unknown) => isStatusError(error) && error.code < 500,
          flaw,
        );
      }
    }
    assert.ok(flaws.size > 8, [...flaws].join("; "));
    await k.close();
  });

  it("are the same for the same seed", () => {
    const make = (seed: number) => [...generateObjects(machines.definition, { count: 10, seed })];
    assert.deepEqual(make(3), make(3));
    assert.notDeepEqual(make(3), make(4));
  });
});
