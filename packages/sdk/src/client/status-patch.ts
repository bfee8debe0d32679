/** The merge patch that turns one status into another. */
import { type JsonObject, type JsonValue, jsonEqual } from "@kcp-ts/machinery/json";
import type { KubernetesObject } from "./object.ts";

/** The type of an object's status. */
export type StatusOf<Object extends KubernetesObject> = Object extends {
  readonly status?: infer Status;
}
  ? NonNullable<Status>
  : never;

/** Undefined when they are equal. Members that are undefined count as absent. */
export function statusPatch(from: object, to: object): JsonObject | undefined {
  const before = from as Readonly<Record<string, JsonValue | undefined>>;
  const after = to as Readonly<Record<string, JsonValue | undefined>>;
  const patch: Record<string, JsonValue> = {};
  for (const [name, value] of Object.entries(after)) {
    if (value !== undefined && !jsonEqual(before[name], value)) patch[name] = value;
  }
  for (const [name, value] of Object.entries(before)) {
    if (value !== undefined && after[name] === undefined) patch[name] = null;
  }
  return Object.keys(patch).length === 0 ? undefined : patch;
}
