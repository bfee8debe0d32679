/** Writes the APIs of physical clusters as APIResourceImports. */
export { ApiImporter } from "./api-importer.ts";
export { importName, importOwner } from "./import-object.ts";
