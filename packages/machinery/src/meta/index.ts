export { errorsPerFieldMax } from "./collect-errors.ts";
export {
  finalizerErrors,
  finalizerWarnings,
  foregroundDeletionFinalizer,
  orphanFinalizer,
} from "./finalizers.ts";
export { annotationErrors, annotationsBytesMax, labelErrors } from "./labels-and-annotations.ts";
export { fieldManagerBytesMax, fieldManagerErrors, managedFieldsErrors } from "./managed-fields.ts";
export {
  type DeduplicatedOwnerReferences,
  deduplicateOwnerReferences,
  ownerReferenceErrors,
} from "./owner-references.ts";
export type {
  Condition,
  KubernetesObject,
  ListMeta,
  ManagedFieldsEntry,
  ObjectMeta,
  OwnerReference,
  StringMap,
} from "./types.ts";
export {
  type ObjectMetaRules,
  type ObjectMetaUpdateRules,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from "./validate-object-meta.ts";
