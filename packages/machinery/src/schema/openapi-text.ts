/**
 * The OpenAPI definition of a kind as text: what `publishResumable` publishes. A large schema is
 * never published as a whole, because it takes twenty times its text in memory: its properties are
 * read, published and written one by one.
 */
import { type Resumable, YieldCounter } from "../base/index.ts";
import {
  hasAtMost,
  isJsonObject,
  type JsonObject,
  type JsonValue,
  setMember,
  stringifyJson,
} from "../json/index.ts";
import {
  addExtensions,
  embeddedProperties,
  type OpenApiDialect,
  type PublishedKind,
  publishSchema,
  rootProperties,
} from "./openapi.ts";
import { readSchema } from "./read-schema.ts";

/** Schemas that are written per step. */
const schemasPerStep = 50;
/** Values of a schema that is published at once. */
const valuesPerSchema = 100;

type Json = { [key: string]: JsonValue };

/** `schema` is one that a definition was accepted with; undefined means that the kind has none. */
export function* publishText(
  schema: JsonObject | undefined,
  kind: PublishedKind,
  dialect: OpenApiDialect,
): Resumable<string> {
  const extensions: Json = {};
  addExtensions(extensions, kind, kind.kind);
  // As in publishResumable: kubectl would reject all other fields.
  const isOpaque = dialect === "v2" && schema?.["x-kubernetes-preserve-unknown-fields"] === true;
  if (schema === undefined || isOpaque) return stringifyJson({ type: "object", ...extensions });
  const writer = new SchemaWriter(dialect);
  yield* writer.write(schema, rootProperties[dialect], extensions);
  yield;
  return writer.texts.join("");
}

class SchemaWriter {
  readonly texts: string[] = [];
  readonly #dialect: OpenApiDialect;
  readonly #pace = new YieldCounter(schemasPerStep);

  constructor(dialect: OpenApiDialect) {
    this.#dialect = dialect;
  }

  /** Writes a schema, with `added` instead of its own properties of these names. */
  *write(schema: JsonObject, added: JsonObject = {}, members: JsonObject = {}): Resumable<void> {
    const published = { ...this.#published(withoutSubSchemas(schema)), ...members };
    let separator = "{";
    for (const keyword of Object.keys(published)) {
      if (keyword === "properties") continue;
      this.texts.push(`${separator}${JSON.stringify(keyword)}:`);
      separator = ",";
      const subSchema = schema[keyword];
      if (subSchemaKeywords.has(keyword) && isJsonObject(subSchema)) yield* this.#any(subSchema);
      else this.texts.push(stringifyJson(published[keyword] as JsonValue));
    }
    const ofShell = (published["properties"] ?? {}) as JsonObject;
    const others = { ...addedToEmbedded(ofShell, this.#dialect), ...added };
    const own = Object.hasOwn(ofShell, stub) ? (schema["properties"] as JsonObject) : {};
    let isFirst = true;
    for (const [properties, isOwn] of [
      [own, true],
      [others, false],
    ] as const) {
      for (const name of Object.keys(properties)) {
        if (isOwn && Object.hasOwn(others, name)) continue;
        this.texts.push(isFirst ? `${separator}"properties":{` : ",", `${JSON.stringify(name)}:`);
        isFirst = false;
        const property = properties[name] as JsonObject;
        if (isOwn) yield* this.#any(property);
        else this.texts.push(stringifyJson(property));
      }
    }
    this.texts.push(isFirst ? (separator === "{" ? "{}" : "}") : "}}");
  }

  *#any(schema: JsonObject): Resumable<void> {
    if (!hasAtMost(valuesPerSchema, schema)) return yield* this.write(schema);
    this.texts.push(stringifyJson(this.#published(schema)));
    if (this.#pace.isTime()) yield;
  }

  #published(schema: JsonObject): JsonObject {
    const read = readSchema(schema, { isAccepted: true }).schema;
    return read === undefined ? {} : publishSchema(read, this.#dialect);
  }
}

const subSchemaKeywords: ReadonlySet<string> = new Set(["items", "additionalProperties"]);

/** A name that stands for all properties. */
const stub = "";

/**
 * The schema with the least of its sub-schemas that its own keywords depend on: whether they exist,
 * and which of them are nullable.
 */
function withoutSubSchemas(schema: JsonObject): JsonObject {
  const shell: Json = { ...schema };
  for (const keyword of subSchemaKeywords)
    if (isJsonObject(schema[keyword])) shell[keyword] = nullableOf(schema[keyword]);
  const { properties, required } = schema;
  if (!isJsonObject(properties)) return shell;
  const stubs: Json = {};
  for (const _ in properties) {
    stubs[stub] = {};
    break;
  }
  for (const name of Array.isArray(required) ? (required as readonly string[]) : []) {
    const property = Object.hasOwn(properties, name) ? properties[name] : undefined;
    if (isJsonObject(property) && property["nullable"] === true)
      setMember(stubs, name, nullableOf(property));
  }
  shell["properties"] = stubs;
  return shell;
}

function nullableOf(schema: JsonObject): JsonObject {
  return schema["nullable"] === true ? { nullable: true } : {};
}

function addedToEmbedded(properties: JsonObject, dialect: OpenApiDialect): JsonObject {
  const added = embeddedProperties[dialect];
  return properties["metadata"] === added["metadata"] ? added : {};
}
