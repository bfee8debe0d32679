/** The OpenAPI v3 document of one group and version. */
import { type Resumable, runSync } from "@kcp-ts/machinery/base";
import { type JsonObject, type JsonValue, stringifyJson } from "@kcp-ts/machinery/json";
import { deleteOptions, status } from "@kcp-ts/machinery/shape";
import type { ResourceDefinition } from "../registry/index.ts";
import { Chunks } from "./chunks.ts";
import type { DocumentedKind } from "./documented-kinds.ts";
import { addKindSchemas, responseSchemaName, schemaName } from "./kind-schemas.ts";
import { type Operation, pathItemsOf } from "./operations.ts";
import { addSchemas, memberBytes, reference, type Schemas, schemaText } from "./schemas.ts";

/**
 * The document, in chunks. The paths and schemas of each definition are encoded before those of the
 * next are created: each definition may be large, and schemas in memory take many times their text.
 */
export function* documentV3(kinds: readonly DocumentedKind[]): Resumable<readonly Buffer[]> {
  const schemas = new EncodedSchemas();
  const paths = new Chunks();
  for (const kind of kinds) {
    const own: Schemas = {};
    yield* addKindSchemas(kind, own, "v3");
    yield* schemas.add(own);
    for (const [path, item] of pathsV3(kind.definition)) {
      if (paths.length > 0) paths.add(comma);
      paths.add(memberBytes(path, stringifyJson(item)));
    }
    yield;
  }
  const info = JSON.stringify({ title: "Kubernetes", version: "unversioned" });
  const document = new Chunks();
  document.text(`{"openapi":"3.0.0","info":${info},"paths":{`);
  document.addAll(paths);
  document.text('},"components":{"schemas":{');
  document.addAll(schemas.chunks);
  document.text("}}}");
  return document.finish();
}

const comma = Buffer.from(",");

/** Definitions share schemas: a schema that is encoded already is the same. */
class EncodedSchemas {
  readonly chunks = new Chunks();
  readonly #names = new Set<string>();

  constructor() {
    for (const [name, part] of common) this.#append(name, part);
  }

  *add(schemas: Schemas): Resumable<void> {
    for (const [name, schema] of Object.entries(schemas)) {
      if (this.#names.has(name)) continue;
      yield;
      this.#append(name, memberBytes(name, yield* schemaText(schema)));
    }
  }

  #append(name: string, part: Buffer): void {
    this.#names.add(name);
    if (this.chunks.length > 0) this.chunks.add(comma);
    this.chunks.add(part);
  }
}

/** The schemas that every document has. */
const common = commonParts();

function commonParts(): ReadonlyMap<string, Buffer> {
  const schemas: Schemas = {};
  for (const shape of [deleteOptions, status]) addSchemas(shape, schemas, "v3");
  const parts = new Map<string, Buffer>();
  for (const [name, schema] of Object.entries(schemas))
    parts.set(name, memberBytes(name, runSync(schemaText(schema))));
  return parts;
}

function* pathsV3(definition: ResourceDefinition): Generator<[path: string, item: JsonObject]> {
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
    yield [path, item];
  }
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
