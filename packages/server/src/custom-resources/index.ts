/** Custom resources: a definition becomes a registry at run time. */
export { CustomResources, type CustomResourcesOptions } from "./custom-resources.ts";
export { declareSchema } from "./declared-schema.ts";
export { customResourceDefinitions } from "./definitions.ts";
export { type SystemKind, systemDefinition } from "./system-definition.ts";
