export { type ApplyOptions, applyConfiguration, applyResumable } from "./apply-configuration.ts";
export { type AsyncVersionConverter, withAsyncConverter } from "./async-converter.ts";
export { updateManagersMax } from "./cap-managers.ts";
export { conflictsListedMax } from "./conflict.ts";
export {
  fieldManagerBytesMax,
  fieldManagerOf,
  type PatchOptions,
  patchOptionsError,
  validateFieldManager,
  validateManagedFields,
} from "./field-manager.ts";
export {
  emptyFieldSet,
  equalFieldSets,
  type FieldSet,
  fieldSetOf,
  hasPath,
  intersectFieldSets,
  isEmptyFieldSet,
  leavesOf,
  pathsOf,
  subtractFieldSet,
  subtractSubtrees,
  unionFieldSets,
} from "./field-set.ts";
export { readFieldSet, sortFieldSet } from "./fields-v1.ts";
export { annotationsBytesMax, lastAppliedAnnotation } from "./last-applied.ts";
export { managedFieldsOf, withManagedFields } from "./managed-fields.ts";
export { objectMetaType, objectType } from "./object-type.ts";
export {
  type FieldPath,
  fieldElement,
  formatPath,
  keyElement,
  type PathElement,
  valueElement,
} from "./path-element.ts";
export { type ReadTypeOptions, readObjectType, readTypeSchema } from "./read-type-schema.ts";
export {
  parentManagedFields,
  type ReplicasPaths,
  replicasPath,
  scaleApiVersion,
  scaleManagedFields,
} from "./scale-managed-fields.ts";
export { resetFieldsOf, systemFields } from "./system-fields.ts";
export { ignoreTimestampChanges } from "./timestamp-changes.ts";
export {
  atomicType,
  booleanType,
  deducedType,
  keyedListType,
  type ListType,
  listType,
  type MapType,
  mapType,
  numericType,
  recursive,
  type ScalarKind,
  type StructField,
  scalarType,
  setType,
  stringType,
  structType,
  type TypeSchema,
  untypedType,
} from "./type-schema.ts";
export { type Changes, compareTyped } from "./typed-compare.ts";
export { ownedFields } from "./typed-field-set.ts";
export { mergeTyped } from "./typed-merge.ts";
export { typeErrorsMax, typeErrorsOf } from "./typed-validate.ts";
export {
  type UpdateOptions,
  updateManagedFields,
  updateResumable,
  type WriteOptions,
} from "./update-managed-fields.ts";
export type { VersionConverter, Versioned } from "./versions.ts";
