/**
 * The OpenAPI v2 document of all APIs of a cluster, concatenated from parts.
 *
 * Each kind's definitions and paths are encoded once, as JSON and as protobuf, and shared by all
 * documents with the kind: creating a document is then a cheap concatenation.
 */
import { type Resumable, runSync } from "@kcp-ts/machinery/base";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { deleteOptions, listMeta, objectMeta, status } from "@kcp-ts/machinery/shape";
import { toBytes } from "../content/index.ts";
import type { ResourceDefinition } from "../registry/index.ts";
import { encodeDefinition, encodeDocument, encodePath } from "./gnostic.ts";
import { addKindSchemas, responseSchemaName, schemaName } from "./kind-schemas.ts";
import { type Operation, pathItemsOf } from "./operations.ts";
import { addSchemas, reference, type Schemas } from "./schemas.ts";

export interface DocumentV2 {
  readonly json: Buffer;
  readonly protobuf: Buffer;
}

/** One entry of `definitions` or `paths`, in both encodings. */
interface Part {
  readonly json: Buffer;
  readonly protobuf: Buffer;
}

interface KindParts {
  readonly definitions: ReadonlyMap<string, Part>;
  readonly paths: ReadonlyMap<string, Part>;
}

const known = new WeakMap<ResourceDefinition, KindParts>();

/** The document of all definitions, of which some may be large. */
export function* documentOf(definitions: readonly ResourceDefinition[]): Resumable<DocumentV2> {
  const kinds: KindParts[] = [];
  for (const definition of definitions) {
    kinds.push(known.get(definition) ?? (yield* partsOf(definition)));
    yield;
  }
  return yield* assemble(kinds);
}

function* partsOf(definition: ResourceDefinition): Resumable<KindParts> {
  const schemas: Schemas = {};
  yield* addKindSchemas(definition, schemas, "v2");
  const own = new Map<string, Part>();
  for (const [name, schema] of Object.entries(schemas)) {
    if (shared.has(name)) continue;
    yield;
    own.set(name, yield* partOf(name, schema));
  }
  yield;
  const paths = pathsV2(definition).map(([path, item]): [string, Part] => [
    path,
    { json: member(path, item), protobuf: encodePath(path, item) },
  ]);
  const parts = { definitions: own, paths: new Map(paths) };
  known.set(definition, parts);
  return parts;
}

/** The schemas that every kind refers to. */
const shared: ReadonlyMap<string, Part> = new Map(
  Object.entries(sharedSchemas()).map(([name, schema]) => [name, runSync(partOf(name, schema))]),
);

function sharedSchemas(): Schemas {
  const schemas: Schemas = {};
  for (const shape of [objectMeta, listMeta, deleteOptions, status])
    addSchemas(shape, schemas, "v2");
  return schemas;
}

function* assemble(kinds: readonly KindParts[]): Resumable<DocumentV2> {
  const definitions = new Map(shared);
  const paths = new Map<string, Part>();
  for (const kind of kinds) {
    for (const [name, part] of kind.definitions)
      if (!definitions.has(name)) definitions.set(name, part);
    for (const [path, part] of kind.paths) paths.set(path, part);
  }
  const info = { title: "Kubernetes", version: "unversioned" };
  const head = `{"swagger":"2.0","info":${JSON.stringify(info)},"paths":{`;
  const json = Buffer.concat([
    Buffer.from(head),
    ...joined(paths.values()),
    Buffer.from('},"definitions":{'),
    ...joined(definitions.values()),
    Buffer.from("}}"),
  ]);
  yield;
  const protobuf = encodeDocument(
    info,
    [...paths.values()].map((part) => part.protobuf),
    [...definitions.values()].map((part) => part.protobuf),
  );
  return { json, protobuf };
}

function* partOf(name: string, schema: JsonValue): Resumable<Part> {
  const protobuf = encodeDefinition(name, schema as JsonObject);
  yield;
  return { json: member(name, schema), protobuf };
}

function member(name: string, value: JsonValue): Buffer {
  return Buffer.concat([Buffer.from(`${JSON.stringify(name)}:`), toBytes(value)]);
}

const comma = Buffer.from(",");

function* joined(parts: Iterable<Part>): Generator<Buffer> {
  let isFirst = true;
  for (const { json } of parts) {
    if (!isFirst) yield comma;
    isFirst = false;
    yield json;
  }
}

function pathsV2(definition: ResourceDefinition): [path: string, item: JsonObject][] {
  return pathItemsOf(definition).map(({ path, parameters, operations }) => {
    const item: { [method: string]: JsonValue } = {
      parameters: parameters.map((name) => ({
        name,
        in: "path",
        required: true,
        type: "string",
        uniqueItems: true,
      })),
    };
    for (const operation of operations) item[operation.method] = operationV2(definition, operation);
    return [path, item];
  });
}

function operationV2(definition: ResourceDefinition, operation: Operation): JsonObject {
  const { group, version, kind } = definition;
  const { id, action, description, query, bodyTypes, response } = operation;
  const body = {
    name: "body",
    in: "body",
    required: true,
    schema: reference(schemaName(definition), "v2"),
  };
  return {
    tags: [`${group === "" ? "core" : group}_${version}`],
    description,
    operationId: id,
    consumes: bodyTypes.length === 0 ? ["*/*"] : bodyTypes,
    produces: ["application/json", "application/yaml"],
    parameters: [
      ...(bodyTypes.length === 0 ? [] : [body]),
      ...query.map(({ name, type, description: text }) => ({
        name,
        in: "query",
        type,
        description: text,
        uniqueItems: true,
      })),
    ],
    responses: {
      200: {
        description: "OK",
        schema: reference(responseSchemaName(definition, response), "v2"),
      },
    },
    "x-kubernetes-action": action,
    "x-kubernetes-group-version-kind": { group, kind, version },
  };
}
