/**
 * Reads SchemaProps from untrusted JSON, under limits.
 *
 * Wrong types are collected as problems with their paths, as a typed decoder would reject them;
 * unknown keywords are ignored, as Kubernetes prunes them. The meaning of the keywords is validated
 * elsewhere.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "../json/index.ts";
import { emptySchema, type MutableSchema } from "./empty-schema.ts";
import {
  enumValuesMax,
  patternLengthMax,
  patternWeightMax,
  schemaDepthMax,
  schemaNodesMax,
} from "./limits.ts";
import { patternWeight } from "./pattern.ts";
import type { SchemaProps, ValidationRule } from "./schema-props.ts";

export interface ReadSchema {
  /** Undefined when there are problems. */
  readonly schema: SchemaProps | undefined;
  readonly problems: readonly string[];
  /** The number of sub-schemas, the root included. */
  readonly nodes: number;
}

export interface ReadSchemaOptions {
  /** The path of the schema, for the problems: `spec.versions[0].schema.openAPIV3Schema`. */
  readonly path?: string;
  /**
   * Leaves out descriptions, titles, examples and external docs, which cost memory and have no
   * meaning for a compiler.
   */
  readonly withoutDocumentation?: boolean;
  /** The schema was accepted before, perhaps under larger limits: its size is no problem. */
  readonly isAccepted?: boolean;
}

export function readSchema(json: JsonValue, options: ReadSchemaOptions = {}): ReadSchema {
  const reader = new SchemaReader(options);
  const schema = reader.schema(json, options.path ?? "openAPIV3Schema", 1);
  const { problems, nodes } = reader;
  return { schema: problems.length === 0 ? schema : undefined, problems, nodes };
}

const problemsMax = 20;
class SchemaReader {
  readonly problems: string[] = [];
  readonly #withoutDocumentation: boolean;
  readonly #isAccepted: boolean;
  #patterns: Set<string> | undefined;
  #patternWeight = 0;
  #nodes = 0;

  constructor({ withoutDocumentation, isAccepted }: ReadSchemaOptions) {
    this.#withoutDocumentation = withoutDocumentation === true;
    this.#isAccepted = isAccepted === true;
  }

  get nodes(): number {
    return this.#nodes;
  }

