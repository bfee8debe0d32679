/** What physical clusters serve, as APIResourceImports. */
export { ApiImporter, type ApiImporterOptions, importPollMsDefault } from "./api-importer.ts";
