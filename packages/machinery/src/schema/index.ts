/**
 * Structural schemas: validation of tenants' schemas and CRDs, and shaping and validation of
 * objects by them.
 */
export { canonicalJson } from "./canonical.ts";
export { type CoercedMeta, coerceObjectMeta } from "./coerce-meta.ts";
export {
  CompiledSchema,
  type CompileOptions,
  compileSchema,
  compileSchemaProps,
  compileSchemaResumable,
  type ValidateOptions,
} from "./compile-schema.ts";
export type {
  CrdConversion,
  CrdNames,
  CrdSpec,
  CrdStatus,
  CrdSubresources,
  CrdVersion,
  CustomResourceDefinition,
  PrinterColumn,
  ScalePaths,
  WebhookClientConfig,
  WebhookService,
} from "./crd.ts";
export { isCaBundle } from "./crd-conversion.ts";
export { approvalAnnotation, crdName } from "./crd-names.ts";
export {
  type CrdValidationOptions,
  validateCustomResourceDefinition,
  validateCustomResourceDefinitionResumable,
  validateCustomResourceDefinitionUpdate,
  validateStoredVersions,
} from "./crd-validation.ts";
export { selectableFieldsMax } from "./crd-version.ts";
export { emptySchema } from "./empty-schema.ts";
export { JsonPathError, type PathNode, parseJsonPath } from "./json-path.ts";
export { evaluateJsonPath } from "./json-path-eval.ts";
export {
  comparedItemsMax,
  defaultedTextMax,
  defaultedValuesMax,
  definitionNodesMax,
  enumValuesMax,
  errorsHeldMax,
  errorsMax,
  errorsTextMax,
  jsonPathLengthMax,
  patternLengthMax,
  patternWeightMax,
  patternWorkMax,
  SchemaLimitError,
  schemaDepthMax,
  schemaNodesMax,
  shownTextMax,
  unknownFieldsMax,
  validationStepsMax,
} from "./limits.ts";
export {
  openApiName,
  type Publication,
  type PublishedKind,
  publishResumable,
  publishV2,
  publishV3,
} from "./openapi.ts";
export {
  type Cell,
  type ColumnDefinition,
  compilePrinterColumns,
  type PrinterColumns,
  selectableFieldValue,
} from "./printer-columns.ts";
export {
  crdVersionsMax,
  defaultCustomResourceDefinition,
  type ReadCrd,
  readCustomResourceDefinition,
} from "./read-crd.ts";
export { type ReadSchema, type ReadSchemaOptions, readSchema } from "./read-schema.ts";
export {
  type CompiledRule,
  type MessageOutcome,
  type RuleContext,
  type RuleEvaluator,
  type RuleOutcome,
  type RuleValues,
  ruleCallCostMax,
  ruleEstimateMax,
  ruleMessageBytesMax,
  ruleObjectCostMax,
  schemaEstimateMax,
} from "./rule-evaluator.ts";
export {
  ageColumn,
  anyObject,
  anyValue,
  atomic,
  bool,
  column,
  conditionColumn,
  conditionList,
  int32,
  intOrString,
  keyedBy,
  kindSchema,
  list,
  map,
  type ObjectOf,
  object,
  rules,
  type Schema,
  type SchemaProperties,
  string,
  type TypeOf,
  time,
} from "./schema-builders.ts";
export type { SchemaNode } from "./schema-node.ts";
export {
  additionalSchema,
  isSchema,
  itemSchema,
  type SchemaProps,
  type ValidationRule,
} from "./schema-props.ts";
export { schemaToJson } from "./schema-to-json.ts";
export {
  type SchemaValidationOptions,
  strictSchemaValidation,
  unrecognizedFormats,
  validateSchema,
} from "./schema-validation.ts";
export { type Shaped, type ShapeSteps, shape } from "./shape.ts";
export { strictDecodingErrors } from "./strict-errors.ts";
export { validateStructural } from "./structural.ts";
export { definitionOfKind, namesOfKind, type SystemKind } from "./system-kind.ts";
export { compareVersionPriority } from "./version-priority.ts";
