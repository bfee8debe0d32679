import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject } from "../json/index.ts";
import { applyStrategicMergePatch, objectPatchSchema, readPatchSchema } from "./index.ts";

describe("readPatchSchema", () => {
  const components = new Map<string, JsonObject>([
    [
      "#/components/schemas/Container",
      {
        properties: {
          ports: {
            type: "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["containerPort", "protocol"],
            items: { type: "object" },
          },
          args: { type: "array", items: { type: "string" } },
        },
      },
    ],
  ]);
  const read = readPatchSchema(
    {
      properties: {
        spec: {
          properties: {
            containers: {
              type: "array",
              items: { allOf: [{ $ref: "#/components/schemas/Container" }] },
              "x-kubernetes-patch-strategy": "merge",
              "x-kubernetes-patch-merge-key": "name",
            },
            volumes: {
              type: "array",
              items: { type: "object" },
              "x-kubernetes-patch-strategy": "merge,retainKeys",
              "x-kubernetes-patch-merge-key": "name",
            },
            finalizers: {
              type: "array",
              "x-kubernetes-list-type": "set",
              items: { type: "string" },
            },
            tolerations: { type: "array", "x-kubernetes-list-type": "atomic", items: {} },
            pools: { additionalProperties: { $ref: "#/components/schemas/Container" } },
          },
        },
      },
    },
    (reference) => components.get(reference),
  );
  const spec = read.field("spec")?.schema;
  const rules = (name: string, parent = spec) => {
    const { schema: _, ...rest } = parent?.field(name) ?? {};
    return rest;
  };

  it("takes strategy and merge key from the patch extensions", () => {
    assert.deepEqual(rules("containers"), { strategy: "merge", mergeKey: "name" });
    assert.deepEqual(rules("volumes"), { strategy: "merge", retainKeys: true, mergeKey: "name" });
  });

  it("takes them from the list type where there are no extensions", () => {
    assert.deepEqual(rules("finalizers"), { strategy: "merge" });
    assert.deepEqual(rules("tolerations"), {});
    const container = spec?.field("containers")?.schema;
    assert.deepEqual(rules("ports", container), { strategy: "merge", mergeKey: "containerPort" });
    assert.deepEqual(rules("args", container), {});
  });

  it("reads additional properties for names that are not declared", () => {
    const pool = spec?.field("pools")?.schema?.field("any")?.schema;
    assert.deepEqual(rules("ports", pool), { strategy: "merge", mergeKey: "containerPort" });
    assert.equal(spec?.field("unknown"), undefined);
    assert.equal(spec?.field("constructor"), undefined);
  });

  it("merges by what it has read", () => {
    assert.deepEqual(
      applyStrategicMergePatch(
        { spec: { containers: [{ name: "a", ports: [{ containerPort: 80 }] }] } },
        { spec: { containers: [{ name: "a", ports: [{ containerPort: 80, name: "http" }] }] } },
        read,
      ),
      { spec: { containers: [{ name: "a", ports: [{ containerPort: 80, name: "http" }] }] } },
    );
  });
});

describe("objectPatchSchema", () => {
  it("merges finalizers and owners, which CRDs do not describe", () => {
    const schema = objectPatchSchema(
      readPatchSchema({ type: "object", properties: { metadata: { type: "object" } } }),
    );
    assert.deepEqual(
      applyStrategicMergePatch(
        { metadata: { finalizers: ["a"], ownerReferences: [{ uid: "1", name: "x" }] } },
        { metadata: { finalizers: ["b"], ownerReferences: [{ uid: "1", controller: true }] } },
        schema,
      ),
      {
        metadata: {
          finalizers: ["b", "a"],
          ownerReferences: [{ uid: "1", name: "x", controller: true }],
        },
      },
    );
  });
});
