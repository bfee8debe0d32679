/** The schemas of a served kind: the object, its list, and the schemas that both refer to. */
import type { Resumable } from "@kcp-ts/machinery/base";
import type { JsonObject } from "@kcp-ts/machinery/json";
import { listMeta, objectMeta, status } from "@kcp-ts/machinery/shape";
import type { ResourceDefinition } from "../registry/index.ts";
import type { DocumentedKind } from "./documented-kinds.ts";
import type { Operation } from "./operations.ts";
import {
  addSchemas,
  type Dialect,
  EncodedSchema,
  referringProperty,
  type Schemas,
} from "./schemas.ts";

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
  documented: DocumentedKind,
  schemas: Schemas,
  dialect: Dialect,
): Resumable<void> {
  const { definition } = documented;
  const { group, version, kind, listKind } = definition;
  const name = schemaName(definition);
  const types = { "x-kubernetes-group-version-kind": [{ group, kind, version }] };
  if (documented.isOpaque) schemas[name] = { ...opaqueSchemas[dialect], ...types };
  else if (definition.openApi !== undefined) {
    schemas[name] = new EncodedSchema(documented.text ?? (yield* definition.openApi(dialect)));
    addSchemas(objectMeta, schemas, dialect);
  } else {
    const { shape } = definition.strategy;
    addSchemas(shape, schemas, dialect);
    const object = schemas[shape.name] as JsonObject;
    const properties = object["properties"] as JsonObject | undefined;
    schemas[name] = { ...object, properties: { ...typeProperties, ...properties }, ...types };
  }
  yield;
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

const typeProperties: JsonObject = {
  apiVersion: { description: "The group and version of this representation.", type: "string" },
  kind: { description: "The kind of this object.", type: "string" },
};

/** An object of any fields. In v2 a kind without properties is one. */
const opaqueSchemas: Readonly<Record<Dialect, JsonObject>> = {
  v2: { type: "object" },
  v3: { type: "object", "x-kubernetes-preserve-unknown-fields": true },
};
