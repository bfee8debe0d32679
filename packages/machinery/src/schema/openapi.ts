/**
 * The OpenAPI definitions of a kind of a CRD version: its component (v3), its reduced definition
 * (v2), and those of its list.
 *
 * Names and references only; the documents with paths and operations are built elsewhere.
 */
import { type Resumable, runSync } from "../base/index.ts";
import { type JsonObject, type JsonValue, setMember } from "../json/index.ts";
import { emptySchema } from "./empty-schema.ts";
import { degradeForV2 } from "./openapi-v2.ts";
import { isSchema, type SchemaProps } from "./schema-props.ts";
import { schemaToJson } from "./schema-to-json.ts";

export interface PublishedKind {
  readonly group: string;
  readonly version: string;
  readonly kind: string;
  readonly listKind: string;
  readonly plural: string;
  /** JSONPaths such as `.spec.color`. */
  readonly selectableFields: readonly string[];
}

export interface Publication {
  /** For example `com.example.stable.v1.CronTab`. */
  readonly name: string;
  readonly schema: JsonObject;
  readonly listName: string;
  readonly listSchema: JsonObject;
}

/** The v3 components; `schema` undefined means that the kind has no schema. */
export function publishV3(schema: SchemaProps | undefined, kind: PublishedKind): Publication {
  return runSync(publishResumable(schema, kind, "v3"));
}

/** The v2 definitions: what OpenAPI v2 and kubectl's parser support. */
export function publishV2(schema: SchemaProps | undefined, kind: PublishedKind): Publication {
  return runSync(publishResumable(schema, kind, "v2"));
}

/** The v2 or v3 definitions, yielding between the walks over the schema. */
export function* publishResumable(
  schema: SchemaProps | undefined,
  kind: PublishedKind,
  dialect: OpenApiDialect,
): Resumable<Publication> {
  const said = schema === undefined ? undefined : inDialect(schema, dialect);
  yield;
  return yield* publish(said, kind, dialect);
}

/** A schema below the root, as JSON. */
export function publishSchema(schema: SchemaProps, dialect: OpenApiDialect): Json {
  const json = { ...schemaToJson(dialect === "v3" ? unfold(schema) : degradeForV2(schema)) };
  addToEmbedded(json, dialect);
  return json;
}

function inDialect(schema: SchemaProps, dialect: OpenApiDialect): SchemaProps | undefined {
  if (dialect === "v3") return unfold(schema);
  // A kind that preserves unknown fields is published without properties: kubectl would reject all
  // others.
  return schema.preserveUnknownFields === true ? undefined : degradeForV2(schema);
}

/** The name under which a kind is published: the group's parts reversed, version, kind. */
export function openApiName(group: string, version: string, kind: string): string {
  return `${group.split(".").reverse().join(".")}.${version}.${kind}`;
}

export type OpenApiDialect = "v2" | "v3";
type Json = { [key: string]: JsonValue };

const meta = "io.k8s.apimachinery.pkg.apis.meta.v1";
const conventions =
  "https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md";
const apiVersionText = `APIVersion defines the versioned schema of this representation of an object. Servers should convert recognized schemas to the latest internal value, and may reject unrecognized values. More info: ${conventions}#resources`;
const kindText = `Kind is a string value representing the REST resource this object represents. Servers may infer this from the endpoint the client submits requests to. Cannot be updated. In CamelCase. More info: ${conventions}#types-kinds`;
const metadataText = `Standard object's metadata. More info: ${conventions}#metadata`;
const listMetadataText = `Standard list metadata. More info: ${conventions}#types-kinds`;

function* publish(
  schema: SchemaProps | undefined,
  kind: PublishedKind,
  dialect: OpenApiDialect,
): Resumable<Publication> {
  const name = openApiName(kind.group, kind.version, kind.kind);
  const root: Json = schema === undefined ? { type: "object" } : { ...schemaToJson(schema) };
  yield;
  if (schema !== undefined) {
    addToEmbedded(root, dialect);
    root["properties"] = {
      ...(root["properties"] as JsonObject | undefined),
      ...rootProperties[dialect],
    };
  }
  addExtensions(root, kind, kind.kind);
  const list: Json = {
    description: `${kind.listKind} is a list of ${kind.kind}`,
    type: "object",
    required: ["items"],
    properties: {
      ...resourceProperties("ListMeta", listMetadataText, dialect),
      items: {
        description: `List of ${kind.plural}. More info: ${conventions}`,
        type: "array",
        items: { $ref: prefix(dialect) + name },
      },
    },
  };
  addExtensions(list, kind, kind.listKind);
  const listName = openApiName(kind.group, kind.version, kind.listKind);
  return { name, schema: root, listName, listSchema: list };
}

function prefix(dialect: OpenApiDialect): string {
  return dialect === "v2" ? "#/definitions/" : "#/components/schemas/";
}

