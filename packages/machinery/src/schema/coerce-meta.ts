/**
 * ObjectMeta as Kubernetes' typed decoder leaves it: known fields of the right types, without empty
 * ones, times in whole UTC seconds.
 *
 * Used for the root of an object and for embedded resources. An unchanged value is returned itself.
 */
import { isJsonObject, type JsonObject, type JsonValue, setMember } from "../json/index.ts";

export interface CoercedMeta {
  readonly value: JsonValue;
  /** Paths of unknown fields, relative to the metadata: `foo`, `ownerReferences[0].bar`. */
  readonly unknown: readonly string[];
  /**
   * The first malformed field with the text of Go's decoder; undefined when malformed fields are
   * dropped.
   */
  readonly error: string | undefined;
}

export function coerceObjectMeta(
  metadata: JsonValue,
  options: { readonly malformed: "reject" | "drop" },
): CoercedMeta {
  if (metadata === null) return { value: {}, unknown: [], error: undefined };
  if (!isJsonObject(metadata)) {
    const error = `json: cannot unmarshal ${goKind(metadata)} into Go value of type v1.ObjectMeta`;
    return { value: metadata, unknown: [], error };
  }
  const coercer = new MetaCoercer(options.malformed === "drop");
  const value = coercer.struct(metadata, objectMetaFields, "ObjectMeta", "");
  return { value, unknown: coercer.unknown.sort(), error: coercer.error };
}

type Kind =
  | "string"
  | "int64"
  | "optionalInt64"
  | "bool"
  | "time"
  | "strings"
  | "stringMap"
  | "json"
  | Fields[];
type Fields = ReadonlyMap<string, Kind>;

const ownerReferenceFields: Fields = new Map<string, Kind>([
  ["apiVersion", "string"],
  ["kind", "string"],
  ["name", "string"],
  ["uid", "string"],
  ["controller", "bool"],
  ["blockOwnerDeletion", "bool"],
]);

const managedFieldsFields: Fields = new Map<string, Kind>([
  ["manager", "string"],
  ["operation", "string"],
  ["apiVersion", "string"],
  ["time", "time"],
  ["fieldsType", "string"],
  ["fieldsV1", "json"],
  ["subresource", "string"],
]);

const objectMetaFields: Fields = new Map<string, Kind>([
  ["name", "string"],
  ["generateName", "string"],
  ["namespace", "string"],
  ["selfLink", "string"],
  ["uid", "string"],
  ["resourceVersion", "string"],
  ["generation", "int64"],
  ["creationTimestamp", "time"],
  ["deletionTimestamp", "time"],
  ["deletionGracePeriodSeconds", "optionalInt64"],
  ["labels", "stringMap"],
  ["annotations", "stringMap"],
  ["ownerReferences", [ownerReferenceFields]],
  ["finalizers", "strings"],
  ["managedFields", [managedFieldsFields]],
]);

/** Written even when empty: they have no `omitempty` upstream. */
const ownerReferenceAlways = ["apiVersion", "kind", "name", "uid"];

const goTypes = {
  string: "string",
  int64: "int64",
  optionalInt64: "int64",
  bool: "bool",
  time: "string",
  strings: "[]string",
  stringMap: "map[string]string",
  json: "v1.FieldsV1",
} as const;

const listTypes: ReadonlyMap<string, string> = new Map([
  ["ObjectMeta.ownerReferences", "[]v1.OwnerReference"],
  ["ObjectMeta.managedFields", "[]v1.ManagedFieldsEntry"],
]);

class MetaCoercer {
  readonly unknown: string[] = [];
  error: string | undefined;
  readonly #drop: boolean;

  constructor(drop: boolean) {
    this.#drop = drop;
  }

  struct(value: JsonObject, fields: Fields, type: string, path: string): JsonObject {
    const result: { [key: string]: JsonValue } = {};
    let changed = false;
    for (const key of Object.keys(value)) {
      const member = value[key] as JsonValue;
      const kind = fields.get(key);
      if (kind === undefined) {
        this.unknown.push(path + key);
        changed = true;
        continue;
      }
      const staysEmpty =
        member === "" && fields === ownerReferenceFields && ownerReferenceAlways.includes(key);
      const coerced = staysEmpty ? "" : this.#field(member, kind, `${type}.${key}`, path + key);
      if (coerced !== member) changed = true;
      if (coerced !== undefined) setMember(result, key, coerced);
    }
    if (fields === ownerReferenceFields) {
      for (const key of ownerReferenceAlways) {
        if (Object.hasOwn(result, key)) continue;
        result[key] = "";
        changed = true;
      }
    }
    return changed ? result : value;
  }

