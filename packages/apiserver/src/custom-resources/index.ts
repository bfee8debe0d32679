/** Custom resources: a CustomResourceDefinition becomes a resource at run time. */
export type { Conversion } from "./conversion.ts";
export { CustomDefinition } from "./custom-definition.ts";
export { CustomResources } from "./custom-resources.ts";
export { declareSchema } from "./declared-schema.ts";
export { checkDefinitionSize } from "./definition-size.ts";
export { customResourceDefinitions } from "./definitions.ts";
export { compileExportedDefinition, exportedDefinitionErrors } from "./exported-definition.ts";
export { instancesPrefix } from "./instances.ts";
export type { SharedDefinition } from "./shared-definition.ts";
export type { SharedVersion } from "./shared-version.ts";
export { systemDefinition } from "./system-definition.ts";
