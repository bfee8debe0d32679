import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { applyTypeOf, atomicMap, map, message, objectMeta, string } from "./index.ts";

const selectors = message("example.Selectors", {
  whole: [1, atomicMap(string)],
  each: [2, map(string)],
});
const shape = message("example.Thing", { metadata: [1, objectMeta], spec: [2, selectors] });

describe("a map", () => {
  it("has one owner when it is atomic, and one for each key when it is not", () => {
    const spec = applyTypeOf(shape).map?.fields.get("spec")?.type.map?.fields;
    assert.equal(spec?.get("whole")?.type.map?.relationship, "atomic");
    assert.equal(spec?.get("each")?.type.map?.relationship, "granular");
  });
});
