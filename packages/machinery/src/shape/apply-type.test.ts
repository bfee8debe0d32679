import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { applyTypeOf, configMap, type MessageShape, persistentVolume, service } from "./index.ts";

function relationshipOf(shape: MessageShape, ...path: readonly string[]): string | undefined {
  let type: ReturnType<typeof applyTypeOf> | undefined = applyTypeOf(shape);
  for (const name of path) type = type?.map?.fields.get(name)?.type;
  return type?.map?.relationship;
}

describe("the apply type of a kind", () => {
  it("a map has one owner when it is atomic, and one for each key when it is not", () => {
    assert.equal(relationshipOf(service, "spec", "selector"), "atomic");
    assert.equal(relationshipOf(configMap, "data"), "granular");
  });

  it("the members of a field may have owners although the message is atomic elsewhere", () => {
    assert.equal(relationshipOf(persistentVolume, "spec", "claimRef"), "granular");
  });
});
