import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KubernetesObject } from "@kcp-ts/sdk";
import { type CachedObject, cachedObject, contentDigest, hasSameContent } from "./cached-object.ts";

const widget = {
  apiVersion: "example.com/v1",
  kind: "Widget",
  metadata: {
    name: "one",
    namespace: "default",
    uid: "u1",
    resourceVersion: "7",
    generation: 2,
    labels: { a: "1", b: "2" },
    annotations: { note: "x" },
  },
  spec: { color: "red" },
  status: { phase: "Ready" },
} as const;

function cached(
  metadata: Record<string, unknown> = {},
  rest: Record<string, unknown> = {},
): CachedObject {
  const object = { ...widget, ...rest, metadata: { ...widget.metadata, ...metadata } };
  return cachedObject(object as unknown as KubernetesObject);
}

describe("a cached object", () => {
  const cases: [what: string, other: CachedObject, isSame: boolean][] = [
    ["nothing", cached(), true],
    ["a version", cached({ resourceVersion: "8" }), true],
    ["a status", cached({ resourceVersion: "8" }, { status: { phase: "Gone" } }), true],
    ["the order of labels", cached({ labels: { b: "2", a: "1" } }), true],
    ["a label", cached({ labels: { a: "1" } }), false],
    ["an annotation", cached({ annotations: { note: "y" } }), false],
    ["a value", cached({}, { spec: { color: "blue" } }), false],
    ["a generation", cached({ generation: 3 }), false],
    ["an identity", cached({ uid: "u2" }), false],
    ["a deletion", cached({ deletionTimestamp: "2026-01-01T00:00:00Z" }), false],
  ];
  for (const [what, other, isSame] of cases) {
    it(`has ${isSame ? "the same" : "another"} digest after a change of ${what}`, () => {
      assert.equal(contentDigest(other) === contentDigest(cached()), isSame);
      assert.equal(hasSameContent(other, cached()), isSame);
    });
  }

  it("does not change when it is packed and unpacked", () => {
    const packed = JSON.parse(JSON.stringify(cached())) as CachedObject;
    assert.ok(hasSameContent(packed, cached()));
    assert.equal(contentDigest(packed), contentDigest(cached()));
  });
});
