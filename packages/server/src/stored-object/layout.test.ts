import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "@kcp-ts/machinery/json";
import fc from "fast-check";
import type { Entry, Revision, StorageKey } from "../storage/index.ts";
import {
  decodeObject,
  encodeObject,
  hasMetadataOfOwnership,
  itemBytesMax,
  labelsOf,
  partialBytesAt,
  servedBytes,
  servedBytesAt,
  writeListItem,
} from "./layout.ts";

function entryOf(object: JsonObject): Entry {
  return {
    key: "/k" as StorageKey,
    value: encodeObject(object),
    createdAt: 3 as Revision,
    modifiedAt: 7 as Revision,
  };
}

const object = {
  apiVersion: "v1",
  data: { 'tricky"metadata":{': "}" },
  kind: "ConfigMap",
  metadata: { name: "x", resourceVersion: "1", labels: { 'a"}': 'b\\"}' } },
};

describe("stored object layout", () => {
  it("serves the stored members with the revision as resourceVersion", () => {
    const served = JSON.parse(servedBytes(entryOf(object)).toString()) as JsonObject;
    assert.deepEqual(served, { ...object, metadata: { ...object.metadata, resourceVersion: "7" } });
    assert.deepEqual(decodeObject(entryOf(object)), served);
  });

  it("serves a deleted object at the revision of its deletion", () => {
    const served = JSON.parse(
      servedBytesAt(entryOf(object), 9 as Revision).toString(),
    ) as typeof object;
    assert.equal(served.metadata.resourceVersion, "9");
  });

  it("writes list items with and without their kind", () => {
    const entry = entryOf(object);
    for (const withKind of [true, false]) {
      const buffer = Buffer.alloc(itemBytesMax(entry));
      const end = writeListItem(buffer, 0, entry, withKind);
      const item = JSON.parse(buffer.toString("utf8", 0, end)) as Record<string, unknown>;
      assert.equal(item["kind"], withKind ? "ConfigMap" : undefined);
      assert.deepEqual(item["data"], object.data);
    }
  });

  it("cuts out exactly the metadata, whatever it and the rest contain", () => {
    const words = fc.dictionary(fc.string(), fc.string());
    fc.assert(
      fc.property(words, words, fc.jsonValue(), (labels, annotations, spec) => {
        const metadata = { name: "x", labels, annotations, list: [{ a: "}" }, '{"'] };
        const entry = entryOf({
          kind: "K",
          apiVersion: "v1",
          metadata,
          spec,
        } as unknown as JsonObject);
        const partial = JSON.parse(
          partialBytesAt(entry, 9 as Revision, "v1").toString(),
        ) as unknown;
        assert.deepEqual(partial, {
          kind: "PartialObjectMetadata",
          apiVersion: "meta.k8s.io/v1",
          metadata: JSON.parse(JSON.stringify({ ...metadata, resourceVersion: "9" })) as unknown,
        });
      }),
    );
  });

  it("reads exactly the labels, whatever they and the rest contain", () => {
    const words = fc.dictionary(fc.string(), fc.string());
    fc.assert(
      fc.property(fc.option(words, { nil: undefined }), words, (labels, data) => {
        const metadata = labels === undefined ? { name: "x" } : { name: "x", labels };
        const found = labelsOf(
          entryOf({ kind: "K", apiVersion: "v1", metadata, data } as JsonObject),
        );
        assert.deepEqual(
          found === undefined ? undefined : { ...found },
          labels === undefined ? undefined : { ...labels },
        );
      }),
    );
  });

  it("cuts out exactly the metadata, whatever it and the rest contain", () => {
    const anything = fc.dictionary(
      fc.string().filter((key) => key !== "__proto__"),
      fc.jsonValue(),
    );
    fc.assert(
      fc.property(anything, anything, (extra, data) => {
        const metadata = { name: "x", managedFields: [extra], annotations: extra };
        const entry = entryOf({ kind: "K", apiVersion: "v1", metadata, data } as JsonObject);
        assert.deepEqual(JSON.parse(partialBytesAt(entry, 9 as Revision, "v1").toString()), {
          kind: "PartialObjectMetadata",
          apiVersion: "meta.k8s.io/v1",
          metadata: JSON.parse(JSON.stringify({ ...metadata, resourceVersion: "9" })),
        });
      }),
    );
  });

  it("says of no object with owners or waiting finalizers that it has none, whatever else is in it", () => {
    const text = fc.string();
    const owners = fc.array(fc.record({ apiVersion: text, kind: text, name: text, uid: text }));
    const finalizers = fc.array(fc.oneof(text, fc.constantFrom("orphan", "foregroundDeletion")));
    fc.assert(
      fc.property(owners, finalizers, fc.jsonValue(), (ownerReferences, finalizers, data) => {
        const metadata = { name: "x", ownerReferences, finalizers };
        const isOne =
          ownerReferences.length > 0 ||
          finalizers.includes("orphan") ||
          finalizers.includes("foregroundDeletion");
        const entry = entryOf({ kind: "K", apiVersion: "v1", metadata, data } as JsonObject);
        if (isOne) assert.ok(hasMetadataOfOwnership(entry));
      }),
    );
    const plain = { kind: "K", apiVersion: "v1", metadata: { name: "x", finalizers: ["a/b"] } };
    assert.equal(hasMetadataOfOwnership(entryOf(plain)), false);
  });
});
