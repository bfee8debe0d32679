import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runSync } from "@kcp-ts/machinery/base";
import { type JsonObject, type JsonValue, setMember } from "@kcp-ts/machinery/json";
import fc from "fast-check";
import { type Entry, isStorageError, type Revision, type StorageKey } from "../storage/index.ts";
import { encodeObject, encodeObjectResumable } from "./encode.ts";
import { isIntact } from "./envelope.ts";
import {
  annotatedMetadata,
  decodeObject,
  hasFinalizers,
  hasOwnershipMetadata,
  hasTypeMetaPrefix,
  isBeingDeleted,
  isEstablished,
  itemBytesMax,
  labelsMayContain,
  labelsOf,
  partialBytesAt,
  servedBytes,
  storedVersionOf,
  typeMetaPrefix,
  writeListItem,
} from "./layout.ts";

function entryOf(object: JsonObject): Entry {
  return {
    key: "/g/r/i/tenant/ns/x" as StorageKey,
    value: encodeObject(object),
    createdAt: 3 as Revision,
    modifiedAt: 7 as Revision,
  };
}

/**
 * Names that V8 orders first, names of prototypes, names of the searched members, and names that
 * look like the surrounding text.
 */
const hostileNames = [
  ...["0", "1", "7", "4294967294", "4294967295", "-1", "01", "", "__proto__", "constructor"],
  ...["kind", "apiVersion", "metadata", "labels", "annotations", "resourceVersion", "items"],
  ...["kcp.io/cluster", "ownerReferences", "finalizers", "deletionTimestamp", "uid", "name"],
  ...['"', "\\", '"metadata":{', '{"metadata":{"labels":{', '"}', "ü", "\u2028", "x".repeat(3000)],
];

const name = fc.oneof(fc.constantFrom(...hostileNames), fc.string());

/** Objects with own members of any name; `fc.dictionary` has none called `__proto__`. */
function objectOf(value: fc.Arbitrary<JsonValue>): fc.Arbitrary<JsonObject> {
  return fc.array(fc.tuple(name, value), { maxLength: 6 }).map((members) => {
    const object: JsonObject = {};
    for (const [key, each] of members) setMember(object, key, each);
    return object;
  });
}

const { value: anything } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom<JsonValue>(null, true, -1.5, 12345678901234567890n, '"metadata":{}', "", "}"),
    fc.string(),
    fc.array(tie("value") as fc.Arbitrary<JsonValue>, { maxLength: 3 }) as fc.Arbitrary<JsonValue>,
    objectOf(tie("value") as fc.Arbitrary<JsonValue>),
  ),
}));

const texts = objectOf(fc.string());
const hostileObject: fc.Arbitrary<JsonObject> = fc
  .record({
    root: objectOf(anything),
    metadata: objectOf(anything),
    labels: fc.option(texts, { nil: undefined }),
    annotations: fc.option(texts, { nil: undefined }),
  })
  .map(({ root, metadata, labels, annotations }) => ({
    ...root,
    kind: "Widget",
    apiVersion: "example.com/v1",
    metadata: { ...metadata, labels: labels as JsonValue, annotations: annotations as JsonValue },
  }));

/** The object as a client gets it, with the fields that only the server sets. */
function expected(object: JsonObject, revision: string): JsonObject {
  const { annotations, labels, ...metadata } = object["metadata"] as JsonObject;
  return parsed(
    stringify({
      ...object,
      metadata: {
        ...metadata,
        ...(labels === undefined ? {} : { labels }),
        resourceVersion: revision,
        annotations: { ...(annotations as JsonObject | undefined), "kcp.io/cluster": "tenant" },
      },
    }),
  );
}

function stringify(value: unknown): string {
  return JSON.stringify(value, (_, each) => (typeof each === "bigint" ? Number(each) : each));
}

function parsed(text: string | Buffer): JsonObject {
  return JSON.parse(text.toString()) as JsonObject;
}

const object = {
  apiVersion: "v1",
  data: { 'tricky"metadata":{': "}" },
  kind: "ConfigMap",
  metadata: { name: "x", resourceVersion: "1", labels: { 'a"}': 'b\\"}' } },
};

