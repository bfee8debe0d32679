import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "../json/index.ts";
import { updateManagersMax } from "./index.ts";
import { configMap, entries, entry, update } from "./update-fixture.ts";

describe("the number of update managers", () => {
  const writes = (count: number): JsonObject => {
    let live = update({ updated: configMap({ key0: "1" }, { uid: "u" }), manager: "m0" });
    for (let i = 1; i < count; i++) {
      live = update({
        live,
        manager: `m${i}`,
        now: `2026-01-01T00:01:${String(i).padStart(2, "0")}Z`,
        updated: configMap(
          Object.fromEntries(Array.from({ length: i + 1 }, (_, j) => [`key${j}`, "1"])),
          { uid: "u" },
        ),
      });
    }
    return live;
  };
  const names = (object: JsonObject) => entries(object).map((e) => (e as JsonObject)["manager"]);

  it("may reach the limit", () => {
    assert.deepEqual(
      names(writes(updateManagersMax)),
      Array.from({ length: updateManagersMax }, (_, i) => `m${i}`),
    );
  });

  it("stays at the limit: the oldest are folded into ancient-changes", () => {
    const over = writes(updateManagersMax + 1);
    assert.deepEqual(names(over), [
      "ancient-changes",
      ...Array.from({ length: updateManagersMax - 1 }, (_, i) => `m${i + 2}`),
    ]);
    assert.deepEqual(
      entries(over)[0],
      entry("ancient-changes", "2026-01-01T00:01:01Z", {
        "f:data": { ".": {}, "f:key0": {}, "f:key1": {} },
      }),
    );
    const more = writes(updateManagersMax + 3);
    assert.equal(entries(more).length, updateManagersMax);
    assert.deepEqual((entries(more)[0] as JsonObject)["fieldsV1"], {
      "f:data": { ".": {}, "f:key0": {}, "f:key1": {}, "f:key2": {}, "f:key3": {} },
    });
  });
});
