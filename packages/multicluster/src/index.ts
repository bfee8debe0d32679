export {
  definitionOf,
  type ImportedApi,
  type ImportOptions,
  type ImportResult,
  importApis,
} from "./api-import/index.ts";