  schema(json: JsonValue, path: string, depth: number): SchemaProps {
    const schema = emptySchema();
    if (!isJsonObject(json)) {
      this.#problem(path, "must be an object");
      return schema;
    }
    if (depth > schemaDepthMax) {
      this.#problem(path, `must not be nested deeper than ${schemaDepthMax} levels`);
      return schema;
    }
    if (++this.#nodes > schemaNodesMax && !this.#isAccepted) {
      if (this.#nodes === schemaNodesMax + 1)
        this.#problem(path, `must not have more than ${schemaNodesMax} sub-schemas`);
      return schema;
    }
    for (const keyword of Object.keys(json)) {
      const value = json[keyword] as JsonValue;
      if (value !== null) this.#keyword(schema, keyword, value, path, depth);
    }
    return schema;
  }

  #keyword(
    schema: MutableSchema,
    keyword: string,
    value: JsonValue,
    path: string,
    depth: number,
  ): void {
    switch (keyword) {
      case "properties":
        schema.properties = this.#schemaMap(value, path, depth);
        return;
      case "items":
        schema.items = Array.isArray(value)
          ? this.#schemaList(value, `${path}.items`, depth)
          : this.schema(value, `${path}.items`, depth + 1);
        return;
      case "additionalProperties":
        schema.additionalProperties =
          typeof value === "boolean"
            ? value
            : this.schema(value, `${path}.additionalProperties`, depth + 1);
        return;
      case "allOf":
      case "anyOf":
      case "oneOf":
        schema[keyword] = this.#schemaList(value, `${path}.${keyword}`, depth);
        return;
      case "not":
        schema.not = this.schema(value, `${path}.not`, depth + 1);
        return;
      case "type":
      case "format":
        schema[keyword] = this.#text(value, `${path}.${keyword}`);
        return;
      case "pattern":
        schema.pattern = this.#text(value, `${path}.pattern`);
        this.#weighPattern(schema.pattern, `${path}.pattern`);
        return;
      default:
        if (!this.#documentation(schema, keyword, value, path))
          this.#valueKeyword(schema, keyword, value, path);
    }
  }

  #documentation(schema: MutableSchema, keyword: string, value: JsonValue, path: string): boolean {
    switch (keyword) {
      case "description":
      case "title":
        if (!this.#withoutDocumentation) schema[keyword] = this.#text(value, `${path}.${keyword}`);
        return true;
      case "example":
      case "externalDocs":
        if (!this.#withoutDocumentation) schema[keyword] = value;
        return true;
      default:
        return false;
    }
  }

  #valueKeyword(schema: MutableSchema, keyword: string, value: JsonValue, path: string): void {
    switch (keyword) {
      case "default":
        schema.default = value;
        return;
      case "nullable":
      case "exclusiveMaximum":
      case "exclusiveMinimum":
      case "uniqueItems":
        schema[keyword] = this.#flag(value, `${path}.${keyword}`);
        return;
      case "maximum":
      case "minimum":
      case "multipleOf":
        schema[keyword] = this.#number(value, `${path}.${keyword}`);
        return;
      case "maxLength":
      case "minLength":
      case "maxItems":
      case "minItems":
      case "maxProperties":
      case "minProperties":
        schema[keyword] = this.#integer(value, `${path}.${keyword}`);
        return;
      case "required":
        schema.required = this.#texts(value, `${path}.required`);
        return;
      case "enum":
        schema.enum = this.#enum(value, `${path}.enum`);
        return;
      default:
        this.#extension(schema, keyword, value, path);
    }
  }

  #extension(schema: MutableSchema, keyword: string, value: JsonValue, path: string): void {
    const at = `${path}.${keyword}`;
    switch (keyword) {
      case "x-kubernetes-preserve-unknown-fields":
        schema.preserveUnknownFields = this.#flag(value, at);
        return;
      case "x-kubernetes-embedded-resource":
        schema.embeddedResource = this.#flag(value, at);
        return;
      case "x-kubernetes-int-or-string":
        schema.intOrString = this.#flag(value, at);
        return;
      case "x-kubernetes-list-type":
        schema.listType = this.#text(value, at);
        return;
      case "x-kubernetes-list-map-keys":
        schema.listMapKeys = this.#texts(value, at);
        return;
      case "x-kubernetes-map-type":
        schema.mapType = this.#text(value, at);
        return;
      case "x-kubernetes-validations":
        schema.validations = this.#rules(value, at);
        return;
      default:
        this.#unsupported(schema, keyword, value, at);
    }
  }

