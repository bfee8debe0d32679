/** The OpenAPI v3 document of one group and version. */
import type { Resumable } from "@kcp-ts/machinery/base";
import { type JsonObject, type JsonValue, stringifyJson } from "@kcp-ts/machinery/json";
import { deleteOptions, status } from "@kcp-ts/machinery/shape";
import type { ResourceDefinition } from "../registry/index.ts";
import type { DocumentedKind } from "./documented-kinds.ts";
import { addKindSchemas, responseSchemaName, schemaName } from "./kind-schemas.ts";
import { type Operation, pathItemsOf } from "./operations.ts";
import { addSchemas, memberBytes, reference, type Schemas, schemaText } from "./schemas.ts";

/**
 * The document as text. The schemas of each definition are encoded before those of the next are
 * created: each definition may be large, and schemas in memory take many times their text.
 */
export function* documentV3(kinds: readonly DocumentedKind[]): Resumable<Buffer> {
  const encoded = new Map<string, Buffer>();
  const paths: { [path: string]: JsonValue } = {};
  const common: Schemas = {};
  addSchemas(deleteOptions, common, "v3");
  addSchemas(status, common, "v3");
  yield* encodeSchemas(common, encoded);
  for (const kind of kinds) {
    const schemas: Schemas = {};
    yield* addKindSchemas(kind, schemas, "v3");
    yield* encodeSchemas(schemas, encoded);
    Object.assign(paths, pathsV3(kind.definition));
    yield;
  }
  const info = { title: "Kubernetes", version: "unversioned" };
  const head = stringifyJson({ openapi: "3.0.0", info, paths });
  const parts: Buffer[] = [Buffer.from(`${head.slice(0, -1)},"components":{"schemas":{`)];
  for (const schema of encoded.values()) {
    if (parts.length > 1) parts.push(comma);
    parts.push(schema);
  }
  parts.push(Buffer.from("}}}"));
  return Buffer.concat(parts);
}

const comma = Buffer.from(",");

/** Definitions share schemas: a schema that is encoded already is the same. */
function* encodeSchemas(schemas: Schemas, encoded: Map<string, Buffer>): Resumable<void> {
  for (const [name, schema] of Object.entries(schemas)) {
    if (encoded.has(name)) continue;
    yield;
    encoded.set(name, memberBytes(name, yield* schemaText(schema)));
  }
}

function pathsV3(definition: ResourceDefinition): JsonObject {
  const paths: { [path: string]: JsonValue } = {};
  for (const { path, parameters, operations } of pathItemsOf(definition)) {
    const item: { [method: string]: JsonValue } = {
      parameters: parameters.map((name) => ({
        name,
        in: "path",
        required: true,
        schema: { type: "string", uniqueItems: true },
      })),
    };
    for (const operation of operations) item[operation.method] = operationV3(definition, operation);
    paths[path] = item;
  }
  return paths;
}

const answerTypes = ["application/json", "application/yaml"];
const watchType = "application/json;stream=watch";

function operationV3(definition: ResourceDefinition, operation: Operation): JsonObject {
  const { group, version, kind } = definition;
  const { id, action, description, query, bodyTypes, response } = operation;
  const content = (name: string, types: readonly string[]): JsonObject =>
    Object.fromEntries(types.map((type) => [type, { schema: reference(name, "v3") }]));
  const answered = responseSchemaName(definition, response);
  return {
    tags: [`${group === "" ? "core" : group}_${version}`],
    description,
    operationId: id,
    "x-kubernetes-action": action,
    "x-kubernetes-group-version-kind": { group, kind, version },
    parameters: query.map(({ name, type, description: text }) => ({
      name,
      in: "query",
      description: text,
      schema: { type, uniqueItems: true },
    })),
    ...(bodyTypes.length === 0
      ? {}
      : { requestBody: { required: true, content: content(schemaName(definition), bodyTypes) } }),
    responses: {
      200: {
        description: "OK",
        content: content(answered, response === "list" ? [...answerTypes, watchType] : answerTypes),
      },
    },
  };
}
