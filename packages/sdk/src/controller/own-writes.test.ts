import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ClusterName } from "@kcp-ts/machinery/names";
import { defineResource, type KubernetesObject } from "../client/index.ts";
import type { ObjectKey } from "../informer/index.ts";
import { isLater, OwnWrites } from "./own-writes.ts";

const resource = defineResource({
  group: "",
  version: "v1",
  resource: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
});
const key: ObjectKey = { cluster: "root" as ClusterName, namespace: "default", name: "a" };

function at(resourceVersion: string): KubernetesObject {
  const metadata = { name: "a", namespace: "default", resourceVersion };
  return { apiVersion: "v1", kind: "ConfigMap", metadata };
}

/** What a controller reads that wrote, and whose cache is at this state. */
function read(
  write: { object: string | undefined; cachedBefore?: string },
  cache: { object?: string; seen: string | undefined },
): string | undefined {
  const writes = new OwnWrites();
  const before = write.cachedBefore === undefined ? undefined : at(write.cachedBefore);
  writes.written(resource, key, write.object === undefined ? undefined : at(write.object), before);
  const newest = writes.newest(resource, key, {
    get: () => (cache.object === undefined ? undefined : at(cache.object)),
    seenVersion: () => cache.seen,
  });
  return newest?.metadata.resourceVersion;
}

describe("a controller's own writes", () => {
  it("are read until the cache has them, or something later", () => {
    assert.equal(read({ object: "10" }, { object: "9", seen: "9" }), "10");
    assert.equal(read({ object: "10" }, { object: "10", seen: "10" }), "10");
    assert.equal(read({ object: "10" }, { object: "11", seen: "11" }), "11");
    assert.equal(read({ object: "100" }, { object: "99", seen: "99" }), "100");
  });

  it("of a new object are read until the cache has passed them by", () => {
    assert.equal(read({ object: "10" }, { seen: "9" }), "10");
    assert.equal(read({ object: "10" }, { seen: undefined }), "10");
    // Somebody has deleted it since.
    assert.equal(read({ object: "10" }, { seen: "12" }), undefined);
  });

  it("hide a deleted object, and not the next one of its name", () => {
    assert.equal(
      read({ object: undefined, cachedBefore: "9" }, { object: "9", seen: "9" }),
      undefined,
    );
    assert.equal(
      read({ object: undefined, cachedBefore: "9" }, { object: "14", seen: "14" }),
      "14",
    );
    assert.equal(read({ object: undefined, cachedBefore: "9" }, { seen: "12" }), undefined);
  });

  it("yield to the cache where versions cannot be compared", () => {
    assert.equal(read({ object: "x1" }, { object: "x0", seen: "x0" }), "x0");
    assert.equal(isLater("10", "9"), true);
    assert.equal(isLater("9", "10"), false);
    assert.equal(isLater("010", "9"), false);
  });

  it("are bounded", () => {
    const writes = new OwnWrites();
    for (let n = 0; n < 10_500; n++) {
      writes.written(resource, { ...key, name: `a${n}` }, at("10"), undefined);
    }
    assert.equal(writes.keys(resource).length, 10_000);
  });
});
