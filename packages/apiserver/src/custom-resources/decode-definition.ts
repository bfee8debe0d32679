/**
 * Decodes the body of a CustomResourceDefinition by its shape, and decodes schemas again that the
 * shape declares as any JSON, so that unknown fields are found and dropped at any depth.
 */
import { type Resumable, runSync } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, type JsonValue, setMember } from "@kcp-ts/machinery/json";
import { readCustomResourceDefinition } from "@kcp-ts/machinery/schema";
import {
  customResourceDefinition,
  type Decoded,
  decodeShape,
  decodeShapeResumable,
  jsonSchemaProps,
  ShapeError,
} from "@kcp-ts/machinery/shape";
import { checkDefinitionSize } from "./definition-size.ts";

/**
 * The levels of JSON in a definition; a schema of the maximum depth needs fewer than three hundred.
 */
export const definitionDepthMax = 512;

export function decodeDefinition(value: JsonObject): Decoded {
  return runSync(decodeDefinitionResumable(value));
}

/** Yields to the event loop, for a definition that may be large. */
export function* decodeDefinitionResumable(value: JsonObject): Resumable<Decoded> {
  yield* checkDefinitionSize(value["spec"]);
  yield;
  if (isDeeper(value, definitionDepthMax))
    throw new ShapeError(`json: nested deeper than ${definitionDepthMax} levels`);
  yield;
  const decoded = yield* decodeShapeResumable(customResourceDefinition, value);
  yield;
  const unknownFields = [...decoded.unknownFields];
  const object = withEverySchema(decoded.value, unknownFields);
  yield;
  const [problem] = readCustomResourceDefinition(object).problems;
  if (problem !== undefined) throw new ShapeError(problem);
  return { value: object, unknownFields };
}

export function isDeeper(value: JsonValue, depthMax: number): boolean {
  let level: JsonValue[] = [value];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > depthMax) return true;
    const next: JsonValue[] = [];
    for (const each of level) {
      if (typeof each !== "object" || each === null) continue;
      for (const item of Object.values(each)) if (typeof item === "object") next.push(item);
    }
    level = next;
  }
  return false;
}

function withEverySchema(object: JsonObject, unknownFields: string[]): JsonObject {
  const { spec } = object;
  if (!isJsonObject(spec) || !Array.isArray(spec["versions"])) return object;
  const versions = (spec["versions"] as readonly JsonValue[]).map((version, i) => {
    if (!isJsonObject(version) || !isJsonObject(version["schema"])) return version;
    const { openAPIV3Schema } = version["schema"];
    if (!isJsonObject(openAPIV3Schema)) return version;
    const path = `spec.versions[${i}].schema.openAPIV3Schema`;
    const schema = nestedSchemas(openAPIV3Schema, path, unknownFields);
    return schema === openAPIV3Schema
      ? version
      : { ...version, schema: { ...version["schema"], openAPIV3Schema: schema } };
  });
  return { ...object, spec: { ...spec, versions } };
}

const schemaMaps: ReadonlySet<string> = new Set(["properties", "patternProperties", "definitions"]);
const schemaLists: ReadonlySet<string> = new Set(["allOf", "anyOf", "oneOf"]);
const schemaOrOther: ReadonlySet<string> = new Set([
  "items",
  "additionalProperties",
  "additionalItems",
]);

/** The identical schema when no field below it is dropped. */
function nestedSchemas(schema: JsonObject, path: string, unknownFields: string[]): JsonObject {
  let copy: { [key: string]: JsonValue } | undefined;
  for (const keyword of Object.keys(schema)) {
    const value = schema[keyword] as JsonValue;
    const next = nested(keyword, value, `${path}.${keyword}`, unknownFields);
    if (next === value) continue;
    copy ??= { ...schema };
    setMember(copy, keyword, next);
  }
  return copy ?? schema;
}

function nested(
  keyword: string,
  value: JsonValue,
  path: string,
  unknownFields: string[],
): JsonValue {
  if (schemaOrOther.has(keyword) && isJsonObject(value)) {
    const decoded = decodeShape(jsonSchemaProps, value);
    for (const unknown of decoded.unknownFields) unknownFields.push(`${path}.${unknown}`);
    return nestedSchemas(decoded.value, path, unknownFields);
  }
  if (keyword === "not" && isJsonObject(value)) return nestedSchemas(value, path, unknownFields);
  if (schemaLists.has(keyword) && Array.isArray(value)) {
    return (value as readonly JsonValue[]).map((item, i) =>
      isJsonObject(item) ? nestedSchemas(item, `${path}[${i}]`, unknownFields) : item,
    );
  }
  if (!schemaMaps.has(keyword) || !isJsonObject(value)) return value;
  let copy: { [key: string]: JsonValue } | undefined;
  for (const name of Object.keys(value)) {
    const schema = value[name] as JsonValue;
    if (!isJsonObject(schema)) continue;
    const next = nestedSchemas(schema, `${path}.${name}`, unknownFields);
    if (next === schema) continue;
    copy ??= { ...value };
    setMember(copy, name, next);
  }
  return copy ?? value;
}
