/**
 * Converts an OpenAPI model to a structural schema of a CustomResourceDefinition: references are
 * resolved, list types and merge keys are kept, and defaults are kept where a server really applies
 * them.
 */
import { type Resumable, runSync, YieldCounter } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, type JsonValue, setMember } from "@kcp-ts/machinery/json";
import { type OpenApiModels, referenceOf } from "./openapi-models.ts";
import { builtInDefault, wellKnownModel } from "./well-known-models.ts";

type Draft = { [keyword: string]: JsonValue };

/** Models may be nested, and a hostile cluster may nest them deeper. */
export const modelDepthMax = 100;
export const modelNodesMax = 50_000;
/**
 * The limit on characters that are copied into a schema, counted at each copy: references may
 * repeat a long text.
 */
export const modelCharactersMax = 2 << 20;
/** The number of nodes that are converted before yielding to the event loop. */
const nodesPerPiece = 100;

export class UnusableModelError extends Error {
  override readonly name = "UnusableModelError";
}

/** Throws an UnusableModelError when the model is recursive, too large or missing. */
export function structuralSchema(models: OpenApiModels, name: string): JsonObject {
  return runSync(structuralSchemaYielding(models, name));
}

/** The same, yielding to the event loop: the cluster decides how large the model is. */
export function structuralSchemaYielding(
  models: OpenApiModels,
  name: string,
): Resumable<JsonObject> {
  return new Conversion(models).root(name);
}

class Conversion {
  readonly #models: OpenApiModels;
  /** The models that are being converted, from the root down. */
  readonly #stack: string[] = [];
  readonly #sizes = new WeakMap<object, number>();
  readonly #pace = new YieldCounter(nodesPerPiece);
  #nodes = 0;
  #characters = 0;

  constructor(models: OpenApiModels) {
    this.#models = models;
  }

