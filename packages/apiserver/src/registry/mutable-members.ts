/**
 * Sets defaults: copies members first, because parts of a draft may be shared with the stored
 * object.
 */
import { isJsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import type { Draft } from "./strategy.ts";

/** The member as a mutable copy, created when it is missing. */
export function mutableMember(draft: Draft, member: string): Draft {
  const value = draft[member];
  const own: Draft = isJsonObject(value) ? { ...value } : {};
  draft[member] = own;
  return own;
}

/** The member as a mutable copy; undefined when it is missing. */
export function mutableMemberIfPresent(draft: Draft, member: string): Draft | undefined {
  return isJsonObject(draft[member]) ? mutableMember(draft, member) : undefined;
}

/** Every object of a list, as mutable copies. */
export function mutableItems(draft: Draft, member: string): Draft[] {
  const value = draft[member];
  if (!Array.isArray(value)) return [];
  const own = (value as readonly JsonValue[]).map((item) =>
    isJsonObject(item) ? ({ ...item } as Draft) : item,
  );
  draft[member] = own;
  return own.filter((item): item is Draft => isJsonObject(item));
}

/**
 * Sets a member that is absent, or Go's empty string, which a Go client cannot distinguish from
 * absent.
 */
export function setDefault(draft: Draft, member: string, value: JsonValue): void {
  const present = draft[member];
  if (present === undefined || present === null || present === "") draft[member] = value;
}
