/** The OpenAPI v3 document of one group and version. */
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { deleteOptions, listMeta, objectMeta } from "@kcp-ts/machinery/shape";
import { apiVersionOf, type ResourceDefinition } from "../registry/index.ts";
import { patchMediaTypes } from "../request/media-types.ts";
import { addSchemas, reference } from "./schemas.ts";

export function openApiDocument(definitions: readonly ResourceDefinition[]): JsonObject {
  const schemas: { [name: string]: JsonValue } = {};
  const paths: { [path: string]: JsonValue } = {};
  addSchemas(deleteOptions, schemas);
  for (const definition of definitions) {
    addKind(definition, schemas);
    Object.assign(paths, pathsOf(definition));
  }
  return {
    openapi: "3.0.0",
    info: { title: "Kubernetes", version: "unversioned" },
    paths,
    components: { schemas },
  };
}

function addKind(definition: ResourceDefinition, schemas: { [name: string]: JsonValue }): void {
  const { shape, openApi } = definition.strategy;
  if (openApi !== undefined) {
    const { name, schema, listName, listSchema } = openApi.v3();
    addSchemas(objectMeta, schemas);
    addSchemas(listMeta, schemas);
    schemas[name] = schema;
    schemas[listName] = listSchema;
    return;
  }
  addSchemas(shape, schemas);
  const schema = schemas[shape.name] as { [key: string]: JsonValue };
  schema["properties"] = {
    apiVersion: { type: "string", description: "The group and version of this representation." },
    kind: { type: "string", description: "The kind of this object." },
    ...(schema["properties"] as JsonObject),
  };
  schema["x-kubernetes-group-version-kind"] = [kindOf(definition)];
}

function kindOf({ group, version, kind }: ResourceDefinition): JsonObject {
  return { group, kind, version };
}

function pathsOf(definition: ResourceDefinition): { [path: string]: JsonValue } {
  const { group, isNamespaced, resource, subresources } = definition;
  const root = group === "" ? "/api" : "/apis";
  const base = `${root}/${apiVersionOf(definition)}`;
  const collection = isNamespaced
    ? `${base}/namespaces/{namespace}/${resource}`
    : `${base}/${resource}`;
  const parameters = [...(isNamespaced ? [pathParameter("namespace")] : [])];
  const named = [...parameters, pathParameter("name")];
  const paths: { [path: string]: JsonValue } = {
    [collection]: { ...collectionOperations(definition), parameters },
    [`${collection}/{name}`]: {
      ...objectOperations(definition, definition.verbs),
      parameters: named,
    },
  };
  if (isNamespaced) paths[`${base}/${resource}`] = { get: operation(definition, "list", []) };
  for (const [name, subresource] of subresources) {
    paths[`${collection}/{name}/${name}`] = {
      ...objectOperations(definition, subresource.verbs),
      parameters: named,
    };
  }
  return paths;
}

function collectionOperations(definition: ResourceDefinition): JsonObject {
  const operations: { [method: string]: JsonValue } = {
    get: operation(definition, "list", []),
    post: operation(definition, "post", mutation, bodyOf(definition, ["*/*"])),
  };
  if (definition.verbs.includes("deletecollection")) {
    operations["delete"] = operation(definition, "deletecollection", [query("dryRun")]);
  }
  return operations;
}

const methods = [
  ["get", "get"],
  ["put", "update"],
  ["patch", "patch"],
  ["delete", "delete"],
] as const;

function objectOperations(definition: ResourceDefinition, verbs: readonly string[]): JsonObject {
  const operations: { [method: string]: JsonValue } = {};
  for (const [method, verb] of methods) {
    if (!verbs.includes(verb)) continue;
    switch (method) {
      case "get":
        operations[method] = operation(definition, "get", []);
        break;
      case "put":
        operations[method] = operation(definition, "put", mutation, bodyOf(definition, ["*/*"]));
        break;
      case "patch":
        operations[method] = operation(
          definition,
          "patch",
          [...mutation, query("force", "boolean")],
          bodyOf(definition, patchTypesOf(definition)),
        );
        break;
      case "delete":
        operations[method] = operation(definition, "delete", [query("dryRun")]);
        break;
    }
  }
  return operations;
}

function operation(
  definition: ResourceDefinition,
  action: string,
  parameters: readonly JsonObject[],
  requestBody?: JsonObject,
): JsonObject {
  return {
    tags: [definition.group === "" ? "core_v1" : definition.group],
    "x-kubernetes-action": action,
    "x-kubernetes-group-version-kind": kindOf(definition),
    parameters,
    ...(requestBody === undefined ? {} : { requestBody }),
    responses: {
      200: {
        description: "OK",
        content: schemaContent(definition, ["application/json", "application/yaml"]),
      },
    },
  };
}

function patchTypesOf({ strategy }: ResourceDefinition): readonly string[] {
  return strategy.patchRules === "none"
    ? patchMediaTypes.filter((type) => type !== "application/strategic-merge-patch+json")
    : patchMediaTypes;
}

function bodyOf(definition: ResourceDefinition, mediaTypes: readonly string[]): JsonObject {
  return { required: true, content: schemaContent(definition, mediaTypes) };
}

function schemaContent(
  { strategy }: ResourceDefinition,
  mediaTypes: readonly string[],
): JsonObject {
  return Object.fromEntries(
    mediaTypes.map((type) => [type, { schema: { $ref: reference(strategy.shape) } }]),
  );
}

function pathParameter(name: string): JsonObject {
  return { name, in: "path", required: true, schema: { type: "string", uniqueItems: true } };
}

function query(name: string, type = "string"): JsonObject {
  return { name, in: "query", schema: { type, uniqueItems: true } };
}

/** kubectl looks for these on PATCH before it dares to ask for server-side validation or a dry run. */
const mutation = [query("dryRun"), query("fieldManager"), query("fieldValidation")];
