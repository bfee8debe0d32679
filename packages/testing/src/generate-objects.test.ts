import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isStatusError } from "@kcp-ts/machinery/status";
import { bool, defineKind, int32, keyedBy, list, map, object, string } from "@kcp-ts/sdk/schema";
import { SeededRandom } from "@kcp-ts/testkit";
import { generateObjects } from "./generate-objects.ts";
import { startTestControlPlane } from "./test-control-plane.ts";
import { textOfPattern } from "./text-of-pattern.ts";

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
      zone: string("", {
        pattern: "^[a-z]{2}-(?:east|west)-\\d+(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$",
      }),
      owner: string("", { format: "email" }),
      address: string("", { format: "ipv4" }),
      pages: int32("", { multipleOf: 4, minimum: 3, maximum: 99 }),
      groups: list(string("", { minLength: 1, maxLength: 1 }), {
        "x-kubernetes-list-type": "set",
        minItems: 1,
      }),
      ports: list(
        object(
          { number: int32("", { minimum: 1, maximum: 3 }), name: string() },
          { required: ["number"] },
        ),
        keyedBy("number"),
      ),
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
    for (const { spec, flaw } of generateObjects(machines.definition, { count: 240, seed: 7 })) {
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
    for (const flaw of [
      "pages: below its minimum",
      "image: too short",
      "image: too long",
      "zone: does not match its pattern",
      "groups: too few items",
      "groups: has an item twice",
      "ports: has an item twice",
      "disks: too many items",
      "spec: without cores",
    ])
      assert.ok(flaws.has(flaw.startsWith("spec") ? flaw : `spec.${flaw}`), flaw);
    await k.close();
  });

  it("match patterns of what they are made of", () => {
    const random = new SeededRandom(1);
    for (const pattern of [
      "^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
      "^(\\d+(e\\+0\\d{2,3})?|auto)$",
      "^[^a-z]+:\\s?\\w{3,}\\.$",
      "^a\\-b{2}$",
    ])
      for (let n = 0; n < 50; n++)
        assert.match(textOfPattern(pattern, random) ?? assert.fail(pattern), new RegExp(pattern));
    for (const pattern of ["^(?!a)b$", "(?i)a"])
      assert.equal(textOfPattern(pattern, random), undefined);
  });

  it("are the same for the same seed", () => {
    const make = (seed: number) => [...generateObjects(machines.definition, { count: 10, seed })];
    assert.deepEqual(make(3), make(3));
    assert.notDeepEqual(make(3), make(4));
  });
});
