/**
 * The last-applied annotation of kubectl's client-side apply, and the migration to kubectl's
 * server-side apply.
 */
import { bounds, isBoundExceeded, parseBounded } from "../bounds/index.ts";
import { isJsonObject, type JsonObject, JsonSyntaxError, member, textOf } from "../json/index.ts";
import { type FieldSet, subtractFieldSet } from "./field-set.ts";
import { stringifyGo } from "./go-json.ts";
import type { TypeSchema } from "./type-schema.ts";
import { compareTyped } from "./typed-compare.ts";
import { ownedFields } from "./typed-field-set.ts";
import { typeErrorsOf } from "./typed-validate.ts";

export const lastAppliedAnnotation = "kubectl.kubernetes.io/last-applied-configuration";

/** Only this manager migrates from client-side apply; other managers opt out by their name. */
export const kubectlApplyManager = "kubectl";

/** The maximum size of all annotations of an object, keys and values. */
export const annotationsBytesMax = 256 * 1024;

/**
 * The fields that client-side apply has set and no manager has changed since; undefined without a
 * valid annotation.
 */
export function fieldsLastApplied(
  live: JsonObject,
  options: { readonly apiVersion: string; readonly schema: TypeSchema },
): FieldSet | undefined {
  const annotation = lastApplied(live);
  if (annotation === undefined) return undefined;
  const config = parseConfig(annotation);
  if (config === undefined || member(config, "apiVersion") !== options.apiVersion) return undefined;
  if (typeErrorsOf(config, options.schema) !== undefined) return undefined;
  const { added, modified, removed } = compareTyped(config, live, options.schema);
  const fields = ownedFields(config, options.schema);
  return [modified, added, removed].reduce(subtractFieldSet, fields);
}

/**
 * The object with the annotation set to `config`, if it has the annotation; without the annotation,
 * if it has become too large.
 */
export function withLastApplied(object: JsonObject, config: JsonObject): JsonObject {
  const current = lastApplied(object);
  if (current === undefined) return object;
  // Go's encoder ends its output with a newline, and so does kubectl's annotation.
  const value = `${stringifyGo(withAnnotations(config, withoutLastApplied))}\n`;
  if (value === current) return object;
  return withAnnotations(object, (annotations) => {
    const updated = { ...annotations, [lastAppliedAnnotation]: value };
    return annotationBytes(updated) > annotationsBytesMax
      ? withoutLastApplied(annotations)
      : updated;
  });
}

function lastApplied(object: JsonObject): string | undefined {
  const annotations = annotationsOf(object);
  const value = annotations === undefined ? undefined : member(annotations, lastAppliedAnnotation);
  return typeof value === "string" && value !== "" ? value : undefined;
}

function parseConfig(text: string): JsonObject | undefined {
  try {
    const value = parseBounded(bounds.embeddedText, text);
    return isJsonObject(value) ? value : undefined;
  } catch (error) {
    // The annotation is the client's: an unreadable one is ignored.
    if (error instanceof JsonSyntaxError || isBoundExceeded(error)) return undefined;
    throw error;
  }
}

function annotationsOf(object: JsonObject): JsonObject | undefined {
  const metadata = member(object, "metadata");
  const annotations = isJsonObject(metadata) ? member(metadata, "annotations") : undefined;
  return isJsonObject(annotations) ? annotations : undefined;
}

function withAnnotations(
  object: JsonObject,
  change: (annotations: JsonObject) => JsonObject,
): JsonObject {
  const annotations = annotationsOf(object);
  if (annotations === undefined) return object;
  const metadata = member(object, "metadata") as JsonObject;
  return { ...object, metadata: { ...metadata, annotations: change(annotations) } };
}

function withoutLastApplied(annotations: JsonObject): JsonObject {
  const { [lastAppliedAnnotation]: _, ...rest } = annotations;
  return rest;
}

function annotationBytes(annotations: JsonObject): number {
  const encoder = new TextEncoder();
  let bytes = 0;
  for (const [key, value] of Object.entries(annotations)) {
    bytes += encoder.encode(key).length + encoder.encode(textOf(value)).length;
  }
  return bytes;
}
