/** Imports APIs from a cluster's discovery and OpenAPI. */
export { type ImportResult, importApis, nameOf, versionedName } from "./import-apis.ts";
export { definitionOf, type ImportedApi } from "./imported-api.ts";
