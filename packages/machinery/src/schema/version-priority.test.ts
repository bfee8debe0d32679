import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compareVersionPriority } from "./index.ts";

describe("compareVersionPriority", () => {
  it("puts stable before beta before alpha before anything else", () => {
    const versions = [
      "foo10",
      "v1alpha1",
      "v11alpha2",
      "v3beta1",
      "v12alpha1",
      "v2",
      "v10",
      "v1",
      "v11beta2",
      "foo1",
      "v10beta3",
      "v2beta1",
    ];
    assert.deepEqual(versions.sort(compareVersionPriority), [
      "v10",
      "v2",
      "v1",
      "v11beta2",
      "v10beta3",
      "v3beta1",
      "v2beta1",
      "v12alpha1",
      "v11alpha2",
      "v1alpha1",
      "foo1",
      "foo10",
    ]);
  });
});
