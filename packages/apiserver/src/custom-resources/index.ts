/** Custom resources: a definition becomes a registry at run time. */
export type { Conversion } from "./conversion.ts";
export { CustomVersionCodec } from "./custom-form.ts";
export { CustomResources, type CustomResourcesOptions } from "./custom-resources.ts";
export { declareSchema } from "./declared-schema.ts";
export { customResourceDefinitions } from "./definitions.ts";
export { compileExportedDefinition, exportedDefinitionErrors } from "./offered-definition.ts";
export type { SharedDefinition } from "./shared-definition.ts";
export type { SharedVersion } from "./shared-version.ts";
export { type SystemKind, systemDefinition } from "./system-definition.ts";