describe("metadata with an annotation that the server sets", () => {
  const note = "kcp.io/original-api-version";
  const withNote = fc.tuple(hostileObject, fc.boolean()).map(([each, isSet]) => {
    const metadata = each["metadata"] as JsonObject;
    const annotations = { ...(metadata["annotations"] as JsonObject), [note]: "forged" };
    return isSet ? { ...each, metadata: { ...metadata, annotations } } : each;
  });

  it("equals the object's metadata with the server's annotation, for any content", () => {
    fc.assert(
      fc.property(withNote, (each) => {
        const shown = annotatedMetadata(entryOf(each), note, "v1");
        const { metadata } = expected(each, "7") as { metadata: JsonObject };
        const annotations = { ...(metadata["annotations"] as JsonObject), [note]: "v1" };
        const { kind, apiVersion, metadata: found, ...rest } = parsed(servedBytes(shown));
        assert.deepEqual([kind, apiVersion, rest], ["Widget", "example.com/v1", {}]);
        assert.deepEqual(found, { ...metadata, annotations });
        assert.ok(isIntact(shown));
      }),
    );
  });

  it("is parsed only where the annotation is mentioned", (t) => {
    const parse = t.mock.method(JSON, "parse");
    const entry = entryOf({ ...object, metadata: { name: "x", annotations: { a: "b" } } });
    annotatedMetadata(entry, note, storedVersionOf(entry));
    const texts = parse.mock.calls.map(({ arguments: [text] }) => text);
    assert.deepEqual(texts, ['{"kind":"ConfigMap","apiVersion":"v1"}']);
  });
});

