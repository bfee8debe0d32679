/**
 * Reads a type from an OpenAPI or structural schema node, by the rules of kube-openapi's schema
 * converter.
 *
 * Types that a `$ref` names are read once and may be recursive; inline types cannot.
 */
import { isJsonObject, type JsonObject, type JsonValue, member, textsOf } from "../json/index.ts";
import { objectMetaType } from "./object-type.ts";
import {
  atomicType,
  booleanType,
  deducedType,
  type ListType,
  type MapType,
  numericType,
  type StructField,
  scalarType,
  stringType,
  type TypeSchema,
  untypedType,
} from "./type-schema.ts";

export interface ReadTypeOptions {
  /** Finds the schema that a `$ref` names. */
  readonly resolve?: (reference: string) => JsonObject | undefined;
}

export function readTypeSchema(node: JsonObject, options: ReadTypeOptions = {}): TypeSchema {
  return new Reader(options).read(node, { preserveUnknown: false });
}

/**
 * The type of a custom resource: its schema with apiVersion, kind and metadata added. Without a
 * schema the type is deduced.
 */
export function readObjectType(
  node: JsonObject | undefined,
  options: ReadTypeOptions = {},
): TypeSchema {
  const type = node === undefined ? undefined : readTypeSchema(node, options);
  if (type?.map === undefined || type.map.fields.size === 0) {
    return withObjectFields({
      relationship: "granular",
      fields: new Map(),
      additional: deducedType,
    });
  }
  return withObjectFields(type.map);
}

function withObjectFields(map: MapType): TypeSchema {
  const fields = new Map(map.fields);
  fields.set("apiVersion", { type: stringType });
  fields.set("kind", { type: stringType });
  fields.set("metadata", { type: objectMetaType });
  return { map: { ...map, fields } };
}

interface Context {
  /** `x-kubernetes-preserve-unknown-fields` of a parent holds for all inline schemas below it. */
  readonly preserveUnknown: boolean;
}

class Reader {
  readonly #resolve: ReadTypeOptions["resolve"];
  readonly #byReference = new Map<string, TypeSchema>();

  constructor({ resolve }: ReadTypeOptions) {
    this.#resolve = resolve;
  }

  read(node: JsonObject, parent: Context): TypeSchema {
    const reference = referenceOf(node);
    if (reference === undefined) return this.#inline(node, parent);
    const type = this.#referred(reference);
    return member(node, "x-kubernetes-map-type") === "atomic" ? atomicType(type) : type;
  }

  #referred(reference: string): TypeSchema {
    const known = this.#byReference.get(reference);
    if (known !== undefined) return known;
    if (reference.endsWith(".resource.Quantity")) return scalarType;
    if (reference.endsWith(".runtime.RawExtension")) return untypedType;
    const target = this.#resolve?.(reference);
    if (target === undefined) return deducedType;
    const type: TypeSchema = {};
    this.#byReference.set(reference, type);
    return Object.assign(type, this.#inline(target, { preserveUnknown: false }));
  }

  #inline(node: JsonObject, parent: Context): TypeSchema {
    const context: Context = {
      preserveUnknown:
        parent.preserveUnknown || member(node, "x-kubernetes-preserve-unknown-fields") === true,
    };
    if (member(node, "x-kubernetes-int-or-string") === true) return scalarType;
    switch (member(node, "type")) {
      case "object":
        return { map: this.#map(node, context) };
      case "array":
        return { list: this.#list(node, context) };
      case "integer":
      case "number":
        return numericType;
      case "boolean":
        return booleanType;
      case "string":
        return readString(member(node, "format"));
      case undefined:
        return {
          scalar: "untyped",
          list: this.#list(node, context),
          map: this.#map(node, context),
        };
      default:
        return scalarType;
    }
  }

  #map(node: JsonObject, context: Context): MapType {
    const fields = new Map<string, StructField>();
    const properties = member(node, "properties");
    if (isJsonObject(properties)) {
      for (const name of Object.keys(properties)) {
        const property = properties[name];
        if (!isJsonObject(property)) continue;
        const fallback = member(property, "default");
        fields.set(name, {
          type: this.read(property, context),
          ...(fallback === undefined ? {} : { default: fallback }),
        });
      }
    }
    if (member(node, "x-kubernetes-embedded-resource") === true) {
      fields.set("apiVersion", { type: stringType });
      fields.set("kind", { type: stringType });
      fields.set("metadata", { type: objectMetaType });
    }
    const additional = this.#additional(node, context, fields.size);
    return {
      relationship: member(node, "x-kubernetes-map-type") === "atomic" ? "atomic" : "granular",
      fields,
      ...(additional === undefined ? {} : { additional }),
    };
  }

  #additional(node: JsonObject, context: Context, fieldCount: number): TypeSchema | undefined {
    const additional = member(node, "additionalProperties");
    if (isJsonObject(additional)) return this.read(additional, context);
    if (additional === true) return deducedType;
    if (additional === false) return undefined;
    // An object without declarations is free-form.
    return context.preserveUnknown || fieldCount === 0 ? deducedType : undefined;
  }

  #list(node: JsonObject, context: Context): ListType {
    const items = member(node, "items");
    return {
      ...readRelationship(node),
      item: isJsonObject(items) ? this.read(items, context) : untypedType,
    };
  }
}

function readRelationship(node: JsonObject): Omit<ListType, "item"> {
  const listType = member(node, "x-kubernetes-list-type");
  if (listType === "set") return { relationship: "set", keys: [] };
  if (listType === "map") {
    const keys = textsOf(member(node, "x-kubernetes-list-map-keys"));
    if (keys.length > 0) return { relationship: "keyed", keys: keys.toSorted() };
  }
  if (listType === undefined) {
    const strategy = member(node, "x-kubernetes-patch-strategy");
    if (typeof strategy === "string" && strategy.split(",").includes("merge")) {
      const keys = textsOf([member(node, "x-kubernetes-patch-merge-key") ?? null]);
      return keys.length > 0 ? { relationship: "keyed", keys } : { relationship: "set", keys: [] };
    }
  }
  return { relationship: "atomic", keys: [] };
}

/** Formats such as date-time and int-or-string have more than one representation. */
function readString(format: JsonValue | undefined): TypeSchema {
  return format === undefined || format === "" || format === "byte" ? stringType : scalarType;
}

function referenceOf(node: JsonObject): string | undefined {
  const reference = member(node, "$ref");
  if (typeof reference === "string") return reference;
  const allOf = member(node, "allOf");
  const [only, ...others] = Array.isArray(allOf) ? (allOf as readonly JsonValue[]) : [];
  if (!isJsonObject(only) || others.length > 0) return undefined;
  const wrapped = member(only, "$ref");
  return typeof wrapped === "string" ? wrapped : undefined;
}
