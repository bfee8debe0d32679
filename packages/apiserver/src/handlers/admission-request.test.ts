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

  it("decodes a small object in one turn of the event loop, and a large one in several", async () => {
    for (const [keys, takesTurns] of [
      [3, false],
      [15_000, true],
    ] as const) {
      let isNextTurn = false;
      setImmediate(() => {
        isNextTurn = true;
      });
      const object = await decoder.decode(objectOf(keys));
      assert.equal(isNextTurn, takesTurns, `${keys} keys`);
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