  *root(name: string): Resumable<JsonObject> {
    const schema: Draft = { ...(yield* this.#model(name)) };
    const properties: Draft = { ...(schema["properties"] as JsonObject | undefined) };
    // The server defines the metadata of every object.
    properties["metadata"] = { type: "object" };
    schema["type"] = "object";
    schema["properties"] = properties;
    return schema;
  }

  *#model(name: string): Resumable<JsonObject> {
    const wellKnown = wellKnownModel(name);
    if (wellKnown !== undefined) return wellKnown;
    if (this.#stack.includes(name))
      throw new UnusableModelError(`Recursive schema are not supported: ${name}`);
    const model = this.#models.model(name);
    if (model === undefined) throw new UnusableModelError(`there is no model ${name}`);
    this.#stack.push(name);
    const schema = yield* this.#schema(model, name);
    this.#stack.pop();
    return schema;
  }

  /** `owner` is the model that contains the schema. */
  *#schema(source: JsonObject, owner: string): Resumable<JsonObject> {
    if (++this.#nodes > modelNodesMax || this.#stack.length > modelDepthMax) throw tooLarge();
    if (this.#pace.isTime()) yield;
    const reference = referenceOf(source);
    if (reference !== undefined) return yield* this.#referring(source, reference);
    const schema: Draft = {};
    for (const keyword of copiedKeywords) {
      const value = source[keyword];
      if (value !== undefined) schema[keyword] = this.#copied(value);
    }
    const union = source["oneOf"] ?? source["anyOf"];
    if (schema["format"] === "int-or-string" || isIntOrString(union))
      return { ...withoutType(schema), ...wellKnownModel("pkg.util.intstr.IntOrString") };
    yield* this.#addObject(schema, source, owner);
    if (schema["type"] === "array") yield* this.#addArray(schema, source, owner);
    if (schema["type"] === undefined) schema["x-kubernetes-preserve-unknown-fields"] = true;
    keepDefault(schema, source["default"]);
    return schema;
  }

  /** Properties of the referring field take precedence over those of the model. */
  *#referring(source: JsonObject, reference: string): Resumable<JsonObject> {
    const schema: Draft = { ...(yield* this.#model(reference)) };
    for (const keyword of ["description", "nullable", ...extensions]) {
      const value = source[keyword];
      if (value !== undefined) schema[keyword] = this.#copied(value);
    }
    keepDefault(schema, source["default"]);
    return schema;
  }

  /** Returns the value itself, and counts its size. */
  #copied(value: JsonValue): JsonValue {
    this.#characters += this.#sizeOf(value);
    if (this.#characters > modelCharactersMax) throw tooLarge();
    return value;
  }

  /**
   * The size of a value that is copied repeatedly is computed once: a response has a limited number
   * of values.
   */
  #sizeOf(value: JsonValue): number {
    if (typeof value === "string") return value.length + 2;
    if (typeof value !== "object" || value === null) return 8;
    const known = this.#sizes.get(value);
    if (known !== undefined) return known;
    let size = 2;
    for (const [name, each] of Object.entries(value)) size += name.length + this.#sizeOf(each);
    this.#sizes.set(value, size);
    return size;
  }

  *#addObject(schema: Draft, source: JsonObject, owner: string): Resumable<void> {
    const { properties, additionalProperties } = source;
    if (isJsonObject(properties)) {
      schema["type"] = "object";
      const converted: Draft = {};
      for (const [field, each] of Object.entries(properties)) {
        if (!isJsonObject(each)) continue;
        const property: Draft = { ...(yield* this.#schema(each, owner)) };
        this.#copied(field);
        const coded = builtInDefault(owner, field);
        if (coded !== undefined) property["default"] ??= coded;
        setMember(converted, field, property);
      }
      schema["properties"] = converted;
    } else if (isJsonObject(additionalProperties)) {
      schema["type"] = "object";
      schema["additionalProperties"] = yield* this.#schema(additionalProperties, owner);
    } else if (schema["type"] === "object" && source["x-kubernetes-embedded-resource"] !== true)
      // Unknown fields of an object without properties must not be pruned.
      schema["x-kubernetes-preserve-unknown-fields"] = true;
  }

  *#addArray(schema: Draft, source: JsonObject, owner: string): Resumable<void> {
    const { items } = source;
    const item: Draft = isJsonObject(items)
      ? { ...(yield* this.#schema(items, owner)) }
      : { "x-kubernetes-preserve-unknown-fields": true };
    const { type, keys } = topologyOf(source, item["type"] === "object");
    if (type !== undefined) schema["x-kubernetes-list-type"] = type;
    if (type === "map") {
      schema["x-kubernetes-list-map-keys"] = keys;
      requireKeys(item, keys);
    }
    schema["items"] = item;
  }
}

function tooLarge(): UnusableModelError {
  return new UnusableModelError("the schema is too large");
}

const extensions = [
  "x-kubernetes-embedded-resource",
  "x-kubernetes-preserve-unknown-fields",
  "x-kubernetes-map-type",
] as const;

const copiedKeywords = [
  "type",
  "format",
  "description",
  "nullable",
  "required",
  "enum",
  "pattern",
  "minimum",
  "maximum",
  "exclusiveMinimum",
  "exclusiveMaximum",
  "multipleOf",
  "minLength",
  "maxLength",
  "minItems",
  "maxItems",
  "uniqueItems",
  "minProperties",
  "maxProperties",
  "x-kubernetes-validations",
  ...extensions,
] as const;

/** The merge type of a list: explicit, or from the older extensions of strategic merge patches. */
function topologyOf(source: JsonObject, isOfObjects: boolean): { type?: string; keys: string[] } {
  const {
    "x-kubernetes-list-type": said,
    "x-kubernetes-list-map-keys": saidKeys,
    "x-kubernetes-patch-strategy": strategy,
    "x-kubernetes-patch-merge-key": mergeKey,
  } = source;
  const keys = Array.isArray(saidKeys)
    ? (saidKeys as readonly JsonValue[]).map(String)
    : typeof mergeKey === "string"
      ? [mergeKey]
      : [];
  if (typeof said === "string")
    return { type: said === "map" && keys.length === 0 ? "atomic" : said, keys };
  const merges = typeof strategy === "string" ? strategy.includes("merge") : keys.length > 0;
  if (!merges) return typeof strategy === "string" ? { type: "atomic", keys } : { keys };
  if (!isOfObjects) return { type: "set", keys };
  return { type: keys.length > 0 ? "map" : "atomic", keys };
}

/** The keys of a map list must be in every item, or have a default. */
function requireKeys(item: Draft, keys: readonly string[]): void {
  const properties = (item["properties"] ?? {}) as JsonObject;
  const required = new Set((item["required"] ?? []) as unknown as readonly string[]);
  for (const key of keys) {
    const property = properties[key];
    if (isJsonObject(property) && property["default"] === undefined) required.add(key);
  }
  if (required.size > 0) item["required"] = [...required];
}

/** OpenAPI contains Go's zero values as defaults; no server applies these. */
function keepDefault(schema: Draft, value: JsonValue | undefined): void {
  if (value === undefined || value === null || value === "" || value === 0 || value === false)
    return;
  if (typeof value === "object") return;
  schema["default"] = value;
}

function isIntOrString(union: JsonValue | undefined): boolean {
  if (!Array.isArray(union) || union.length !== 2) return false;
  const types = (union as readonly JsonValue[]).map((each) =>
    isJsonObject(each) ? each["type"] : "",
  );
  return types.includes("string") && (types.includes("integer") || types.includes("number"));
}

function withoutType({ type: _type, format: _format, ...others }: Draft): Draft {
  return others;
}
