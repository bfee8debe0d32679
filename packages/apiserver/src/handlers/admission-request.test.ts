import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { builtIns, type ResourceDefinition } from "../registry/index.ts";
import { DefinitionDecoder } from "./admission-request.ts";

describe("the decoder of objects that webhooks and policies change", () => {
  const configMaps = builtIns.find(({ resource }) => resource === "configmaps");
  const decoder = new DefinitionDecoder(configMaps as ResourceDefinition);
  const objectOf = (keys: number) => ({
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "a" },
    data: Object.fromEntries(Array.from({ length: keys }, (_, i) => [`k${i}`, "v"])),
    unknown: 1,
  });

  it("decodes a small object at once, and a large one while yielding to the event loop", async () => {
    const small = decoder.decode(objectOf(3));
    assert.ok(!(small instanceof Promise));
    const large = decoder.decode(objectOf(15_000));
    assert.ok(large instanceof Promise);
    for (const [object, keys] of [
      [small, 3],
      [await large, 15_000],
    ] as const) {
      const { unknown: _, ...known } = objectOf(keys);
      assert.deepEqual(object["data"], known.data);
      assert.equal(object["unknown"], undefined);
    }
  });

  it("refuses an unknown field of an object of any size, if decoded strictly", async () => {
    for (const keys of [3, 15_000])
      await assert.rejects(async () => decoder.decode(objectOf(keys), "strictly"), /unknown/);
  });
});
