export { type ImportOptions, type ImportResult, importApis, nameOf } from "./import-apis.ts";
export { definitionOf, type ImportedApi } from "./imported-api.ts";
export { UnusableModelError } from "./structural-schema.ts";
