/**
 * The parts that most strategies share.
 *
 * Adding a built-in kind:
 *   1. its shape, in machinery's shape folder, with the numbers of the published protobuf files;
 *   2. a definition in resources/<group>/<plural>.ts, made with `defaultPolicy`;
 *   3. a line in built-ins.ts, in the place where discovery shows it;
 *   4. rows in the tests: resources/<group>, handlers/isolation.test.ts and testing/two-tenants.ts.
 *
 * OpenAPI, discovery, protobuf and patches follow from these.
 */
import { isJsonObject, type JsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import { errorsPerFieldMax } from "@kcp-ts/machinery/meta";
import { dnsSubdomainErrors, pathSegmentErrors } from "@kcp-ts/machinery/names";
import { type FieldError, fieldError } from "@kcp-ts/machinery/status";
import { age, type TableColumn } from "@kcp-ts/machinery/table";
import type { ResourceDefinition } from "../resource-definition.ts";
import type { Draft } from "../strategy.ts";

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

type Names = "group" | "resource" | "singular" | "kind" | "isNamespaced" | "strategy";

/** A definition with the common members of nearly all built-in kinds. */
export function builtIn(
  definition: Pick<ResourceDefinition, Names> & Partial<ResourceDefinition>,
): ResourceDefinition {
  return {
    version: "v1",
    listKind: `${definition.kind}List`,
    shortNames: [],
    categories: [],
    verbs: standardVerbs,
    identity: "",
    itemsCarryKind: false,
    subresources: new Map(),
    ...definition,
  };
}

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

/** The last column of kinds without a printer of their own. */
export const createdAtColumn: TableColumn = {
  name: "Created At",
  type: "date",
  format: "",
  description: "When the object was created.",
  priority: 0,
};

export function createdAtCell(object: JsonObject): JsonValue {
  return (object["metadata"] as JsonObject)["creationTimestamp"] ?? null;
}

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

/** Any name that is valid as a URL path segment. */
export const unrestrictedNames = { nameErrors: pathSegmentErrors } as const;

/** Restores the members that an endpoint may not change. */
export function restoreMembers(draft: Draft, old: JsonObject, member: string): void {
  const before = old[member];
  if (before === undefined) delete draft[member];
  else draft[member] = before;
}

/** Starts the generation, which counts changes of the desired state. */
export function startGeneration(draft: Draft): void {
  (draft["metadata"] as Draft)["generation"] = 1;
}

/** The errors of each item under its path; a long list of invalid items is reported in part. */
export function itemErrors<Item extends JsonValue>(
  items: JsonValue | undefined,
  field: string,
  check: (item: Item, field: string, index: number) => readonly FieldError[],
): FieldError[] {
  const errors: FieldError[] = [];
  // Most lists that a kind may have are absent from most objects.
  if (items === undefined) return errors;
  for (const [index, item] of listIn(items).entries()) {
    if (errors.length >= errorsPerFieldMax) break;
    errors.push(...check(item as Item, `${field}[${index}]`, index));
  }
  return errors;
}

/** Items of a list of strings that occur repeatedly. */
export function duplicateErrors(
  items: JsonValue | undefined,
  field: string,
  error: (field: string, value: string) => FieldError = fieldError.duplicate,
): FieldError[] {
  const seen = new Set<string>();
  return itemErrors<string>(items, field, (item, at) => {
    if (seen.has(item)) return [error(at, item)];
    seen.add(item);
    return [];
  });
}

/** Members of shaped objects: an absent member has Go's zero value. */
export function objectIn(object: JsonObject, field: string): JsonObject {
  const value = object[field];
  return isJsonObject(value) ? value : {};
}

export function textIn(object: JsonObject, field: string): string {
  return String(object[field] ?? "");
}

export function listIn(value: JsonValue | undefined): readonly JsonValue[] {
  return Array.isArray(value) ? (value as readonly JsonValue[]) : [];
}

/** A strategy without rules of its own. */
export const baseStrategy = {
  prepareForCreate: () => {},
  prepareForUpdate: () => {},
  validate: () => [],
  validateUpdate: () => [],
  allowsUnconditionalUpdate: false,
  allowsCreateOnUpdate: false,
  returnsDeletedObject: false,
  selectableFields: new Map<string, (object: JsonObject) => string>(),
} as const;
