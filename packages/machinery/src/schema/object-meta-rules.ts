/**
 * The rules of ObjectMeta for any kind of object, on metadata that coerceObjectMeta has accepted.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "../json/index.ts";
import { type FieldError, fieldError } from "../status/index.ts";
import {
  dns1123LabelErrors,
  labelValueErrors,
  pathSegmentErrors,
  pathSegmentPrefixErrors,
  qualifiedNameErrors,
} from "./dns-names.ts";
import { utf8Length } from "./format-net.ts";

/** Keys and values of all annotations together, in bytes. */
export const annotationsBytesMax = 262_144;

const fieldManagerLengthMax = 128;
const subresourceLengthMax = 256;

export function validateObjectMeta(meta: JsonObject, path: string): FieldError[] {
  const errors: FieldError[] = [];
  const complain = (key: string, value: string, complaints: readonly string[]): void => {
    for (const text of complaints) errors.push(fieldError.invalid(`${path}.${key}`, value, text));
  };
  const generateName = text(meta, "generateName");
  const name = text(meta, "name");
  const namespace = text(meta, "namespace");
  complain("generateName", generateName, pathSegmentPrefixErrors(generateName));
  complain("name", name, pathSegmentErrors(name));
  if (namespace !== "") complain("namespace", namespace, dns1123LabelErrors(namespace));
  const generation = meta["generation"];
  if ((typeof generation === "number" || typeof generation === "bigint") && generation < 0) {
    errors.push(
      fieldError.invalid(`${path}.generation`, generation, "must be greater than or equal to 0"),
    );
  }
  for (const [key, value] of entries(meta["labels"])) {
    complain("labels", key, qualifiedNameErrors(key));
    complain("labels", value, labelValueErrors(value));
  }
  errors.push(...validateAnnotations(meta["annotations"], `${path}.annotations`));
  errors.push(...validateOwnerReferences(meta["ownerReferences"], `${path}.ownerReferences`));
  for (const finalizer of list(meta["finalizers"])) {
    complain("finalizers", String(finalizer), qualifiedNameErrors(String(finalizer)));
  }
  errors.push(...validateManagedFields(meta["managedFields"], `${path}.managedFields`));
  return errors;
}

function validateAnnotations(annotations: JsonValue | undefined, path: string): FieldError[] {
  const errors: FieldError[] = [];
  let bytes = 0;
  for (const [key, value] of entries(annotations)) {
    for (const complaint of qualifiedNameErrors(key.toLowerCase()))
      errors.push(fieldError.invalid(path, key, complaint));
    bytes += utf8Length(key) + utf8Length(value);
  }
  if (bytes > annotationsBytesMax) errors.push(fieldError.tooLong(path, annotationsBytesMax));
  return errors;
}

function validateOwnerReferences(references: JsonValue | undefined, path: string): FieldError[] {
  const errors: FieldError[] = [];
  let firstController = "";
  for (const [i, reference] of list(references).entries()) {
    if (!isJsonObject(reference)) continue;
    const at = `${path}[${i}]`;
    const apiVersion = text(reference, "apiVersion");
    if (apiVersion === "")
      errors.push(fieldError.required(`${at}.apiVersion`, "must not be empty"));
    else if (apiVersion.split("/").length > 2 || apiVersion.endsWith("/")) {
      const detail = "must be <group>/<version> or <version>";
      errors.push(fieldError.invalid(`${at}.apiVersion`, apiVersion, detail));
    }
    for (const key of ["kind", "name", "uid"]) {
      if (text(reference, key) === "")
        errors.push(fieldError.required(`${at}.${key}`, "must not be empty"));
    }
    const kind = text(reference, "kind");
    if (apiVersion === "v1" && kind === "Event") {
      const detail = "/v1, Kind=Event is disallowed from being an owner";
      errors.push(fieldError.invalid(at, reference, detail));
    }
    if (reference["controller"] !== true) continue;
    const controller = `${kind}/${text(reference, "name")}`;
    if (firstController === "") firstController = controller;
    else {
      const detail = `Only one reference can have Controller set to true. Found "true" in references for ${firstController} and ${controller}`;
      errors.push(fieldError.invalid(path, references ?? null, detail));
    }
  }
  return errors;
}

function validateManagedFields(managed: JsonValue | undefined, path: string): FieldError[] {
  const errors: FieldError[] = [];
  for (const [i, entry] of list(managed).entries()) {
    if (!isJsonObject(entry)) continue;
    const at = `${path}[${i}]`;
    const operation = text(entry, "operation");
    if (operation !== "Apply" && operation !== "Update") {
      const detail = "must be `Apply` or `Update`";
      errors.push(fieldError.invalid(`${at}.operation`, operation, detail));
    }
    const fieldsType = text(entry, "fieldsType");
    if (fieldsType !== "" && fieldsType !== "FieldsV1")
      errors.push(fieldError.invalid(`${at}.fieldsType`, fieldsType, "must be `FieldsV1`"));
    if (utf8Length(text(entry, "manager")) > fieldManagerLengthMax)
      errors.push(fieldError.tooLong(`${at}.manager`, fieldManagerLengthMax));
    if (utf8Length(text(entry, "subresource")) > subresourceLengthMax)
      errors.push(fieldError.tooLong(`${at}.subresource`, subresourceLengthMax));
  }
  return errors;
}

function text(object: JsonObject, key: string): string {
  const value = Object.hasOwn(object, key) ? object[key] : undefined;
  return typeof value === "string" ? value : "";
}

function entries(value: JsonValue | undefined): [string, string][] {
  return isJsonObject(value) ? Object.entries(value).map(([key, item]) => [key, String(item)]) : [];
}

function list(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? value : [];
}
