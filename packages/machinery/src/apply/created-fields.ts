/**
 * The fields that the creator of an object owns: all that can be owned. It equals the comparison of
 * the object with nothing, without the cost of comparing: creates are the most frequent writes with
 * many fields.
 */
import { type Resumable, runSync } from "../base/index.ts";
import { isJsonObject, type JsonObject, type JsonValue } from "../json/index.ts";
import { type FieldSet, hasChildren, type MutableFieldSet, subtractSubtrees } from "./field-set.ts";
import { fieldElement } from "./path-element.ts";
import { systemMetadata } from "./system-fields.ts";
import { type TypeSchema, typeOfMember } from "./type-schema.ts";
import { presentFields, presentFieldsResumable } from "./typed-field-set.ts";

export function createdFields(
  object: JsonObject,
  type: TypeSchema,
  resetFields: FieldSet | undefined,
): FieldSet {
  return runSync(membersFields(object, type, { resetFields, rests: false }));
}

/** The same for an object that may be large, yielding meanwhile. */
export function createdFieldsResumable(
  object: JsonObject,
  type: TypeSchema,
  resetFields: FieldSet | undefined,
): Resumable<FieldSet> {
  return membersFields(object, type, { resetFields, rests: true });
}

function* membersFields(
  object: JsonObject,
  type: TypeSchema,
  { resetFields, rests }: { readonly resetFields: FieldSet | undefined; readonly rests: boolean },
): Resumable<FieldSet> {
  const fields: MutableFieldSet = {};
  for (const name of Object.keys(object)) {
    if (name === "apiVersion" || name === "kind") continue;
    const value = object[name] as JsonValue;
    const valueType = typeOfMember(type, name);
    if (name !== "metadata" || !isJsonObject(value)) {
      fields[fieldElement(name)] = rests
        ? yield* presentFieldsResumable(value, valueType)
        : presentFields(value, valueType);
      continue;
    }
    const metadata = metadataFields(value, valueType);
    if (hasChildren(metadata)) fields[fieldElement(name)] = metadata;
  }
  return resetFields === undefined ? fields : subtractSubtrees(fields, resetFields);
}

/** No manager owns the metadata itself, nor the fields that the server sets in it. */
function metadataFields(metadata: JsonObject, type: TypeSchema): FieldSet {
  const fields: MutableFieldSet = {};
  for (const name of Object.keys(metadata)) {
    if (systemMetadata.has(name)) continue;
    fields[fieldElement(name)] = presentFields(
      metadata[name] as JsonValue,
      typeOfMember(type, name),
    );
  }
  return fields;
}
