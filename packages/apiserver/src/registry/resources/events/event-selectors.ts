/** The selectable fields of Events, in the names of either API. */
import { isJsonObject, type JsonObject } from "@kcp-ts/machinery/json";

type FieldReader = (object: JsonObject) => string;

const referenceFields = [
  "kind",
  "namespace",
  "name",
  "uid",
  "apiVersion",
  "resourceVersion",
  "fieldPath",
] as const;

export const coreEventFields: ReadonlyMap<string, FieldReader> = new Map([
  ...referenceReaders("involvedObject"),
  ...textReaders("reason", "reportingComponent", "type"),
  ["source", sourceOf] as const,
]);

export const eventsV1Fields: ReadonlyMap<string, FieldReader> = new Map([
  ...referenceReaders("regarding"),
  ...textReaders("reason", "reportingController", "type"),
]);

function referenceReaders(reference: string): [string, FieldReader][] {
  return referenceFields.map((field) => [
    `${reference}.${field}`,
    (object) => textIn(object[reference], field),
  ]);
}

function textReaders(...names: readonly string[]): [string, FieldReader][] {
  return names.map((name) => [name, (object) => textIn(object, name)]);
}

/** New Events have a reporting component instead of a source; a selector by source finds both. */
function sourceOf(object: JsonObject): string {
  return textIn(object["source"], "component") || textIn(object, "reportingComponent");
}

function textIn(value: unknown, field: string): string {
  return isJsonObject(value as JsonObject) ? String((value as JsonObject)[field] ?? "") : "";
}