describe("stored object layout", () => {
  it("an object is served, listed and decoded as it was encoded, with any member names", () => {
    fc.assert(
      fc.property(hostileObject, (hostile) => {
        const entry = entryOf(hostile);
        assert.deepEqual(parsed(servedBytes(entry)), expected(hostile, "7"));
        assert.deepEqual(parsed(servedBytes(entry, 9 as Revision)), expected(hostile, "9"));
        assert.deepEqual(parsed(stringify(decodeObject(entry))), expected(hostile, "7"));
        for (const withKind of [true, false]) {
          const buffer = Buffer.alloc(itemBytesMax(entry));
          const end = writeListItem(buffer, 0, entry, withKind);
          const { kind, apiVersion, ...rest } = expected(hostile, "7");
          const item = withKind ? { kind, apiVersion, ...rest } : rest;
          assert.deepEqual(parsed(buffer.subarray(0, end)), item);
        }
      }),
      { numRuns: 500 },
    );
  });

  it("the extracted metadata is the object's own, beside other members of that name", () => {
    fc.assert(
      fc.property(hostileObject, (hostile) => {
        const partial = parsed(partialBytesAt(entryOf(hostile), 9 as Revision, "v1"));
        const { metadata } = expected(hostile, "9");
        const head = { kind: "PartialObjectMetadata", apiVersion: "meta.k8s.io/v1" };
        assert.deepEqual(partial, { ...head, metadata });
      }),
      { numRuns: 500 },
    );
  });

  it("the extracted labels are the object's own, beside other members of that name", () => {
    fc.assert(
      fc.property(hostileObject, (hostile) => {
        const { labels } = hostile["metadata"] as { labels?: JsonObject };
        const entry = entryOf(hostile);
        assert.deepEqual(labelsOf(entry), labels);
        const own = Object.keys(labels ?? {}).filter((key) => /^[\w./-]+$/.test(key));
        for (const key of own) assert.ok(labelsMayContain(entry, Buffer.from(`"${key}"`)));
      }),
      { numRuns: 500 },
    );
    assert.equal(
      labelsMayContain(entryOf({ ...object, data: { label: "" } }), Buffer.from('"label"')),
      false,
    );
  });

  it("an object that is encoded while yielding to the event loop has the same bytes", () => {
    fc.assert(
      fc.property(hostileObject, (hostile) => {
        assert.deepEqual(runSync(encodeObjectResumable(hostile)), encodeObject(hostile));
      }),
    );
  });

  it("the cluster of an object comes from its key, whatever its annotations contain", () => {
    for (const annotations of [
      { "kcp.io/cluster": "other" },
      JSON.parse('{"kcp.io\\u002fcluster": "other", "0": "first"}') as JsonObject,
      ["kcp.io/cluster"],
      null,
      "other",
    ]) {
      const metadata = { name: "x", annotations } as JsonObject;
      const entry = entryOf({ kind: "K", apiVersion: "v1", metadata });
      const shown = servedBytes(entry).toString();
      assert.ok(!shown.includes("other"), shown);
      assert.equal(clusterIn(parsed(shown)), "tenant");
      assert.equal(clusterIn(decodeObject(entry)), "tenant");
      assert.equal(clusterIn(parsed(partialBytesAt(entry, 1 as Revision, "v1"))), "tenant");
      const elsewhere = { ...entry, key: "/g/r/i/elsewhere/ns/x" as StorageKey };
      assert.equal(clusterIn(parsed(servedBytes(elsewhere))), "elsewhere");
    }
  });

  it("an object without metadata, or with empty metadata, is served as JSON", () => {
    for (const metadata of [undefined, {}, null, [], "x"]) {
      const entry = entryOf({ kind: "K", apiVersion: "v1", metadata, 0: {} } as JsonObject);
      const shown = parsed(servedBytes(entry))["metadata"] as JsonObject;
      assert.deepEqual(shown, {
        resourceVersion: "7",
        annotations: { "kcp.io/cluster": "tenant" },
      });
    }
  });

  it("owners, finalizers and deletion are read from the object's own metadata alone", () => {
    const owners = [{ apiVersion: "v1", kind: "K", name: "o", uid: "u" }];
    const forged = {
      ownerReferences: owners,
      finalizers: ["orphan", "a/b"],
      deletionTimestamp: "2026-01-01T00:00:00Z",
    };
    const told = (metadata: JsonObject, rest: JsonObject = {}) => {
      const entry = entryOf({ kind: "K", apiVersion: "v1", metadata, ...rest });
      return [hasOwnershipMetadata(entry), hasFinalizers(entry), isBeingDeleted(entry)];
    };
    assert.deepEqual(told({ name: "x" }, { 0: { metadata: forged }, ...forged }), [
      ...[false, false, false],
    ]);
    assert.deepEqual(told({ name: "x", 0: forged, managedFields: [forged] }), [
      ...[false, false, false],
    ]);
    assert.deepEqual(told({ ownerReferences: owners }), [true, false, false]);
    assert.deepEqual(told({ ownerReferences: [], finalizers: [] }), [false, false, false]);
    assert.deepEqual(told({ finalizers: ["a/b"] }), [false, true, false]);
    assert.deepEqual(told({ finalizers: ["a/b", "foregroundDeletion"] }), [true, true, false]);
    assert.deepEqual(told({ deletionTimestamp: "2026-01-01T00:00:00Z" }), [false, false, true]);
  });

  it("an object is established by the conditions of its status alone", () => {
    const conditions = [{ type: "Established", status: "True" }];
    const told = (rest: object) =>
      isEstablished(entryOf({ kind: "K", apiVersion: "v1", metadata: {}, ...rest } as JsonObject));
    assert.equal(told({ status: { conditions } }), true);
    assert.equal(told({ spec: { default: { conditions } }, 0: { status: { conditions } } }), false);
  });

  it("kind and version are read from the bytes before the metadata", () => {
    const entry = entryOf(object);
    assert.equal(hasTypeMetaPrefix(entry, typeMetaPrefix("ConfigMap", "v1")), true);
    assert.equal(hasTypeMetaPrefix(entry, typeMetaPrefix("ConfigMap", "v1beta1")), false);
    assert.equal(hasTypeMetaPrefix(entry, typeMetaPrefix("ConfigMa", "v1")), false);
  });

  it("bytes that the encoder did not write are damaged, wherever they were changed", () => {
    const entry = entryOf(object);
    const changed = (change: (bytes: Buffer) => Uint8Array) => ({
      ...entry,
      value: change(Buffer.from(entry.value)),
    });
    for (let at = 0; at < entry.value.length; at++) {
      const flipped = changed((bytes) => {
        bytes[at] = (bytes[at] as number) ^ 1;
        return bytes;
      });
      assert.equal(isIntact(flipped), false, `byte ${at}`);
      assert.equal(isIntact(changed((bytes) => bytes.subarray(0, at))), false);
    }
    assert.equal(isIntact(entry), true);
    const json = Buffer.from('{"0":{"metadata":{}},"kind":"ConfigMap","metadata":{"name":"x"}}');
    for (const value of [json, Buffer.alloc(0), Buffer.alloc(100), Buffer.from("not an object")]) {
      assert.equal(isIntact({ value }), false);
      const isDamaged = (error: unknown) => isStorageError(error, "corrupt");
      assert.throws(() => servedBytes({ ...entry, value }), isDamaged);
      assert.throws(() => decodeObject({ ...entry, value }), isDamaged);
    }
  });
});

function clusterIn(shown: JsonObject): unknown {
  const { annotations } = shown["metadata"] as { annotations: JsonObject };
  return annotations["kcp.io/cluster"];
}
