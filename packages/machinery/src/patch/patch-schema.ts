/**
 * The schema information of strategic merge patch: which lists merge, by which key, and which maps
 * are replaced.
 *
 * A field that the schema does not declare merges if it is a map and is replaced if it is a list.
 */
import { isJsonObject, type JsonObject, type JsonValue, member } from "../json/index.ts";

/** The fields of a map, or of the items of a list. */
export interface PatchSchema {
  field(name: string): PatchField | undefined;
}

export interface PatchField {
  /**
   * Lists are replaced and maps are merged unless this says otherwise. A list of scalars that
   * merges is a set.
   */
  readonly strategy?: "merge" | "replace";
  /**
   * Clients that compute patches for this field add `$retainKeys`; applying a patch does not depend
   * on it.
   */
  readonly retainKeys?: true;
  /** The member that identifies the items of a merging list of maps. */
  readonly mergeKey?: string;
  /** The schema of the map, or of the items of the list. */
  readonly schema?: PatchSchema;
}

/**
 * A schema written by hand, for example `patchSchema({ secrets: { strategy: "merge", mergeKey:
 * "name" } })`.
 */
export function patchSchema(fields: { readonly [name: string]: PatchField }): PatchSchema {
  const byName = new Map(Object.entries(fields));
  return { field: (name) => byName.get(name) };
}

const objectMetaPatchSchema = patchSchema({
  finalizers: { strategy: "merge" },
  ownerReferences: { strategy: "merge", mergeKey: "uid" },
});

/**
 * The schema of a complete object: metadata merges as for all objects, the rest by the given
 * schema.
 */
export function objectPatchSchema(schema: PatchSchema): PatchSchema {
  const metadata: PatchField = { schema: objectMetaPatchSchema };
  return { field: (name) => (name === "metadata" ? metadata : schema.field(name)) };
}

/** Finds the schema that a `$ref` names. */
export type SchemaResolver = (reference: string) => JsonObject | undefined;

/**
 * Reads the patch rules out of an OpenAPI or structural schema node, lazily.
 * `x-kubernetes-patch-strategy` and `x-kubernetes-patch-merge-key` decide; where they are absent,
 * as in CRDs, lists of type `map` merge by their first key and lists of type `set` merge as sets.
 */
export function readPatchSchema(node: JsonObject, resolve?: SchemaResolver): PatchSchema {
  return new OpenApiPatchSchema(node, resolve);
}

class OpenApiPatchSchema implements PatchSchema {
  readonly #properties: JsonObject | undefined;
  readonly #additional: JsonObject | undefined;
  readonly #resolve: SchemaResolver | undefined;
  readonly #fields = new Map<string, PatchField>();
  #additionalField: PatchField | undefined;

  constructor(node: JsonObject, resolve: SchemaResolver | undefined) {
    const target = dereference(node, resolve);
    this.#properties = objectMember(target, "properties");
    this.#additional = objectMember(target, "additionalProperties");
    this.#resolve = resolve;
  }

  field(name: string): PatchField | undefined {
    const known = this.#fields.get(name);
    if (known !== undefined) return known;
    const property = this.#properties && objectMember(this.#properties, name);
    if (property !== undefined) {
      // The cache holds declared names only, so that names from patches cannot grow it.
      const field = readField(property, this.#resolve);
      this.#fields.set(name, field);
      return field;
    }
    if (this.#additional !== undefined) {
      this.#additionalField ??= readField(this.#additional, this.#resolve);
    }
    return this.#additionalField;
  }
}

function readField(property: JsonObject, resolve: SchemaResolver | undefined): PatchField {
  const target = dereference(property, resolve);
  const items = objectMember(target, "items");
  return {
    ...readStrategy(property, target),
    schema: new OpenApiPatchSchema(items ?? target, resolve),
  };
}

function readStrategy(property: JsonObject, target: JsonObject): Omit<PatchField, "schema"> {
  const strategies = text(property, "x-kubernetes-patch-strategy")?.split(",");
  const mergeKey = text(property, "x-kubernetes-patch-merge-key");
  if (strategies !== undefined || mergeKey !== undefined) {
    const strategy = strategies?.find((name) => name === "merge" || name === "replace");
    return {
      ...(strategy === undefined ? {} : { strategy: strategy as "merge" | "replace" }),
      ...(strategies?.includes("retainKeys") ? { retainKeys: true as const } : {}),
      ...(mergeKey === undefined ? {} : { mergeKey }),
    };
  }
  const listType = text(target, "x-kubernetes-list-type");
  if (listType === "set") return { strategy: "merge" };
  if (listType === "map") {
    const keys = member(target, "x-kubernetes-list-map-keys");
    const first = Array.isArray(keys) ? keys[0] : undefined;
    if (typeof first === "string") return { strategy: "merge", mergeKey: first };
  }
  return {};
}

function dereference(node: JsonObject, resolve: SchemaResolver | undefined): JsonObject {
  const allOf = member(node, "allOf");
  const [wrapped] = Array.isArray(allOf) ? (allOf as readonly JsonValue[]) : [];
  const reference =
    text(node, "$ref") ?? (isJsonObject(wrapped) ? text(wrapped, "$ref") : undefined);
  return (reference === undefined ? undefined : resolve?.(reference)) ?? node;
}

function objectMember(object: JsonObject, key: string): JsonObject | undefined {
  const value = member(object, key);
  return isJsonObject(value) ? value : undefined;
}

function text(object: JsonObject, key: string): string | undefined {
  const value = member(object, key);
  return typeof value === "string" ? value : undefined;
}
