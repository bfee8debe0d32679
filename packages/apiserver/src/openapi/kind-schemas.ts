/** The schemas of a served kind: the object, its list, and the schemas that both refer to. */
import type { Resumable } from "@kcp-ts/machinery/base";
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { listMeta, objectMeta, status } from "@kcp-ts/machinery/shape";
import type { ResourceDefinition } from "../registry/index.ts";
import type { Operation } from "./operations.ts";
import { addSchemas, type Dialect, referringProperty, type Schemas } from "./schemas.ts";

/**
 * `com.example.stable.v1.CronTab`: the reversed group, the version, the kind. Built-in kinds have
 * names of their own.
 */
export function schemaName(definition: ResourceDefinition): string {
  const { group, version, kind, openApi, strategy } = definition;
  if (openApi === undefined) return strategy.shape.name;
  const domain = group === "" ? "io.k8s.api.core" : group.split(".").reverse().join(".");
  return `${domain}.${version}.${kind}`;
}

function listSchemaName(definition: ResourceDefinition): string {
  const name = schemaName(definition);
  return `${name.slice(0, name.length - definition.kind.length)}${definition.listKind}`;
}

/** The schema of an operation's response. */
export function responseSchemaName(
  definition: ResourceDefinition,
  answer: Operation["response"],
): string {
  if (answer === "status") return status.name;
  return answer === "list" ? listSchemaName(definition) : schemaName(definition);
}

export function* addKindSchemas(
  definition: ResourceDefinition,
  schemas: Schemas,
  dialect: Dialect,
): Resumable<void> {
  const { group, version, kind, listKind } = definition;
  const name = schemaName(definition);
  const object = yield* objectSchema(definition, schemas, dialect);
  schemas[name] = {
    ...object,
    properties: { ...typeProperties, ...(object["properties"] as JsonObject | undefined) },
    "x-kubernetes-group-version-kind": [{ group, kind, version }],
  };
  if (!definition.verbs.includes("list")) return;
  addSchemas(listMeta, schemas, dialect);
  schemas[listSchemaName(definition)] = {
    description: `A list of ${kind} objects.`,
    type: "object",
    required: ["items"],
    properties: {
      ...typeProperties,
      items: {
        description: "The objects.",
        type: "array",
        items: referringProperty(name, "", dialect),
      },
      metadata: referringProperty(listMeta.name, "Standard list metadata.", dialect),
    },
    "x-kubernetes-group-version-kind": [{ group, kind: listKind, version }],
  };
}

/**
 * From the shape, or from the definition's own schema; then metadata is added, which custom kinds
 * omit.
 */
function* objectSchema(
  definition: ResourceDefinition,
  schemas: Schemas,
  dialect: Dialect,
): Resumable<JsonObject> {
  const { openApi, strategy } = definition;
  if (openApi === undefined) {
    addSchemas(strategy.shape, schemas, dialect);
    return schemas[strategy.shape.name] as JsonObject;
  }
  const schema = yield* openApi(dialect);
  yield;
  addSchemas(objectMeta, schemas, dialect);
  const properties: { [name: string]: JsonValue } = {
    ...(isJsonObject(schema["properties"]) ? schema["properties"] : {}),
    metadata: referringProperty(objectMeta.name, "Standard object's metadata.", dialect),
  };
  return { type: "object", ...schema, properties };
}

const typeProperties: JsonObject = {
  apiVersion: { description: "The group and version of this representation.", type: "string" },
  kind: { description: "The kind of this object.", type: "string" },
};