  /** Undefined: the field is removed, being empty or (when dropping) malformed. */
  #field(value: JsonValue, kind: Kind, field: string, path: string): JsonValue | undefined {
    if (value === null) return undefined;
    const coerced =
      typeof kind === "string" ? scalarField(value, kind) : this.#list(value, kind, field, path);
    if (coerced !== malformed) return coerced;
    if (!this.#drop) this.error ??= unmarshalError(value, kind, field);
    return undefined;
  }

  #list(
    value: JsonValue,
    [fields]: Fields[],
    field: string,
    path: string,
  ): JsonValue | undefined | typeof malformed {
    if (!Array.isArray(value) || fields === undefined) return malformed;
    if (value.length === 0) return undefined;
    let changed = false;
    const items: JsonValue[] = [];
    for (const [i, item] of value.entries()) {
      if (!isJsonObject(item)) return malformed;
      const coerced = this.struct(item, fields, field, `${path}[${i}].`);
      if (coerced !== item) changed = true;
      items.push(coerced);
    }
    return changed ? items : value;
  }
}

const malformed = Symbol("malformed");

function scalarField(
  value: JsonValue,
  kind: Exclude<Kind, Fields[]>,
): JsonValue | undefined | typeof malformed {
  switch (kind) {
    case "string":
      if (typeof value !== "string") return malformed;
      return value === "" ? undefined : value;
    case "int64":
    case "optionalInt64":
      if (typeof value !== "bigint" && !Number.isSafeInteger(value)) return malformed;
      // Zero means absent, except for a field that can be absent otherwise.
      return value === 0 && kind === "int64" ? undefined : value;
    case "bool":
      return typeof value === "boolean" ? value : malformed;
    case "time":
      return typeof value === "string" ? wholeUtcSeconds(value) : malformed;
    case "strings":
      if (!Array.isArray(value) || !value.every((item) => typeof item === "string"))
        return malformed;
      return value.length === 0 ? undefined : value;
    case "stringMap":
      if (!isJsonObject(value)) return malformed;
      return stringMap(value);
    case "json":
      return value;
  }
}

function stringMap(value: JsonObject): JsonValue | undefined | typeof malformed {
  let empty = true;
  let hasNull = false;
  for (const key of Object.keys(value)) {
    empty = false;
    if (value[key] === null) hasNull = true;
    else if (typeof value[key] !== "string") return malformed;
  }
  if (empty) return undefined;
  if (!hasNull) return value;
  const result: { [key: string]: JsonValue } = {};
  for (const key of Object.keys(value)) setMember(result, key, value[key] ?? "");
  return result;
}

const timePattern = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:[.,]\d+)?(?:Z|[+-]\d{2}:\d{2})$/;

function wholeUtcSeconds(text: string): string | undefined | typeof malformed {
  if (text === "") return malformed;
  if (/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}Z$/.test(text) && !Number.isNaN(Date.parse(text)))
    return text === "0001-01-01T00:00:00Z" ? undefined : text;
  const milliseconds = timePattern.test(text) ? Date.parse(text.replace(",", ".")) : Number.NaN;
  if (Number.isNaN(milliseconds)) return malformed;
  const seconds = Math.floor(milliseconds / 1000) * 1000;
  return new Date(seconds).toISOString().replace(".000Z", "Z");
}

/** Go names the innermost value that does not match. */
function unmarshalError(value: JsonValue, kind: Kind, field: string): string {
  let type: string;
  let found: JsonValue = value;
  if (typeof kind !== "string") type = listTypes.get(field) ?? "[]struct";
  else {
    type = goTypes[kind];
    const isContainer = kind === "stringMap" ? isJsonObject(value) : Array.isArray(value);
    if ((kind === "stringMap" || kind === "strings") && isContainer) {
      type = "string";
      const items = Object.values(value as JsonObject);
      found = items.find((item) => typeof item !== "string" && item !== null) ?? value;
    }
  }
  return `json: cannot unmarshal ${goKind(found)} into Go struct field ${field} of type ${type}`;
}

function goKind(value: JsonValue): string {
  if (Array.isArray(value)) return "array";
  if (typeof value === "boolean") return "bool";
  if (typeof value === "bigint") return "number";
  return typeof value;
}
