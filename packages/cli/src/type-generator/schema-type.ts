/**
 * Converts OpenAPI schemas to TypeScript types, as text.
 *
 * Schemas are untrusted: names become identifiers or quoted strings, descriptions cannot leave
 * their comments, and schemas that are nested too deeply, or are unknown, become `JsonValue`, which
 * is always correct.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";

/** Deeper types are not useful, and the limit ends recursive references. */
export const typeDepthMax = 30;

const sdkTypes = new Map([
  ["io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta", "ObjectMeta"],
  ["io.k8s.apimachinery.pkg.apis.meta.v1.ListMeta", "ListMeta"],
  ["io.k8s.apimachinery.pkg.apis.meta.v1.OwnerReference", "OwnerReference"],
  ["io.k8s.apimachinery.pkg.apis.meta.v1.ManagedFieldsEntry", "ManagedFieldsEntry"],
]);

const plainTypes = new Map([
  ["io.k8s.apimachinery.pkg.apis.meta.v1.Time", "string"],
  ["io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime", "string"],
  ["io.k8s.apimachinery.pkg.api.resource.Quantity", "string | number"],
  ["io.k8s.apimachinery.pkg.util.intstr.IntOrString", "string | number"],
  ["io.k8s.apimachinery.pkg.apis.meta.v1.FieldsV1", "JsonObject"],
  ["io.k8s.apimachinery.pkg.runtime.RawExtension", "JsonObject"],
]);

export class TypeWriter {
  /** The imports from the SDK that the generated text needs. */
  readonly imports = new Set<string>();
  readonly #definitions: ReadonlyMap<string, JsonObject>;
  readonly #names = new Map<string, string>();
  readonly #taken: Set<string>;
  readonly #interfaces: string[] = [];

  /** `taken` are names that the file uses otherwise. */
  constructor(definitions: ReadonlyMap<string, JsonObject>, taken: readonly string[]) {
    this.#definitions = definitions;
    this.#taken = new Set([...taken, ...sdkTypes.values(), "KubernetesObject", "JsonValue"]);
  }

  /** The interfaces of all references, in the order of their first use. */
  get interfaces(): readonly string[] {
    return this.#interfaces;
  }

  /** The members of an object type with their comments, one line each, without the braces. */
  members(schema: JsonObject, indent: string, skip: ReadonlySet<string>, depth = 0): string {
    const properties = objectMember(schema, "properties");
    const required = new Set(Array.isArray(schema["required"]) ? schema["required"] : []);
    return Object.keys(properties)
      .filter((name) => !skip.has(name))
      .map((name) => {
        const member = properties[name];
        const type = this.type(member, indent, depth + 1);
        const mark = required.has(name) ? "" : "?";
        return `${comment(member, indent)}${indent}readonly ${propertyName(name)}${mark}: ${type};\n`;
      })
      .join("");
  }

  type(schema: JsonValue | undefined, indent: string, depth = 0): string {
    if (!isJsonObject(schema) || depth > typeDepthMax) return this.#json("JsonValue");
    const text = this.#plainType(schema, indent, depth);
    return schema["nullable"] === true ? `${text} | null` : text;
  }

  #plainType(schema: JsonObject, indent: string, depth: number): string {
    const reference = referenceOf(schema);
    if (reference !== undefined) return this.#reference(reference);
    if (schema["x-kubernetes-int-or-string"] === true) return "string | number";
    const choices = schema["enum"];
    if (Array.isArray(choices) && choices.length > 0 && choices.every(isText)) {
      return choices.map((choice) => JSON.stringify(choice)).join(" | ");
    }
    switch (schema["type"]) {
      case "string":
        return "string";
      case "integer":
      case "number":
        return "number";
      case "boolean":
        return "boolean";
      case "array":
        return `readonly ${grouped(this.type(schema["items"], indent, depth + 1))}[]`;
      case "object":
        return this.#objectType(schema, indent, depth);
      default:
        return this.#json("JsonValue");
    }
  }

  #objectType(schema: JsonObject, indent: string, depth: number): string {
    const inner = this.members(schema, `${indent}  `, new Set(), depth);
    if (inner !== "") return `{\n${inner}${indent}}`;
    const values = schema["additionalProperties"];
    if (!isJsonObject(values)) return this.#json("JsonObject");
    return `Readonly<Record<string, ${this.type(values, indent, depth + 1)}>>`;
  }

  #reference(name: string): string {
    const plain = plainTypes.get(name);
    if (plain !== undefined) return plain.startsWith("Json") ? this.#json(plain) : plain;
    const fromSdk = sdkTypes.get(name);
    if (fromSdk !== undefined) {
      this.imports.add(fromSdk);
      return fromSdk;
    }
    const known = this.#names.get(name);
    if (known !== undefined) return known;
    const definition = this.#definitions.get(name);
    if (definition === undefined) return this.#json("JsonValue");
    const own = this.#newName(name);
    this.#names.set(name, own);
    const at = this.#interfaces.push("") - 1;
    this.#interfaces[at] = this.#interface(own, definition);
    return own;
  }

  #interface(name: string, definition: JsonObject): string {
    const members = this.members(definition, "  ", new Set());
    if (members === "")
      return `${comment(definition, "")}export type ${name} = ${this.type(definition, "")};\n`;
    return `${comment(definition, "")}export interface ${name} {\n${members}}\n`;
  }

  #newName(definition: string): string {
    const wanted = identifier(definition.slice(definition.lastIndexOf(".") + 1));
    let name = wanted;
    for (let n = 2; this.#taken.has(name); n++) name = `${wanted}${n}`;
    this.#taken.add(name);
    return name;
  }

  #json(name: string): string {
    this.imports.add(name);
    return name;
  }
}

/** Characters that identifiers cannot have are removed; an empty result becomes Type. */
export function identifier(text: string): string {
  const letters = text.replace(/[^A-Za-z0-9_$]/g, "").replace(/^[0-9]+/, "");
  return letters === "" ? "Type" : letters;
}

export function comment(schema: JsonValue | undefined, indent: string): string {
  const text = isJsonObject(schema) ? schema["description"] : undefined;
  if (typeof text !== "string" || text.trim() === "") return "";
  const lines = text
    .trim()
    .replaceAll("*/", "*\u2215")
    .split(/\r\n|[\n\r\u2028\u2029]/);
  if (lines.length === 1) return `${indent}/** ${lines[0]} */\n`;
  return `${indent}/**\n${lines.map((line) => `${indent} * ${line}`.trimEnd()).join("\n")}\n${indent} */\n`;
}

function propertyName(name: string): string {
  return /^[A-Za-z_$][A-Za-z0-9_$]*$/.test(name) ? name : JSON.stringify(name);
}

/**
 * A reference, or the only member of an allOf, which is how a reference gets defaults and a
 * description.
 */
function referenceOf(schema: JsonObject): string | undefined {
  const { allOf } = schema;
  const only = Array.isArray(allOf) && allOf.length === 1 ? allOf[0] : undefined;
  const reference = schema["$ref"] ?? (isJsonObject(only) ? only["$ref"] : undefined);
  return typeof reference === "string" ? reference.split("/").pop() : undefined;
}

function objectMember(schema: JsonObject, name: string): JsonObject {
  const value = Object.hasOwn(schema, name) ? schema[name] : undefined;
  return isJsonObject(value) ? value : {};
}

function isText(value: JsonValue): boolean {
  return typeof value === "string";
}

function grouped(type: string): string {
  return /[ |]/.test(type) && !type.startsWith("{") && !type.startsWith("Readonly<")
    ? `(${type})`
    : type;
}
