import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { multiclusterControllers } from "@kcp-ts/multicluster";
import { selectedControllers } from "./physical-cluster-flags.ts";

describe("the list of controllers", () => {
  it("selects all, some, or all but some", () => {
    const all = [...multiclusterControllers];
    assert.deepEqual(selectedControllers(["*"]), { controlLoops: true, multicluster: all });
    assert.deepEqual(selectedControllers(["control-loops"]), {
      controlLoops: true,
      multicluster: [],
    });
    assert.deepEqual(selectedControllers(["*", "-api-importer", "-control-loops"]), {
      controlLoops: false,
      multicluster: all.filter((name) => name !== "api-importer"),
    });
  });
});