/** In v3 a reference may not have siblings, so it is wrapped. */
function reference(type: string, description: string, dialect: OpenApiDialect): JsonObject {
  const $ref = `${prefix(dialect)}${meta}.${type}`;
  return dialect === "v2" ? { description, $ref } : { description, allOf: [{ $ref }] };
}

function resourceProperties(
  metaType: string,
  metaDescription: string,
  dialect: OpenApiDialect,
): Json {
  return {
    apiVersion: { description: apiVersionText, type: "string" },
    kind: { description: kindText, type: "string" },
    metadata: reference(metaType, metaDescription, dialect),
  };
}

export function addExtensions(
  json: Json,
  { group, version, selectableFields }: PublishedKind,
  kind: string,
): void {
  json["x-kubernetes-group-version-kind"] = [{ group, kind, version }];
  if (selectableFields.length > 0) {
    json["x-kubernetes-selectable-fields"] = selectableFields.map((path) => ({
      fieldPath: path.replace(/^\./, ""),
    }));
  }
}

/** The properties that every kind has. */
export const rootProperties = {
  v2: resourceProperties("ObjectMeta", metadataText, "v2"),
  v3: resourceProperties("ObjectMeta", metadataText, "v3"),
};

/** Shared by all embedded resources: a definition has thousands. */
export const embeddedProperties = {
  v2: propertiesOfEmbedded("v2"),
  v3: propertiesOfEmbedded("v3"),
};

function propertiesOfEmbedded(dialect: OpenApiDialect): JsonObject {
  return {
    ...resourceProperties("ObjectMeta", metadataText, dialect),
    apiVersion: {
      description: `apiVersion defines the versioned schema of this representation of an object. More info: ${conventions}#resources`,
      type: "string",
    },
    kind: {
      description: `kind is a string value representing the type of this object. In CamelCase. More info: ${conventions}#types-kinds`,
      type: "string",
    },
  };
}

/** Embedded resources get their three fields, too, at any depth. */
function addToEmbedded(json: Json, dialect: OpenApiDialect): void {
  const properties = json["properties"] as Json | undefined;
  if (properties !== undefined) {
    for (const name of Object.keys(properties)) addToEmbedded(properties[name] as Json, dialect);
  }
  if (json["items"] !== undefined) addToEmbedded(json["items"] as Json, dialect);
  const additional = json["additionalProperties"];
  if (typeof additional === "object") addToEmbedded(additional as Json, dialect);
  if (dialect === "v2" && json["x-kubernetes-preserve-unknown-fields"] === true) return;
  if (json["x-kubernetes-embedded-resource"] !== true) return;
  const added = embeddedProperties[dialect];
  const merged: Json = { ...properties };
  for (const key of Object.keys(added)) setMember(merged, key, added[key] as JsonValue);
  json["properties"] = merged;
  const required = (json["required"] as readonly string[] | undefined) ?? [];
  json["required"] = [
    ...required,
    ...["kind", "apiVersion"].filter((name) => !required.includes(name)),
  ];
}

/** Writes out the meaning of int-or-string, for clients that do not know the extension. */
function unfold(schema: SchemaProps): SchemaProps {
  const unfolded = withSubSchemas(schema, unfold);
  if (!schema.intOrString) return unfolded;
  const [first] = schema.allOf;
  if (isAlternatives(schema.anyOf) || (first !== undefined && isAlternatives(first.anyOf)))
    return unfolded;
  return schema.anyOf.length === 0
    ? { ...unfolded, anyOf: intOrString.anyOf }
    : { ...unfolded, allOf: [intOrString, ...schema.allOf] };
}

/** Shared by all such schemas: a definition has thousands. */
const intOrString: SchemaProps = {
  ...emptySchema(),
  anyOf: [
    { ...emptySchema(), type: "integer" },
    { ...emptySchema(), type: "string" },
  ],
};

/** The schema with replaced sub-schemas; itself when all of them stay: a definition has many. */
function withSubSchemas(
  schema: SchemaProps,
  replace: (subSchema: SchemaProps) => SchemaProps,
): SchemaProps {
  let properties = schema.properties;
  for (const [name, property] of schema.properties ?? []) {
    const replaced = replace(property);
    if (replaced === property) continue;
    if (properties === schema.properties) properties = new Map(schema.properties);
    (properties as Map<string, SchemaProps>).set(name, replaced);
  }
  const items = isSchema(schema.items) ? replace(schema.items) : schema.items;
  const additionalProperties = isSchema(schema.additionalProperties)
    ? replace(schema.additionalProperties)
    : schema.additionalProperties;
  const isSame =
    properties === schema.properties &&
    items === schema.items &&
    additionalProperties === schema.additionalProperties;
  return isSame ? schema : { ...schema, properties, items, additionalProperties };
}

function isAlternatives(branches: readonly SchemaProps[]): boolean {
  return branches.length === 2 && branches[0]?.type === "integer" && branches[1]?.type === "string";
}
