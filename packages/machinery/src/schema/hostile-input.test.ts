/**
 * Whatever JSON or text a tenant sends: nothing here throws, but for the one error that it is
 * documented to throw.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { JsonValue } from "../json/index.ts";
import {
  coerceObjectMeta,
  compileSchema,
  defaultCustomResourceDefinition,
  evaluateJsonPath,
  JsonPathError,
  parseJsonPath,
  publishV2,
  publishV3,
  readCustomResourceDefinition,
  readSchema,
  validateCustomResourceDefinition,
  validateCustomResourceDefinitionUpdate,
  validateSchema,
} from "./index.ts";

/** JSON whose members have these names, so that readers find something to read. */
function jsonOver(
  names: readonly string[],
  leaves: readonly JsonValue[],
): fc.Arbitrary<{ [key: string]: JsonValue }> {
  const { value } = fc.letrec<{ value: JsonValue }>((tie) => ({
    value: fc.oneof(
      { maxDepth: 6 },
      fc.constantFrom(...leaves),
      fc.dictionary(fc.constantFrom(...names), tie("value"), { noNullPrototype: true }),
      fc.array(tie("value"), { maxLength: 3 }),
    ),
  }));
  return fc.dictionary(fc.constantFrom(...names), value, { noNullPrototype: true });
}

const runs = { numRuns: 1_000 };
const scalars: readonly JsonValue[] = [
  "object",
  "array",
  "string",
  "(",
  "",
  1,
  -1.5,
  2n ** 62n,
  true,
  null,
  "map",
  "v1",
];

describe("any JSON", () => {
  it("as a schema is read or refused, and what is read can be judged, published and used", () => {
    const keywords =
      "type properties items additionalProperties allOf oneOf anyOf not enum default required pattern maximum multipleOf format nullable x-kubernetes-list-type x-kubernetes-list-map-keys x-kubernetes-validations x-kubernetes-int-or-string x-kubernetes-embedded-resource x-kubernetes-preserve-unknown-fields $ref __proto__ metadata rule";
    const kind = {
      group: "g",
      version: "v",
      kind: "K",
      listKind: "L",
      plural: "p",
      selectableFields: [],
    };
    fc.assert(
      fc.property(
        jsonOver(keywords.split(" "), scalars),
        jsonOver(["a", "type", "metadata", "kind", "__proto__"], scalars),
        (json, value) => {
          const { schema, problems } = readSchema(json);
          assert.equal(schema === undefined, problems.length > 0);
          if (schema === undefined) return;
          validateSchema(schema, "schema");
          publishV2(schema, kind);
          publishV3(schema, kind);
          const compiled = compileSchema(json);
          compiled.validate(compiled.admit(value).value);
          compiled.validate(compiled.restore(value).value, { old: value });
        },
      ),
      runs,
    );
  });

  it("as a definition is read and judged", () => {
    const keywords =
      "metadata name annotations spec group names plural kind scope versions schema openAPIV3Schema type served storage subresources scale status conversion strategy webhook clientConfig url service caBundle conversionReviewVersions additionalPrinterColumns selectableFields jsonPath storedVersions acceptedNames __proto__";
    fc.assert(
      fc.property(
        jsonOver(keywords.split(" "), scalars),
        jsonOver(keywords.split(" "), scalars),
        (json, old) => {
          const { definition } = readCustomResourceDefinition(
            defaultCustomResourceDefinition(json),
          );
          assert.ok(validateCustomResourceDefinition(definition).length > 0);
          validateCustomResourceDefinitionUpdate(
            definition,
            readCustomResourceDefinition(old).definition,
          );
        },
      ),
      runs,
    );
  });

  it("as metadata is coerced, and what comes out stays as it is", () => {
    const fields =
      "name labels annotations ownerReferences finalizers managedFields creationTimestamp generation uid controller time fieldsV1 extra __proto__";
    fc.assert(
      fc.property(
        jsonOver(fields.split(" "), [...scalars, "2026-11-15T10:00:00.5+01:00"]),
        (json) => {
          const dropped = coerceObjectMeta(json, { malformed: "drop" });
          assert.equal(dropped.error, undefined);
          const again = coerceObjectMeta(dropped.value, { malformed: "reject" });
          assert.deepEqual(again, { value: dropped.value, unknown: [], error: undefined });
          assert.equal(again.value, dropped.value);
        },
      ),
      runs,
    );
  });
});

describe("any text", () => {
  it("as a JSONPath is parsed or refused, and what is parsed can be evaluated", () => {
    const token = fc.constantFrom(
      ".a",
      ".",
      "[",
      "]",
      "[0]",
      "[*]",
      "['a']",
      "[?(@.a==1)]",
      "(",
      ")",
      "..",
      "@",
      "'",
      '"',
      "-",
      "1",
      ":",
      ",",
      "\\",
      "*",
      "true",
    );
    const object: JsonValue = { a: [{ a: 1 }, { a: { a: [1, "x", null] } }, []] };
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string(),
          fc.array(token, { maxLength: 8 }).map((list) => list.join("")),
        ),
        (text) => {
          try {
            evaluateJsonPath(parseJsonPath(text), object);
          } catch (error) {
            assert.ok(error instanceof JsonPathError, String(error));
          }
        },
      ),
      { numRuns: 3_000 },
    );
  });
});
