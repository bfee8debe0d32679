/** What an OpenAPI document says about a place in an object. Pure. */
import type { YamlPosition } from "./yaml-place.ts";

export interface Schema {
  readonly $ref?: string;
  readonly allOf?: readonly Schema[];
  readonly type?: string;
  readonly description?: string;
  readonly properties?: Readonly<Record<string, Schema>>;
  readonly additionalProperties?: Schema | boolean;
  readonly items?: Schema;
  readonly enum?: readonly unknown[];
  readonly required?: readonly string[];
  readonly "x-kubernetes-group-version-kind"?: readonly {
    readonly group: string;
    readonly version: string;
    readonly kind: string;
  }[];
}

export interface OpenApiDocument {
  readonly components?: { readonly schemas?: Readonly<Record<string, Schema>> };
}

export interface Suggestion {
  readonly label: string;
  /** As in `[]string`. */
  readonly type: string;
  readonly description: string;
  readonly isRequired: boolean;
  readonly insert: string;
}

export interface Help {
  readonly path: string;
  readonly type: string;
  readonly description: string;
}

/** The schema of one kind, with what it refers to. */
export class KindSchema {
  readonly #schemas: Readonly<Record<string, Schema>>;
  readonly #root: Schema | undefined;

  constructor(
    document: OpenApiDocument,
    { group, version, kind }: { group: string; version: string; kind: string },
  ) {
    this.#schemas = document.components?.schemas ?? {};
    this.#root = Object.values(this.#schemas).find((schema) =>
      schema["x-kubernetes-group-version-kind"]?.some(
        (one) => one.group === group && one.version === version && one.kind === kind,
      ),
    );
  }

  /** What may be written in front of the cursor, and begins with what is there. */
  suggestionsAt(
    { parents, key, isValue, siblings, indent }: YamlPosition,
    typed: string,
  ): readonly Suggestion[] {
    if (isValue) {
      const values = this.#at([...parents, key])?.enum ?? [];
      return values
        .map(String)
        .filter((one) => one.startsWith(typed))
        .map(valueSuggestion);
    }
    const schema = this.#at(parents);
    const required = new Set(schema?.required);
    return Object.entries(schema?.properties ?? {})
      .filter(([name]) => name.toLowerCase().startsWith(typed.toLowerCase()) && !siblings.has(name))
      .map(([name, property]) => {
        const full = this.#resolved(property);
        return {
          label: name,
          type: typeOf(full),
          description: property.description ?? full.description ?? "",
          isRequired: required.has(name),
          insert: name + opening(full, indent),
        };
      })
      .sort((a, b) => Number(b.isRequired) - Number(a.isRequired) || (a.label < b.label ? -1 : 1));
  }

  helpAt({ parents, key }: YamlPosition): Help | undefined {
    const path = key === "" ? parents : [...parents, key];
    const parent = this.#at(path.slice(0, -1));
    const last = path.at(-1);
    const own = last === undefined ? undefined : parent?.properties?.[last];
    const schema = own === undefined ? this.#at(path) : this.#resolved(own);
    if (schema === undefined) return undefined;
    return {
      path: path.join(".").replaceAll(".[]", "[]"),
      type: typeOf(schema),
      description: own?.description ?? schema.description ?? "",
    };
  }

  #at(path: readonly string[]): Schema | undefined {
    let schema = this.#root;
    for (const part of path) {
      if (schema === undefined) return undefined;
      const full = this.#resolved(schema);
      const { additionalProperties: others } = full;
      if (part === "[]") schema = full.items;
      else if (Object.hasOwn(full.properties ?? {}, part)) schema = full.properties?.[part];
      else schema = typeof others === "object" ? others : undefined;
    }
    return schema && this.#resolved(schema);
  }

  /** References, also those that Kubernetes wraps into `allOf` to add a description. */
  #resolved(schema: Schema): Schema {
    const reference = schema.$ref ?? schema.allOf?.[0]?.$ref;
    const name = reference?.slice(reference.lastIndexOf("/") + 1) ?? "";
    const target = Object.hasOwn(this.#schemas, name) ? this.#schemas[name] : undefined;
    if (target === undefined) return schema;
    const { description = target.description } = schema;
    return { ...target, ...(description === undefined ? {} : { description }) };
  }
}

function typeOf({ type = "object", items, additionalProperties }: Schema): string {
  if (type === "array") return `[]${items?.type ?? "object"}`;
  if (typeof additionalProperties === "object")
    return `map of ${additionalProperties.type ?? "object"}`;
  return type;
}

function opening({ type = "object" }: Schema, indent: number): string {
  if (type === "array") return `:\n${" ".repeat(indent)}- `;
  return type === "object" ? `:\n${" ".repeat(indent + 2)}` : ": ";
}

function valueSuggestion(value: string): Suggestion {
  return { label: value, type: "value", description: "", isRequired: false, insert: value };
}
