/** The parts that most strategies share. */
import type { JsonObject } from "@kcp-ts/machinery/json";
import { dnsSubdomainErrors, pathSegmentErrors } from "@kcp-ts/machinery/names";
import { age, type TableColumn } from "@kcp-ts/machinery/table";

export const standardVerbs = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "update",
  "watch",
] as const;

export const nameColumn: TableColumn = {
  name: "Name",
  type: "string",
  format: "name",
  description: "The name, unique among the objects of its kind and namespace.",
  priority: 0,
};

export const ageColumn: TableColumn = {
  name: "Age",
  type: "string",
  format: "",
  description: "Time since the object was created.",
  priority: 0,
};

export function nameCell(object: JsonObject): string {
  return String((object["metadata"] as JsonObject)["name"]);
}

export function ageCell(object: JsonObject, nowMs: number): string {
  return age((object["metadata"] as JsonObject)["creationTimestamp"] as string | undefined, nowMs);
}

export function column(name: string, type: "string" | "integer", description: string): TableColumn {
  return { name, type, format: "", description, priority: 0 };
}

/** A column that `kubectl get -o wide` adds. */
export function wideColumn(
  name: string,
  type: "string" | "integer",
  description: string,
): TableColumn {
  return { ...column(name, type, description), priority: 1 };
}

export const namespacedNames = { nameErrors: dnsSubdomainErrors } as const;

/** Any name that can stand in a URL. */
export const unrestrictedNames = { nameErrors: pathSegmentErrors } as const;

/** A strategy that adds nothing to what every object goes through. */
export const noOwnRules = {
  prepareForCreate: () => {},
  prepareForUpdate: () => {},
  validate: () => [],
  validateUpdate: () => [],
  allowsUnconditionalUpdate: false,
  allowsCreateOnUpdate: false,
  returnsDeletedObject: false,
  selectableFields: new Map<string, (object: JsonObject) => string>(),
} as const;
