/**
 * Compiles SchemaProps to shared SchemaNodes.
 *
 * Children first: the content key of a node is its own keywords plus the ids of its children, so
 * that equal subtrees become one node by one map look-up each.
 */
import { type Resumable, YieldCounter } from "../base/index.ts";
import { type JsonValue, stringifyJson } from "../json/index.ts";
import { quote } from "../status/index.ts";
import { canonicalJson } from "./canonical.ts";
import { isRecognizedFormat } from "./formats.ts";
import { schemaNodesPerStep } from "./limits.ts";
import {
  type EnumValues,
  LazyPattern,
  type PlainType,
  reachBit,
  type SchemaNode,
  typeBit,
  type ValueChecks,
} from "./schema-node.ts";
import { isSchema, itemSchema, type SchemaProps } from "./schema-props.ts";
import { childSchemas } from "./structural.ts";

export class NodeCompiler {
  readonly #byContent = new Map<string, SchemaNode>();
  readonly #bySource = new Map<SchemaProps, SchemaNode>();

  compile(schema: SchemaProps): SchemaNode {
    const known = this.#bySource.get(schema);
    if (known !== undefined) return known;
    const node = this.#intern(schema);
    this.#bySource.set(schema, node);
    return node;
  }

  /** The same for a large schema: children first, which are then found in the cache. */
  *compileResumable(
    schema: SchemaProps,
    pace = new YieldCounter(schemaNodesPerStep),
  ): Resumable<SchemaNode> {
    for (const child of childSchemas(schema)) yield* this.compileResumable(child, pace);
    if (pace.isTime()) yield;
    return this.compile(schema);
  }

  get nodes(): number {
    return this.#byContent.size;
  }

  #intern(schema: SchemaProps): SchemaNode {
    const children = this.#children(schema);
    const key = contentKey(schema, children);
    const known = this.#byContent.get(key);
    if (known !== undefined) return known;
    const node = buildNode(schema, children, this.#byContent.size);
    this.#byContent.set(key, node);
    return node;
  }

  #children(schema: SchemaProps): Children {
    let properties: Map<string, SchemaNode> | undefined;
    if (schema.properties !== undefined && schema.properties.size > 0) {
      properties = new Map();
      for (const [name, property] of schema.properties) {
        properties.set(name, this.compile(property));
      }
    }
    const items = itemSchema(schema);
    const additional = schema.additionalProperties;
    return {
      properties,
      items: items === undefined ? undefined : this.compile(items),
      additional: isSchema(additional) ? this.compile(additional) : additional,
      allOf: this.#list(schema.allOf),
      anyOf: this.#list(schema.anyOf),
      oneOf: this.#list(schema.oneOf),
      not: schema.not === undefined ? undefined : this.compile(schema.not),
    };
  }

  #list(schemas: readonly SchemaProps[]): readonly SchemaNode[] {
    return schemas.length === 0 ? noNodes : schemas.map((schema) => this.compile(schema));
  }
}

interface Children {
  readonly properties: ReadonlyMap<string, SchemaNode> | undefined;
  readonly items: SchemaNode | undefined;
  readonly additional: SchemaNode | boolean | undefined;
  readonly allOf: readonly SchemaNode[];
  readonly anyOf: readonly SchemaNode[];
  readonly oneOf: readonly SchemaNode[];
  readonly not: SchemaNode | undefined;
}

const noNodes: readonly SchemaNode[] = [];
const noNames: readonly string[] = [];

/**
 * Equal for equal content only: names are preceded by their length, other texts go through JSON.
 */
function contentKey(schema: SchemaProps, children: Children): string {
  let key = `${flags(schema)}:${schema.type.length}:${schema.type}${schema.format.length}:${schema.format}`;
  if (children.properties !== undefined) {
    key += "p";
    for (const [name, node] of children.properties) key += `${name.length}:${name}${node.id},`;
  }
  if (children.items !== undefined) key += `i${children.items.id}`;
  if (children.additional !== undefined) {
    key += `a${typeof children.additional === "boolean" ? children.additional : children.additional.id}`;
  }
  if (hasChecks(schema)) key += checksKey(schema, children);
  if (schema.default !== undefined) key += `d${stringifyJson(schema.default)}`;
  if (schema.listType !== undefined || schema.listMapKeys.length > 0) {
    key += `l${JSON.stringify([schema.listType ?? null, schema.listMapKeys])}`;
  }
  if (schema.validations.length > 0) key += `r${JSON.stringify(schema.validations)}`;
  return key;
}

function flags(schema: SchemaProps): number {
  return (
    (schema.nullable ? 1 : 0) +
    (schema.preserveUnknownFields === true ? 2 : 0) +
    (schema.embeddedResource ? 4 : 0) +
    (schema.intOrString ? 8 : 0)
  );
}

function checksKey(schema: SchemaProps, children: Children): string {
  const ids = (nodes: readonly SchemaNode[]): number[] => nodes.map((node) => node.id);
  return `c${stringifyJson([
    schema.maximum ?? null,
    schema.exclusiveMaximum,
    schema.minimum ?? null,
    schema.exclusiveMinimum,
    schema.multipleOf ?? null,
    schema.maxLength ?? null,
    schema.minLength ?? null,
    schema.pattern,
    schema.maxItems ?? null,
    schema.minItems ?? null,
    schema.uniqueItems,
    schema.maxProperties ?? null,
    schema.minProperties ?? null,
    schema.required,
    schema.enum ?? null,
    ids(children.allOf),
    ids(children.anyOf),
    ids(children.oneOf),
    children.not?.id ?? null,
  ])}`;
}

