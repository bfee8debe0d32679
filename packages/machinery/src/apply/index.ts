export { type ApplyOptions, applyConfiguration, applyResumable } from "./apply-configuration.ts";
export { withAsyncConverter } from "./async-converter.ts";
export { updateManagersMax } from "./cap-managers.ts";
export {
  fieldManagerOf,
  patchOptionsError,
} from "./field-manager.ts";
export {
  equalFieldSets,
  type FieldSet,
  fieldSetOf,
  hasPath,
  intersectFieldSets,
  leavesOf,
  pathsOf,
  subtractFieldSet,
  subtractSubtrees,
  unionFieldSets,
} from "./field-set.ts";
export { cachedFieldSetTexts } from "./field-set-cache.ts";
export { readFieldSet, sortFieldSet } from "./fields-v1.ts";
export { annotationsBytesMax, lastAppliedAnnotation } from "./last-applied.ts";
export { managedFieldsOf } from "./managed-fields.ts";
export { objectMetaType, objectType } from "./object-type.ts";
export {
  type FieldPath,
  fieldElement,
  formatPath,
  keyElement,
  type PathElement,
  valueElement,
} from "./path-element.ts";
export { readObjectType, readTypeSchema } from "./read-type-schema.ts";
export { resetFieldsOf } from "./system-fields.ts";
export { ignoreTimestampChanges } from "./timestamp-changes.ts";
export {
  atomicType,
  booleanType,
  deducedType,
  keyedListType,
  listType,
  mapType,
  numericType,
  recursive,
  scalarType,
  setType,
  stringType,
  structType,
  type TypeSchema,
  untypedType,
} from "./type-schema.ts";
export { compareTyped } from "./typed-compare.ts";
export { ownedFields } from "./typed-field-set.ts";
export { mergeTyped } from "./typed-merge.ts";
export { typeErrorsMax, typeErrorsOf } from "./typed-validate.ts";
export {
  type UpdateOptions,
  updateManagedFields,
  updateResumable,
} from "./update-managed-fields.ts";
export type { VersionConverter } from "./versions.ts";
