export { errorsPerFieldMax } from "./collect-errors.ts";
export { annotationErrors, annotationsBytesMax, labelErrors } from "./labels-and-annotations.ts";
export { fieldManagerBytesMax, fieldManagerErrors, isPrintable } from "./managed-fields.ts";
export { deduplicateOwnerReferences } from "./owner-references.ts";
export type { Condition, KubernetesObject, ListMeta, ObjectMeta, OwnerReference } from "./types.ts";
export {
  type ObjectMetaUpdateRules,
  validateObjectMeta,
  validateObjectMetaUpdate,
} from "./validate-object-meta.ts";