  #unsupported(schema: MutableSchema, keyword: string, value: JsonValue, at: string): void {
    const marks = {
      id: "",
      schema: "",
      ref: undefined as string | undefined,
      additionalItems: false,
      patternProperties: false,
      dependencies: false,
      definitions: false,
      ...schema.unsupported,
    };
    switch (keyword) {
      case "id":
        marks.id = this.#text(value, at);
        break;
      case "$schema":
        marks.schema = this.#text(value, at);
        break;
      case "$ref":
        marks.ref = this.#text(value, at);
        break;
      case "additionalItems":
        marks.additionalItems = true;
        break;
      case "dependencies":
        marks.dependencies = true;
        break;
      case "patternProperties":
      case "definitions":
        marks[keyword] = isJsonObject(value) && Object.keys(value).length > 0;
        break;
      default:
        return;
    }
    schema.unsupported = marks;
  }

  #schemaMap(
    value: JsonValue,
    path: string,
    depth: number,
  ): ReadonlyMap<string, SchemaProps> | undefined {
    if (!isJsonObject(value)) {
      this.#problem(`${path}.properties`, "must be an object");
      return undefined;
    }
    const schemas = new Map<string, SchemaProps>();
    for (const name of Object.keys(value)) {
      const at = `${path}.properties[${name}]`;
      schemas.set(name, this.schema(value[name] as JsonValue, at, depth + 1));
    }
    return schemas;
  }

  #schemaList(value: JsonValue, path: string, depth: number): readonly SchemaProps[] {
    if (!Array.isArray(value)) {
      this.#problem(path, "must be an array");
      return [];
    }
    return value.map((item, i) => this.schema(item as JsonValue, `${path}[${i}]`, depth + 1));
  }

  #enum(value: JsonValue, path: string): readonly JsonValue[] | undefined {
    if (!Array.isArray(value)) {
      this.#problem(path, "must be an array");
      return undefined;
    }
    if (value.length > enumValuesMax && !this.#isAccepted)
      this.#problem(path, `must not have more than ${enumValuesMax} values`);
    return value as readonly JsonValue[];
  }

  #rules(value: JsonValue, path: string): readonly ValidationRule[] {
    if (!Array.isArray(value)) {
      this.#problem(path, "must be an array");
      return [];
    }
    return value.map((entry, i) => {
      const rule = isJsonObject(entry) ? entry : {};
      if (!isJsonObject(entry)) this.#problem(`${path}[${i}]`, "must be an object");
      return this.#rule(rule, `${path}[${i}]`);
    });
  }

  #rule(rule: JsonObject, path: string): ValidationRule {
    const text = (key: string): string =>
      rule[key] === undefined || rule[key] === null ? "" : this.#text(rule[key], `${path}.${key}`);
    return {
      rule: text("rule"),
      message: text("message"),
      messageExpression: text("messageExpression"),
      reason: rule["reason"] === undefined || rule["reason"] === null ? undefined : text("reason"),
      fieldPath: text("fieldPath"),
      optionalOldSelf:
        rule["optionalOldSelf"] === undefined || rule["optionalOldSelf"] === null
          ? undefined
          : this.#flag(rule["optionalOldSelf"], `${path}.optionalOldSelf`),
    };
  }

  /**
   * Compiling patterns is the most expensive part of a schema, so their weight is bounded before
   * compilation.
   */
  #weighPattern(pattern: string, path: string): void {
    if (this.#isAccepted) return;
    if (pattern.length > patternLengthMax) {
      this.#problem(path, `must not be longer than ${patternLengthMax} characters`);
      return;
    }
    if (this.#patterns?.has(pattern)) return;
    this.#patterns ??= new Set();
    this.#patterns.add(pattern);
    const before = this.#patternWeight;
    this.#patternWeight += patternWeight(pattern);
    if (before <= patternWeightMax && this.#patternWeight > patternWeightMax) {
      const text = `must not weigh more than ${patternWeightMax} together with the schema's other patterns`;
      this.#problem(path, text);
    }
  }

  #text(value: JsonValue, path: string): string {
    if (typeof value === "string") return value;
    this.#problem(path, "must be a string");
    return "";
  }

  #texts(value: JsonValue, path: string): readonly string[] {
    if (Array.isArray(value) && value.every((item) => typeof item === "string"))
      return value as readonly string[];
    this.#problem(path, "must be an array of strings");
    return [];
  }

  #flag(value: JsonValue, path: string): boolean {
    if (typeof value === "boolean") return value;
    this.#problem(path, "must be a boolean");
    return false;
  }

  #number(value: JsonValue, path: string): number | undefined {
    if (typeof value === "number" || typeof value === "bigint") return Number(value);
    this.#problem(path, "must be a number");
    return undefined;
  }

  #integer(value: JsonValue, path: string): number | undefined {
    if (typeof value === "bigint") return Number(value);
    if (Number.isInteger(value)) return value as number;
    this.#problem(path, "must be an integer");
    return undefined;
  }

  #problem(path: string, text: string): void {
    if (this.problems.length < problemsMax) this.problems.push(`${path}: ${text}`);
  }
}
