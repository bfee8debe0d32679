/**
 * The common fields of all objects: apiVersion, kind and metadata, with the types of Kubernetes'
 * OpenAPI document.
 */
import {
  atomicType,
  booleanType,
  keyedListType,
  listType,
  mapType,
  numericType,
  scalarType,
  setType,
  stringType,
  structType,
  type TypeSchema,
} from "./type-schema.ts";

const ownerReferenceType = atomicType(
  structType({
    apiVersion: stringType,
    blockOwnerDeletion: booleanType,
    controller: booleanType,
    kind: stringType,
    name: stringType,
    uid: stringType,
  }),
);

const managedFieldsEntryType = structType({
  apiVersion: stringType,
  fieldsType: stringType,
  fieldsV1: mapType(scalarType),
  manager: stringType,
  operation: stringType,
  subresource: stringType,
  time: scalarType,
});

export const objectMetaType: TypeSchema = structType({
  annotations: mapType(stringType),
  creationTimestamp: scalarType,
  deletionGracePeriodSeconds: numericType,
  deletionTimestamp: scalarType,
  finalizers: setType(stringType),
  generateName: stringType,
  generation: numericType,
  labels: mapType(stringType),
  managedFields: listType(managedFieldsEntryType),
  name: stringType,
  namespace: stringType,
  ownerReferences: keyedListType(["uid"], ownerReferenceType),
  resourceVersion: stringType,
  selfLink: stringType,
  uid: stringType,
});

/**
 * The type of a complete object: the common fields and the given ones, for example `objectType({
 * data: mapType(stringType) })`.
 */
export function objectType(fields: { readonly [name: string]: TypeSchema }): TypeSchema {
  return structType({
    apiVersion: stringType,
    kind: stringType,
    metadata: objectMetaType,
    ...fields,
  });
}
