/**
 * Structural schemas: validation of tenants' schemas and CRDs, and shaping and validation of
 * objects by them.
 */
export { coerceObjectMeta } from "./coerce-meta.ts";
export {
  CompiledSchema,
  compileSchema,
  compileSchemaProps,
  compileSchemaResumable,
} from "./compile-schema.ts";
export type {
  CrdConversion,
  CrdNames,
  CrdVersion,
  CustomResourceDefinition,
  PrinterColumn,
  ScalePaths,
  WebhookClientConfig,
} from "./crd.ts";
export { isCaBundle } from "./crd-conversion.ts";
export { approvalAnnotation, crdName, nativeKindAnnotation } from "./crd-names.ts";
export {
  type CrdValidationOptions,
  validateCustomResourceDefinition,
  validateCustomResourceDefinitionResumable,
  validateCustomResourceDefinitionUpdate,
  validateStoredVersions,
} from "./crd-validation.ts";
export { emptySchema } from "./empty-schema.ts";
export { JsonPathError, parseJsonPath } from "./json-path.ts";
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
  type PublishedKind,
  publishResumable,
  publishV2,
  publishV3,
} from "./openapi.ts";
export { publishText } from "./openapi-text.ts";
export {
  compilePrinterColumns,
  type PrinterColumns,
  selectableFieldValue,
} from "./printer-columns.ts";
export {
  crdVersionsMax,
  defaultCustomResourceDefinition,
  readCustomResourceDefinition,
} from "./read-crd.ts";
export { readSchema } from "./read-schema.ts";
export {
  type CompiledRule,
  type MessageOutcome,
  type RuleContext,
  type RuleEvaluator,
  type RuleOutcome,
  type RuleValues,
  ruleObjectCostMax,
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
export {
  additionalSchema,
  itemSchema,
  type SchemaProps,
  type ValidationRule,
} from "./schema-props.ts";
export { schemaToJson } from "./schema-to-json.ts";
export {
  strictSchemaValidation,
  unrecognizedFormats,
  validateSchema,
} from "./schema-validation.ts";
export { type Shaped, type ShapeSteps, shape } from "./shape.ts";
export { strictDecodingErrors } from "./strict-errors.ts";
export { validateStructural } from "./structural.ts";
export { definitionOfKind, namesOfKind, type SystemKind } from "./system-kind.ts";
export { compareVersionPriority } from "./version-priority.ts";
