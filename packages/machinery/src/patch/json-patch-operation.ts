/**
 * Parses a JSON patch (RFC 6902): validates its form and reports the findings of strict field
 * validation.
 */
import { isJsonObject, type JsonObject, type JsonValue, type ParsedJson } from "../json/index.ts";
import { PatchError } from "./patch-error.ts";

export const jsonPatchOperationsMax = 10_000;

/**
 * An operation as sent. Whether `op` is known and `path` is set is checked when the operation is
 * applied, as upstream does.
 */
export interface JsonPatchOperation {
  readonly op?: string;
  readonly path?: string;
  readonly from?: string;
  /** Absent and `null` mean the same. */
  readonly value?: JsonValue;
}

export interface JsonPatch {
  readonly operations: readonly JsonPatchOperation[];
  /**
   * For example `json patch unknown field "[0].foo"`, in document order per kind: unknown members,
   * then duplicates.
   */
  readonly strictErrors: readonly string[];
}

/** Throws a `malformed` or `too-many-operations` PatchError. */
export function readJsonPatch({ value, duplicates }: ParsedJson): JsonPatch {
  if (value === null) return { operations: [], strictErrors: [] };
  if (!Array.isArray(value)) {
    throw new PatchError(
      "malformed",
      `error decoding patch: json: cannot unmarshal ${goKind(value)} into Go value of type []handlers.jsonPatchOp`,
    );
  }
  if (value.length > jsonPatchOperationsMax) {
    throw new PatchError(
      "too-many-operations",
      `The allowed maximum operations in a JSON patch is ${jsonPatchOperationsMax}, got ${value.length}`,
    );
  }
  const strictErrors: string[] = [];
  const operations = value.map((operation: JsonValue, i) => {
    if (operation === null) return {};
    if (!isJsonObject(operation)) {
      throw new PatchError(
        "malformed",
        `error decoding patch: json: cannot unmarshal ${goKind(operation)} into Go value of type handlers.jsonPatchOp`,
      );
    }
    for (const key of Object.keys(operation)) {
      if (!knownMembers.has(key)) strictErrors.push(`json patch unknown field "[${i}].${key}"`);
    }
    return readOperation(operation);
  });
  for (const path of duplicates) strictErrors.push(`json patch duplicate field "${path}"`);
  return { operations, strictErrors };
}

const knownMembers: ReadonlySet<string> = new Set(["op", "path", "from", "value"]);

function readOperation(operation: JsonObject): JsonPatchOperation {
  return {
    ...text(operation, "op"),
    ...text(operation, "path"),
    ...text(operation, "from"),
    ...(Object.hasOwn(operation, "value") ? { value: operation["value"] as JsonValue } : {}),
  };
}

function text<Key extends "op" | "path" | "from">(
  operation: JsonObject,
  key: Key,
): { readonly [K in Key]?: string } {
  const value = Object.hasOwn(operation, key) ? operation[key] : null;
  if (value === null || value === undefined) return {};
  if (typeof value === "string") return { [key]: value } as { [K in Key]?: string };
  throw new PatchError(
    "malformed",
    `error decoding patch: json: cannot unmarshal ${goKind(value)} into Go struct field jsonPatchOp.${key} of type string`,
  );
}

function goKind(value: JsonValue): string {
  if (Array.isArray(value)) return "array";
  switch (typeof value) {
    case "object":
      return "object";
    case "boolean":
      return "bool";
    case "string":
      return "string";
    default:
      return "number";
  }
}
