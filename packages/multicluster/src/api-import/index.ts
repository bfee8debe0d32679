/** Imports APIs from a cluster's discovery and OpenAPI. */
export {
  type ImportOptions,
  type ImportResult,
  importApis,
  importedApisMax,
  nameOf,
  versionedName,
} from "./import-apis.ts";
export { definitionOf, type ImportedApi, protectedGroup } from "./imported-api.ts";
export { UnusableModelError } from "./structural-schema.ts";
