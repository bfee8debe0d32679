/**
 * The OpenAPI v2 document of all APIs of a cluster in one encoding, concatenated from parts.
 *
 * Small kinds are encoded once, and shared by all documents with the kind: creating a document is
 * then a cheap concatenation.
 */
import { type Resumable, runSync } from "@kcp-ts/machinery/base";
import { type JsonObject, type JsonValue, stringifyJson } from "@kcp-ts/machinery/json";
import { deleteOptions, listMeta, objectMeta, status } from "@kcp-ts/machinery/shape";
import type { ResourceDefinition } from "../registry/index.ts";
import { Chunks } from "./chunks.ts";
import type { DocumentedKind } from "./documented-kinds.ts";
import { encodeDefinition, encodeDocument, encodePath } from "./gnostic.ts";
import { addKindSchemas, responseSchemaName, schemaName } from "./kind-schemas.ts";
import { type Operation, pathItemsOf } from "./operations.ts";
import {
  addSchemas,
  type EncodedSchema,
  memberBytes,
  reference,
  type Schemas,
  schemaText,
  schemaValue,
} from "./schemas.ts";

export type EncodingV2 = "json" | "protobuf";

/** The entries of `definitions` and `paths` of one kind. */
interface KindParts {
  readonly definitions: ReadonlyMap<string, Buffer>;
  readonly paths: ReadonlyMap<string, Buffer>;
  readonly bytes: number;
}

const known = {
  json: new WeakMap<ResourceDefinition, KindParts>(),
  protobuf: new WeakMap<ResourceDefinition, KindParts>(),
};
/** The parts of custom kinds, of one document, that stay in memory beside the document. */
const keptBytesMax = 1 << 20;

/** The document of all kinds, of which some may be large, in chunks. */
export function* documentOf(
  kinds: readonly DocumentedKind[],
  encoding: EncodingV2,
): Resumable<readonly Buffer[]> {
  const separator = encoding === "json" ? comma : undefined;
  const definitions = new Entries(separator);
  const paths = new Entries(separator);
  for (const [name, part] of shared[encoding]) definitions.add(name, part);
  let keptBytes = 0;
  for (const kind of kinds) {
    const parts = yield* partsOf(kind, encoding);
    for (const [name, part] of parts.definitions) definitions.add(name, part);
    for (const [path, part] of parts.paths) paths.add(path, part);
    const isCustom = kind.definition.openApi !== undefined;
    if (isCustom) keptBytes += parts.bytes;
    if (!kind.isOpaque && (!isCustom || keptBytes <= keptBytesMax))
      known[encoding].set(kind.definition, parts);
    yield;
  }
  const assemble = encoding === "json" ? assembleJson : encodeDocument;
  return assemble(info, paths.chunks, definitions.chunks);
}

/** Entries of an object: of two with one name, the first. */
class Entries {
  readonly chunks = new Chunks();
  readonly #names = new Set<string>();
  readonly #separator: Buffer | undefined;

  constructor(separator: Buffer | undefined) {
    this.#separator = separator;
  }

  add(name: string, part: Buffer): void {
    if (this.#names.has(name)) return;
    this.#names.add(name);
    if (this.#separator !== undefined && this.chunks.length > 0) this.chunks.add(this.#separator);
    this.chunks.add(part);
  }
}

const info = { title: "Kubernetes", version: "unversioned" };

function assembleJson(about: JsonObject, paths: Chunks, definitions: Chunks): readonly Buffer[] {
  const document = new Chunks();
  document.text(`{"swagger":"2.0","info":${JSON.stringify(about)},"paths":{`);
  document.addAll(paths);
  document.text('},"definitions":{');
  document.addAll(definitions);
  document.text("}}");
  return document.finish();
}

function* partsOf(kind: DocumentedKind, encoding: EncodingV2): Resumable<KindParts> {
  const { definition, isOpaque } = kind;
  const present = isOpaque ? undefined : known[encoding].get(definition);
  if (present !== undefined) return present;
  const schemas: Schemas = {};
  yield* addKindSchemas(kind, schemas, "v2");
  const definitions = new Map<string, Buffer>();
  let bytes = 0;
  for (const [name, schema] of Object.entries(schemas)) {
    if (shared[encoding].has(name)) continue;
    yield;
    const part = yield* definitionPart(name, schema, encoding);
    definitions.set(name, part);
    bytes += part.length;
  }
  yield;
  const paths = new Map<string, Buffer>();
  for (const [path, item] of pathsV2(definition)) {
    const part =
      encoding === "json" ? memberBytes(path, stringifyJson(item)) : encodePath(path, item);
    paths.set(path, part);
    bytes += part.length;
  }
  return { definitions, paths, bytes };
}

/** The schemas that every kind refers to. */
const shared = { json: sharedParts("json"), protobuf: sharedParts("protobuf") };

function sharedParts(encoding: EncodingV2): ReadonlyMap<string, Buffer> {
  const parts = new Map<string, Buffer>();
  for (const [name, schema] of Object.entries(sharedSchemas()))
    parts.set(name, runSync(definitionPart(name, schema, encoding)));
  return parts;
}

function sharedSchemas(): Schemas {
  const schemas: Schemas = {};
  for (const shape of [objectMeta, listMeta, deleteOptions, status])
    addSchemas(shape, schemas, "v2");
  return schemas;
}

function* definitionPart(
  name: string,
  schema: JsonObject | EncodedSchema,
  encoding: EncodingV2,
): Resumable<Buffer> {
  return encoding === "json"
    ? memberBytes(name, yield* schemaText(schema))
    : encodeDefinition(name, yield* schemaValue(schema));
}

const comma = Buffer.from(",");

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
      200: { description: "OK", schema: reference(responseSchemaName(definition, response), "v2") },
    },
    "x-kubernetes-action": action,
    "x-kubernetes-group-version-kind": { group, kind, version },
  };
}
