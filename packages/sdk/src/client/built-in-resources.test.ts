import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { builtInResource } from "./built-in-resources.ts";

describe("builtInResource", () => {
  it("finds a resource of the core group", () => {
    assert.deepEqual(builtInResource("nodes"), {
      group: "",
      version: "v1",
      resource: "nodes",
      kind: "Node",
      namespaced: false,
    });
  });

  it("finds a resource of a group whose name has dots", () => {
    assert.deepEqual(builtInResource("volumesnapshots.snapshot.storage.k8s.io"), {
      group: "snapshot.storage.k8s.io",
      version: "v1",
      resource: "volumesnapshots",
      kind: "VolumeSnapshot",
      namespaced: true,
    });
  });
});