function hasChecks(schema: SchemaProps): boolean {
  return (
    schema.required.length > 0 ||
    schema.enum !== undefined ||
    schema.pattern !== "" ||
    schema.maximum !== undefined ||
    schema.minimum !== undefined ||
    schema.maxLength !== undefined ||
    schema.minLength !== undefined ||
    schema.maxItems !== undefined ||
    schema.minItems !== undefined ||
    schema.multipleOf !== undefined ||
    schema.maxProperties !== undefined ||
    schema.minProperties !== undefined ||
    schema.uniqueItems ||
    schema.allOf.length > 0 ||
    schema.anyOf.length > 0 ||
    schema.oneOf.length > 0 ||
    schema.not !== undefined
  );
}

function buildNode(schema: SchemaProps, children: Children, id: number): SchemaNode {
  const defaulted: string[] = [];
  if (children.properties !== undefined) {
    for (const [name, node] of children.properties) {
      if (node.default !== undefined) defaulted.push(name);
    }
  }
  const type = schema.intOrString ? "" : schema.type;
  return {
    id,
    types: schema.intOrString ? typeBit.integer | typeBit.string : typesOf(schema.type),
    typeText: schema.intOrString ? "integer,string" : schema.type,
    nullable: schema.nullable,
    format: isRecognizedFormat(type, schema.format) ? schema.format : "",
    properties: children.properties,
    additional: children.additional,
    items: children.items,
    default: schema.default,
    defaulted: defaulted.length === 0 ? noNames : defaulted,
    preserve: schema.preserveUnknownFields === true,
    embedded: schema.embeddedResource,
    listType: schema.listType,
    listMapKeys: schema.listMapKeys,
    checks: hasChecks(schema) ? buildChecks(schema, children) : undefined,
    plain: plainType(schema),
    rules: schema.validations.length === 0 ? undefined : { rules: schema.validations, schema },
    reach: reachOf(schema, children),
  };
}

function plainType(schema: SchemaProps): PlainType {
  if (schema.intOrString || hasChecks(schema)) return "";
  const hasFormat = isRecognizedFormat(schema.type, schema.format);
  switch (schema.type) {
    case "string":
      return hasFormat ? "" : "string";
    case "boolean":
      return "boolean";
    case "integer":
      return schema.format === "int32" ? "int32" : "integer";
    case "number":
      return schema.format === "float" ? "" : "number";
    default:
      return "";
  }
}

function typesOf(type: string): number {
  return Object.hasOwn(typeBit, type) ? typeBit[type as keyof typeof typeBit] : 0;
}

function buildChecks(schema: SchemaProps, children: Children): ValueChecks {
  return {
    maximum: schema.maximum,
    exclusiveMaximum: schema.exclusiveMaximum,
    minimum: schema.minimum,
    exclusiveMinimum: schema.exclusiveMinimum,
    multipleOf: schema.multipleOf,
    maxLength: schema.maxLength,
    minLength: schema.minLength,
    pattern: schema.pattern === "" ? undefined : new LazyPattern(schema.pattern),
    maxItems: schema.maxItems,
    minItems: schema.minItems,
    uniqueItems: schema.uniqueItems,
    maxProperties: schema.maxProperties,
    minProperties: schema.minProperties,
    required: schema.required,
    enum:
      schema.enum === undefined || schema.enum.length === 0 ? undefined : buildEnum(schema.enum),
    allOf: children.allOf,
    anyOf: children.anyOf,
    oneOf: children.oneOf,
    not: children.not,
  };
}

function buildEnum(values: readonly JsonValue[]): EnumValues {
  const scalars = new Set<JsonValue>();
  const compounds = new Set<string>();
  for (const value of values) {
    if (typeof value === "object" && value !== null) compounds.add(canonicalJson(value));
    // Null is never equal to an enum's value in Kubernetes, not even to null.
    else if (value !== null) scalars.add(value);
  }
  let listed: string | undefined;
  const list = (): string => {
    const quoted = values.map((value) =>
      quote(typeof value === "string" ? value : stringifyJson(value)),
    );
    return `supported values: ${quoted.join(", ")}`;
  };
  return { listed: () => (listed ??= list()), scalars, compounds };
}

function reachOf(schema: SchemaProps, children: Children): number {
  let reach = 0;
  if (schema.default !== undefined) reach |= reachBit.default;
  if (schema.listType === "set" || schema.listType === "map") reach |= reachBit.listType;
  if (schema.embeddedResource) reach |= reachBit.embedded;
  if (schema.validations.length > 0) reach |= reachBit.rules;
  if (children.properties !== undefined) {
    for (const node of children.properties.values()) reach |= node.reach;
  }
  if (children.items !== undefined) reach |= children.items.reach;
  if (typeof children.additional === "object") reach |= children.additional.reach;
  return reach;
}
