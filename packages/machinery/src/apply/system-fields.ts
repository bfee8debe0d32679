/** Fields that no manager owns, because the server sets them or because they name the object. */
import { type FieldSet, fieldSetOf } from "./field-set.ts";
import { fieldElement } from "./path-element.ts";

/** The members of metadata among them. */
export const systemMetadata: ReadonlySet<string> = new Set([
  "name",
  "namespace",
  "creationTimestamp",
  "selfLink",
  "uid",
  "clusterName",
  "generation",
  "managedFields",
  "resourceVersion",
]);

export const systemFields: FieldSet = fieldSetOf(
  [fieldElement("apiVersion")],
  [fieldElement("kind")],
  [fieldElement("metadata")],
  ...[...systemMetadata].map((name) => [fieldElement("metadata"), fieldElement(name)]),
);

/**
 * The fields that writes through an endpoint cannot change, for example
 * `resetFieldsOf(["status"])`.
 */
export function resetFieldsOf(...paths: readonly (readonly string[])[]): FieldSet {
  return fieldSetOf(...paths.map((path) => path.map(fieldElement)));
}
