import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { multiclusterParts } from "@kcp-ts/multicluster";
import { chosenControllers } from "./physical-cluster-flags.ts";

describe("the list of controllers", () => {
  it("takes all, some, or all but some", () => {
    const all = [...multiclusterParts];
    assert.deepEqual(chosenControllers(["*"]), { controlLoops: true, parts: all });
    assert.deepEqual(chosenControllers(["control-loops"]), { controlLoops: true, parts: [] });
    assert.deepEqual(chosenControllers(["*", "-api-importer", "-control-loops"]), {
      controlLoops: false,
      parts: all.filter((name) => name !== "api-importer"),
    });
  });
});
