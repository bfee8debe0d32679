/** The OpenAPI v3 document of one group and version. */
import type { Resumable } from "@kcp-ts/machinery/base";
import { type JsonObject, type JsonValue, stringifyJson } from "@kcp-ts/machinery/json";
import { deleteOptions, status } from "@kcp-ts/machinery/shape";
import type { ResourceDefinition } from "../registry/index.ts";
import { addKindSchemas, responseSchemaName, schemaName } from "./kind-schemas.ts";
import { type Operation, pathItemsOf } from "./operations.ts";
import { addSchemas, reference, type Schemas } from "./schemas.ts";

/** The document as text, which is encoded schema by schema: any of them may be large. */
export function* documentV3(definitions: readonly ResourceDefinition[]): Resumable<Buffer> {
  const schemas: Schemas = {};
  const paths: { [path: string]: JsonValue } = {};
  addSchemas(deleteOptions, schemas, "v3");
  addSchemas(status, schemas, "v3");
  for (const definition of definitions) {
    yield* addKindSchemas(definition, schemas, "v3");
    Object.assign(paths, pathsV3(definition));
    yield;
  }
  const info = { title: "Kubernetes", version: "unversioned" };
  const head = stringifyJson({ openapi: "3.0.0", info, paths });
  const parts = [Buffer.from(`${head.slice(0, -1)},"components":{"schemas":{`)];
  for (const name of Object.keys(schemas)) {
    yield;
    const comma = parts.length === 1 ? "" : ",";
    const schema = stringifyJson(schemas[name] as JsonValue);
    parts.push(Buffer.from(`${comma}${JSON.stringify(name)}:${schema}`));
  }
  parts.push(Buffer.from("}}}"));
  return Buffer.concat(parts);
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
