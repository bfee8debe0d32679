import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runSync } from "@kcp-ts/machinery/base";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { compileSchemaProps, readSchema } from "@kcp-ts/machinery/schema";
import fc from "fast-check";
import type { ApiResourceSpec } from "../api/index.ts";
import { compareApis } from "./compare-apis.ts";
import { type ImportMember, negotiateImports } from "./negotiate-imports.ts";

function api(schema: JsonObject, more: Partial<ApiResourceSpec> = {}): ApiResourceSpec {
  return {
    groupVersion: { group: "apps", version: "v1" },
    scope: "Namespaced",
    plural: "things",
    kind: "Thing",
    openAPIV3Schema: schema,
    subResources: [{ name: "status" }],
    ...more,
  };
}

function object(properties: JsonObject, more: JsonObject = {}): JsonObject {
  return { type: "object", properties, ...more };
}

/**
 * Schemas that differ as releases of one API do: fields are added and removed, limits and enums
 * change.
 */
const leaf: fc.Arbitrary<JsonObject> = fc.oneof(
  fc.record({ type: fc.constant("string"), maxLength: fc.integer({ min: 1, max: 9 }) }),
  fc.constant<JsonObject>({ type: "string" }),
  fc
    .subarray(["a", "b", "c"], { minLength: 1 })
    .map((values) => ({ type: "string", enum: values })),
  fc.record({ type: fc.constant("integer"), minimum: fc.integer({ min: -3, max: 3 }) }),
  fc.constant<JsonObject>({ type: "boolean" }),
);
const schema: fc.Arbitrary<JsonObject> = fc
  .dictionary(fc.constantFrom("one", "two", "three", "four"), leaf, { maxKeys: 4 })
  .map((spec) => object({ spec: object({ ...spec }) }));
const value: fc.Arbitrary<JsonValue> = fc
  .dictionary(
    fc.constantFrom("one", "two", "three", "four"),
    fc.oneof(
      fc.constantFrom("a", "b", "c", "dddddd"),
      fc.integer({ min: -5, max: 5 }),
      fc.boolean(),
    ),
    { maxKeys: 4 },
  )
  .map((spec) => ({ spec: { ...spec } }));
const strategy = fc.constantFrom("UpdateUnpublished", "UpdatePublished", "UpdateNever" as const);

function member(
  location: string,
  schema: JsonObject,
  strategy: ImportMember["strategy"],
): ImportMember {
  return { name: `things.${location}`, location, strategy, api: api(schema) };
}

const members: fc.Arbitrary<ImportMember[]> = fc
  .array(fc.tuple(schema, strategy), { minLength: 1, maxLength: 5 })
  .map((all) =>
    all.map(([one, how], index) => member(`c${index}`, one, how as ImportMember["strategy"])),
  );

function accepts(schema: JsonObject, document: JsonValue): boolean {
  const { schema: props } = readSchema(schema);
  assert.ok(props !== undefined);
  return compileSchemaProps(props).validate(document, {}).length === 0;
}

/** Whether pruning would keep the document unchanged: unknown fields are never stored. */
function isKnown(schema: JsonObject, document: JsonValue): boolean {
  const spec = (schema["properties"] as JsonObject)["spec"] as JsonObject;
  const fields = (spec["properties"] ?? {}) as JsonObject;
  return Object.keys((document as { spec: JsonObject }).spec).every((name) =>
    Object.hasOwn(fields, name),
  );
}

describe("negotiation of imports", () => {
  it("the result does not depend on the order of the clusters", () => {
    fc.assert(
      fc.property(members, fc.infiniteStream(fc.nat()), (all, dice) => {
        const shuffled = all
          .map((one) => ({ one, at: dice.next().value as number }))
          .toSorted((a, b) => a.at - b.at)
          .map(({ one }) => one);
        const [straight, mixed] = [
          runSync(negotiateImports(all)),
          runSync(negotiateImports(shuffled)),
        ];
        assert.deepEqual(mixed?.api, straight?.api);
        for (const { name } of all)
          assert.equal(
            mixed?.compatibility.get(name)?.isCompatible,
            straight?.compatibility.get(name)?.isCompatible,
          );
      }),
    );
  });

  it("the negotiated API accepts no object that a compatible cluster would reject", () => {
    fc.assert(
      fc.property(
        members,
        fc.option(schema, { nil: undefined }),
        value,
        (all, published, document) => {
          const folded = runSync(negotiateImports(all, published && api(published)));
          assert.ok(folded !== undefined);
          const { openAPIV3Schema: common } = folded.api;
          if (!accepts(common, document) || !isKnown(common, document)) return;
          for (const { name, api: own } of all) {
            if (folded.compatibility.get(name)?.isCompatible !== true) continue;
            assert.ok(
              accepts(own.openAPIV3Schema, document),
              `${name} refuses ${JSON.stringify(document)}`,
            );
            assert.ok(isKnown(own.openAPIV3Schema, document), `${name} would drop fields`);
          }
        },
      ),
      { numRuns: 500 },
    );
  });

  it("a published API is never narrowed, unless an import's strategy permits it", () => {
    fc.assert(
      fc.property(members, schema, (all, published) => {
        const patient = all.map((one) =>
          one.strategy === "UpdatePublished"
            ? { ...one, strategy: "UpdateUnpublished" as const }
            : one,
        );
        const folded = runSync(negotiateImports(patient, api(published)));
        assert.ok(folded !== undefined);
        assert.equal(runSync(compareApis(api(published), folded.api)).compatibility, "compatible");
      }),
      { numRuns: 500 },
    );
  });

  it("the negotiation is idempotent: negotiating a published result changes nothing", () => {
    fc.assert(
      fc.property(members, schema, (all, published) => {
        const first = runSync(negotiateImports(all, api(published)));
        const second = runSync(negotiateImports(all, first?.api));
        const third = runSync(negotiateImports(all, second?.api));
        assert.deepEqual(third?.api, second?.api);
      }),
    );
  });

  it("an incompatible import names the incompatible field", () => {
    const wide = object({ spec: object({ old: { type: "string" }, new: { type: "string" } }) });
    const narrow = object({ spec: object({ old: { type: "string" } }) });
    const folded = runSync(
      negotiateImports([member("west", narrow, "UpdateUnpublished")], api(wide)),
    );
    const result = folded?.compatibility.get("things.west");
    assert.ok(result?.isCompatible === false && result.isNarrowable);
    assert.match(JSON.stringify(result.findings), /\.spec.*new/);
  });

  it("another kind, another scope or a missing status subresource is incompatible", () => {
    const plain = object({});
    for (const other of [
      api(plain, { kind: "Other" }),
      api(plain, { scope: "Cluster" }),
      api(plain, { subResources: [] }),
    ])
      assert.equal(runSync(compareApis(api(plain), other)).compatibility, "incompatible");
    const scaled = api(plain, { subResources: [{ name: "status" }, { name: "scale" }] });
    const { compatibility, common } = runSync(compareApis(scaled, api(plain)));
    assert.equal(compatibility, "narrowable");
    assert.deepEqual(common?.subResources, [{ name: "status" }]);
  });
});
