import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runSync } from "../base/index.ts";
import type { JsonObject } from "../json/index.ts";
import { dnsSubdomainErrors } from "../names/index.ts";
import { formatFieldError } from "../status/index.ts";
import {
  annotationsBytesMax,
  type Condition,
  deduplicateOwnerReferences,
  errorsPerFieldMax,
  fieldManagerBytesMax,
  type KubernetesObject,
  type ListMeta,
  type ObjectMeta,
  type ObjectMetaUpdateRules,
  type OwnerReference,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from "./index.ts";
import { finalizersMax, labelsMax, ownerReferencesMax } from "./validate-object-meta.ts";

const qualified =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const labelValue =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
const subdomain =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

const owner: OwnerReference = { apiVersion: "apps/v1", kind: "ReplicaSet", name: "r", uid: "u1" };
const ownerJson = `"apiVersion":"apps/v1","kind":"ReplicaSet"`;

type Row = readonly [title: string, meta: ObjectMeta, ...errors: string[]];

function createErrors(meta: ObjectMeta, rules: ObjectMetaUpdateRules = {}): string[] {
  const errors = validateObjectMeta(
    { name: "x", namespace: "ns", ...meta },
    { isNamespaced: true, nameErrors: dnsSubdomainErrors, ...rules },
  );
  return errors.map(formatFieldError);
}

describe("validateObjectMeta", () => {
  const rows: readonly Row[] = [
    ["plain metadata", {}],
    [
      "null members",
      {
        creationTimestamp: null,
        labels: null,
        annotations: null,
        ownerReferences: null,
        finalizers: null,
        managedFields: null,
      },
    ],
    [
      "a missing name",
      { name: "" },
      "metadata.name: Required value: name or generateName is required",
    ],
    ["a bad name", { name: "X" }, `metadata.name: Invalid value: "X": ${subdomain}`],
    ["a prefix with a dash", { generateName: "x-" }],
    [
      "a bad prefix",
      { generateName: "X" },
      `metadata.generateName: Invalid value: "X": ${subdomain}`,
    ],
    ["a missing namespace", { namespace: "" }, "metadata.namespace: Required value"],
    [
      "a namespace with dots",
      { namespace: "a.b" },
      `metadata.namespace: Invalid value: "a.b": must not contain dots`,
    ],
    [
      "a negative generation",
      { generation: -1 },
      "metadata.generation: Invalid value: -1: must be greater than or equal to 0",
    ],
    ["good labels", { labels: { "example.com/a": "b", c: "" } }],
    [
      "a bad label key",
      { labels: { a_: "" } },
      `metadata.labels: Invalid value: "a_": name part ${qualified}`,
    ],
    [
      "a bad label value",
      { labels: { a: "b_" } },
      `metadata.labels: Invalid value: "b_": ${labelValue}`,
    ],
    [
      "a label key of 64 bytes",
      { labels: { ["a".repeat(64)]: "" } },
      `metadata.labels: Invalid value: "${"a".repeat(64)}": name part must be no more than 63 bytes`,
    ],
    ["an annotation with an upper case prefix", { annotations: { "Example.com/a": "any text" } }],
    [
      "a bad annotation key",
      { annotations: { a_: "" } },
      `metadata.annotations: Invalid value: "a_": name part ${qualified}`,
    ],
    [
      "annotations at the limit",
      { annotations: { a: `${"é".repeat(annotationsBytesMax / 2 - 1)}x` } },
    ],
    [
      "annotations above the limit",
      { annotations: { a: `${"é".repeat(annotationsBytesMax / 2 - 1)}xx` } },
      "metadata.annotations: Too long: may not be more than 262144 bytes",
    ],
    ["an owner", { ownerReferences: [{ ...owner, controller: true }] }],
    [
      "an empty owner",
      { ownerReferences: [{ apiVersion: "", kind: "", name: "", uid: "" }] },
      `metadata.ownerReferences.apiVersion: Invalid value: "": version must not be empty`,
      `metadata.ownerReferences.kind: Invalid value: "": must not be empty`,
      `metadata.ownerReferences.name: Invalid value: "": must not be empty`,
      `metadata.ownerReferences.uid: Invalid value: "": must not be empty`,
    ],
    [
      "an owner with two slashes",
      { ownerReferences: [{ ...owner, apiVersion: "a/b/c" }] },
      `metadata.ownerReferences.apiVersion: Invalid value: "a/b/c": version must not be empty`,
    ],
    [
      "an event as owner",
      { ownerReferences: [{ apiVersion: "v1", kind: "Event", name: "e", uid: "u" }] },
      `metadata.ownerReferences: Invalid value: {"apiVersion":"v1","kind":"Event","name":"e","uid":"u"}: /v1, Kind=Event is disallowed from being an owner`,
    ],
    [
      "two controllers",
      {
        ownerReferences: [
          { ...owner, controller: true },
          { ...owner, name: "s", controller: true },
        ],
      },
      `metadata.ownerReferences: Invalid value: [{${ownerJson},"name":"r","uid":"u1","controller":true},{${ownerJson},"name":"s","uid":"u1","controller":true}]: Only one reference can have Controller set to true. Found "true" in references for ReplicaSet/r and ReplicaSet/s`,
    ],
    ["finalizers", { finalizers: ["example.com/a", "orphan", "plain"] }],
    [
      "a bad finalizer",
      { finalizers: ["a_"] },
      `metadata.finalizers: Invalid value: "a_": name part ${qualified}`,
    ],
    [
      "conflicting finalizers",
      { finalizers: ["orphan", "foregroundDeletion"] },
      `metadata.finalizers: Invalid value: ["orphan","foregroundDeletion"]: finalizer orphan and foregroundDeletion cannot be both set`,
    ],
    [
      "good managed fields",
      { managedFields: [{ operation: "Apply", manager: "m".repeat(fieldManagerBytesMax) }] },
    ],
    [
      "bad managed fields",
      {
        managedFields: [
          { operation: "Update", fieldsType: "FieldsV1" },
          {
            operation: "Delete",
            fieldsType: "FieldsV2",
            manager: "m".repeat(fieldManagerBytesMax + 1),
            subresource: "s".repeat(257),
          },
          { operation: "Apply", manager: "é\n" },
        ],
      },
      'metadata.managedFields[1].operation: Invalid value: "Delete": must be `Apply` or `Update`',
      'metadata.managedFields[1].fieldsType: Invalid value: "FieldsV2": must be `FieldsV1`',
      "metadata.managedFields[1].manager: Too long: may not be more than 128 bytes",
      "metadata.managedFields[1].subresource: Too long: may not be more than 256 bytes",
      'metadata.managedFields[2].manager: Invalid value: "é\\n": invalid character U+000A (at position 2)',
    ],
  ];
  for (const [title, meta, ...errors] of rows) {
    it(`finds ${errors.length} errors in ${title}`, () => {
      assert.deepEqual(createErrors(meta), errors);
    });
  }

  it("forbids a namespace on cluster-scoped objects", () => {
    const rules = {
      isNamespaced: false,
      nameErrors: dnsSubdomainErrors,
      field: "template.metadata",
    };
    assert.deepEqual(validateObjectMeta({ name: "x" }, rules), []);
    assert.deepEqual(
      validateObjectMeta({ name: "x", namespace: "ns" }, rules).map(formatFieldError),
      ["template.metadata.namespace: Forbidden: not allowed on this type"],
    );
  });

  it("requires qualified finalizers where the kind does", () => {
    const finalizers = ["kubernetes", "plain", "example.com/a"];
    assert.deepEqual(createErrors({ finalizers }, { requireQualifiedFinalizers: true }), [
      'metadata.finalizers[1]: Invalid value: "plain": name is neither a standard finalizer name nor is it fully qualified',
    ]);
  });

  it("takes a reference without its members for an empty one", () => {
    const sent = JSON.parse('[{"kind":"A"}]') as OwnerReference[];
    assert.equal(createErrors({ ownerReferences: sent }).length, 3);
  });

  it("reports up to the limit of errors and not one more", () => {
    const finalizers = Array.from({ length: errorsPerFieldMax }, (_, i) => `f${i}_`);
    assert.equal(createErrors({ finalizers }).length, errorsPerFieldMax);
    assert.equal(createErrors({ finalizers: [...finalizers, "x_"] }).length, errorsPerFieldMax);
  });

  it("answers many controllers with one error", () => {
    const ownerReferences = Array.from({ length: 2000 }, () => ({ ...owner, controller: true }));
    assert.equal(createErrors({ ownerReferences }).length, 1);
  });
});

describe("validateObjectMetaUpdate", () => {
  const old: ObjectMeta = {
    name: "x",
    namespace: "ns",
    uid: "u",
    generation: 3,
    creationTimestamp: "2026-01-01T00:00:00Z",
    finalizers: ["example.com/a"],
  };
  const updateErrors = (change: ObjectMeta, from = old, rules: ObjectMetaUpdateRules = {}) =>
    validateObjectMetaUpdate({ ...from, ...change }, from, rules).map(formatFieldError);

  const rows: readonly Row[] = [
    ["no change", {}],
    ["the same instant", { creationTimestamp: "2026-01-01T01:00:00+01:00" }],
    ["an unset deletion time", { deletionTimestamp: null, deletionGracePeriodSeconds: null }],
    ["a higher generation", { generation: 4 }],
    ["a new finalizer", { finalizers: ["example.com/a", "b_"] }],
    ["another name", { name: "y" }, 'metadata.name: Invalid value: "y": field is immutable'],
    [
      "another namespace",
      { namespace: "" },
      'metadata.namespace: Invalid value: "": field is immutable',
    ],
    ["another uid", { uid: "v" }, 'metadata.uid: Invalid value: "v": field is immutable'],
    [
      "another creation time",
      { creationTimestamp: "2026-01-01T00:00:01Z" },
      'metadata.creationTimestamp: Invalid value: "2026-01-01T00:00:01Z": field is immutable',
    ],
    [
      "no creation time",
      { creationTimestamp: null },
      "metadata.creationTimestamp: Invalid value: null: field is immutable",
    ],
    [
      "a deletion time",
      { deletionTimestamp: "2026-01-01T00:00:00Z", deletionGracePeriodSeconds: 0 },
      'metadata.deletionTimestamp: Invalid value: "2026-01-01T00:00:00Z": field is immutable',
      "metadata.deletionGracePeriodSeconds: Invalid value: 0: field is immutable",
    ],
    [
      "a lower generation",
      { generation: 2 },
      "metadata.generation: Invalid value: 2: must not be decremented",
    ],
    [
      "a negative generation",
      { generation: -1 },
      "metadata.generation: Invalid value: -1: must not be decremented",
    ],
    ["a bad label", { labels: { a: "b_" } }, `metadata.labels: Invalid value: "b_": ${labelValue}`],
  ];
  for (const [title, change, ...errors] of rows) {
    it(`finds ${errors.length} errors in ${title}`, () => {
      assert.deepEqual(updateErrors(change), errors);
    });
  }

  it("refuses new finalizers while the object is being deleted", () => {
    const deleting = { ...old, deletionTimestamp: "2026-01-01T00:00:00Z" };
    assert.deepEqual(updateErrors({ finalizers: [] }, deleting), []);
    assert.deepEqual(
      updateErrors({ finalizers: ["example.com/a", "z/z", "b/b", "z/z"] }, deleting),
      [
        'metadata.finalizers: Forbidden: no new finalizers can be added if the object is being deleted, found new finalizers []string{"b/b", "z/z"}',
      ],
    );
  });

  it("requires qualified finalizers where the kind does", () => {
    const errors = updateErrors({ finalizers: ["b"] }, old, { requireQualifiedFinalizers: true });
    assert.deepEqual(errors, [
      'metadata.finalizers[0]: Invalid value: "b": name is neither a standard finalizer name nor is it fully qualified',
    ]);
  });
});

describe("deduplicateOwnerReferences", () => {
  const other = { ...owner, uid: "u2" };

  it("keeps references that differ in anything", () => {
    const references = [owner, other, { ...owner, controller: false }, { ...owner, name: "s" }];
    const result = runSync(deduplicateOwnerReferences(references));
    assert.equal(result.ownerReferences, references);
    assert.equal(result.warning, undefined);
  });

  it("removes repeats and names their uids", () => {
    const references = [owner, other, { ...owner, controller: null }, other];
    assert.deepEqual(runSync(deduplicateOwnerReferences(references)), {
      ownerReferences: [owner, other],
      warning:
        ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: u1, u2",
    });
  });

  it("says so when mutating admission made the repeats", () => {
    const work = deduplicateOwnerReferences([owner, owner], { afterMutatingAdmission: true });
    const { warning } = runSync(work);
    assert.equal(
      warning,
      ".metadata.ownerReferences contains duplicate entries after mutating admission happens; API server dedups owner references in 1.20+, and may reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: u1",
    );
  });

  it("rests between every few hundred of them", () => {
    const references = Array.from({ length: 40_000 }, (_, i) => ({ ...owner, uid: `u${i % 7}` }));
    const work = deduplicateOwnerReferences(references);
    let rests = 0;
    for (;;) {
      const { done, value } = work.next();
      if (done === true) {
        assert.equal(value.ownerReferences.length, 7);
        break;
      }
      rests++;
    }
    assert.ok(rests >= 40, `${rests} rests`);
  });
});

describe("the types", () => {
  it("are JSON objects for the compiler", () => {
    const object: KubernetesObject = {
      apiVersion: "v1",
      kind: "A",
      metadata: { name: "x" },
      data: 1,
    };
    const list: ListMeta = { resourceVersion: "1" };
    const condition: Condition = {
      type: "Ready",
      status: "True",
      reason: "Up",
      message: "",
      lastTransitionTime: "2026-01-01T00:00:00Z",
    };
    const values: JsonObject[] = [object, object.metadata, list, condition, owner];
    assert.equal(values.length, 5);
  });
});

describe("members of metadata", () => {
  const rules = { isNamespaced: false, nameErrors: dnsSubdomainErrors };
  const many = <Item>(count: number, item: (i: number) => Item) =>
    Array.from({ length: count }, (_, i) => item(i));
  const made: readonly (readonly [string, number, (count: number) => ObjectMeta])[] = [
    [
      "labels",
      labelsMax,
      (count) => ({ labels: Object.fromEntries(many(count, (i) => [`l${i}`, "v"])) }),
    ],
    ["finalizers", finalizersMax, (count) => ({ finalizers: many(count, (i) => `a.com/f${i}`) })],
    [
      "ownerReferences",
      ownerReferencesMax,
      (count) => ({
        ownerReferences: many(count, (i) => ({
          apiVersion: "v1",
          kind: "Pod",
          name: `p${i}`,
          uid: `u${i}`,
        })),
      }),
    ],
  ];
  for (const [name, max, meta] of made) {
    it(`are judged one by one up to ${max} ${name}, and refused beyond unless they are there already`, () => {
      const of = (count: number) => ({ name: "x", ...meta(count) });
      assert.deepEqual(validateObjectMeta(of(max), rules), []);
      const refused = [`metadata.${name}: Too many: ${max + 1}: must have at most ${max} items`];
      assert.deepEqual(validateObjectMeta(of(max + 1), rules).map(formatFieldError), refused);
      assert.deepEqual(
        validateObjectMetaUpdate(of(max + 1), of(max)).map(formatFieldError),
        refused,
      );
      assert.deepEqual(validateObjectMetaUpdate(of(max + 1), of(max + 1)), []);
    });
  }
});
