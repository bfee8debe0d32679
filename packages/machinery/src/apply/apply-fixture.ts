/**
 * Fixtures for tests of server-side apply: a type with every kind of container, and helpers for
 * writes.
 */
import { assert } from "../base/index.ts";
import { cloneJson, type JsonObject, type JsonValue, jsonEqual } from "../json/index.ts";
import { StatusError } from "../status/index.ts";
import {
  type ApplyOptions,
  applyConfiguration,
  atomicType,
  keyedListType,
  listType,
  managedFieldsOf,
  mapType,
  numericType,
  objectType,
  setType,
  stringType,
  structType,
  updateManagedFields,
} from "./index.ts";

export const container = structType({
  name: stringType,
  image: stringType,
  args: listType(stringType),
  env: mapType(stringType),
});
export const schema = objectType({
  data: mapType(stringType),
  spec: structType({
    replicas: numericType,
    paused: stringType,
    containers: keyedListType(["name"], container),
    tags: setType(stringType),
    selector: atomicType(mapType(stringType)),
    nested: structType({ a: stringType, b: stringType }),
  }),
  status: mapType(stringType),
});
export const [first, second] = ["2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"];
export const base = { apiVersion: "v1", kind: "K" } as const;
export const common = { ...base, now: first, schema, force: false } as const;

export function object(parts: JsonObject): JsonObject {
  return {
    ...base,
    ...parts,
    metadata: { name: "x", namespace: "n", ...((parts["metadata"] ?? {}) as JsonObject) },
  };
}

export function apply(
  manager: string,
  config: JsonObject,
  options: Partial<ApplyOptions> = {},
): JsonObject {
  const before = cloneJson([options.live ?? null, config]);
  const result = applyConfiguration({ ...common, manager, config, ...options });
  assert(jsonEqual([options.live ?? null, config], before), "the inputs are left alone");
  return result;
}

/** Applies one configuration after the other to one object. */
export type Step = readonly [manager: string, parts: JsonObject, options?: Partial<ApplyOptions>];

export function sequence(...steps: readonly Step[]): JsonObject {
  let live: JsonObject | undefined;
  for (const [manager, parts, options] of steps)
    live = apply(manager, object(parts), { live, ...options });
  return live as JsonObject;
}

export function write(
  live: JsonObject | undefined,
  manager: string,
  updated: JsonObject,
): JsonObject {
  return updateManagedFields({ ...common, live, manager, updated });
}

export function owners(of: JsonObject): { [manager: string]: JsonValue } {
  const entries = (managedFieldsOf(of) ?? []) as readonly JsonObject[];
  return Object.fromEntries(
    entries.map(({ manager, operation, subresource, fieldsV1 }) => [
      `${operation} ${manager}${subresource === undefined ? "" : ` ${subresource}`}`,
      fieldsV1 as JsonValue,
    ]),
  );
}

export function parts(of: JsonObject): JsonObject {
  const { apiVersion: _a, kind: _k, metadata: _m, ...rest } = of;
  return rest;
}

export function failure(action: () => unknown): StatusError {
  try {
    action();
  } catch (error) {
    if (error instanceof StatusError) return error;
    throw error;
  }
  throw new Error("it succeeds");
}
