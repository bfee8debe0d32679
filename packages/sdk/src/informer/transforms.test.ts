import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KubernetesObject } from "../client/index.ts";
import { Interner } from "./interner.ts";
import { metadataOnly, withoutManagedFields } from "./transforms.ts";

const object = (i: number): KubernetesObject =>
  JSON.parse(
    JSON.stringify({
      apiVersion: "example.io/v1alpha1",
      kind: "SomethingLongish",
      metadata: {
        name: `n${i}`,
        namespace: "a-long-namespace-name",
        creationTimestamp: "2026-11-15T20:00:00Z",
        annotations: { "kubectl.kubernetes.io/last-applied-configuration": "{}", kept: "yes" },
        ownerReferences: [{ apiVersion: "v1", kind: "Owner", name: "o", uid: "u" }],
        managedFields: [{ manager: "kubectl", fieldsV1: { "f:spec": { "f:size": {} } } }],
      },
      spec: { size: i },
    }),
  ) as KubernetesObject;

describe("sharing parts", () => {
  it("changes nothing that can be read, and keeps equal parts once", () => {
    const interner = new Interner();
    const shared = [1, 2, 3].map((i) => {
      const one = object(i);
      interner.share(one);
      interner.shareManagedFields(one.metadata.managedFields ?? []);
      return one;
    });
    assert.deepEqual(shared, [object(1), object(2), object(3)]);
    const [first, second] = shared;
    assert.equal(first?.metadata.ownerReferences, second?.metadata.ownerReferences);
    const fields = (one: KubernetesObject | undefined) =>
      one?.metadata.managedFields?.[0]?.fieldsV1;
    assert.ok(fields(first) !== undefined);
    assert.equal(fields(first), fields(second));
  });
});

describe("transforms", () => {
  it("drop managed fields and kubectl's copy, and nothing else", () => {
    const { managedFields: _, ...metadata } = object(1).metadata;
    const expected = { ...object(1), metadata: { ...metadata, annotations: { kept: "yes" } } };
    assert.deepEqual(withoutManagedFields(object(1)), expected);
    const bare = { apiVersion: "v1", kind: "A", metadata: { name: "a" } };
    assert.equal(withoutManagedFields(bare), bare);
  });

  it("keep of the metadata what controllers look at", () => {
    const { metadata } = metadataOnly(object(1));
    assert.equal(metadata.name, "n1");
    assert.equal(metadata.ownerReferences?.[0]?.name, "o");
    assert.equal(metadata.deletionTimestamp, undefined);
    assert.deepEqual(Object.keys(metadata).includes("managedFields"), false);
  });
});
