/** Filling in what is left out: copies on the way, because parts of a draft may be shared with the stored object. */
import { isJsonObject, type JsonValue } from "@kcp-ts/machinery/json";
import type { Draft } from "./strategy.ts";

/** The member as an object of our own, made when it is missing. */
export function mutableMember(draft: Draft, member: string): Draft {
  const value = draft[member];
  const own: Draft = isJsonObject(value) ? { ...value } : {};
  draft[member] = own;
  return own;
}

/** The same, but nothing when there is none. */
export function mutableMemberIfPresent(draft: Draft, member: string): Draft | undefined {
  return isJsonObject(draft[member]) ? mutableMember(draft, member) : undefined;
}

/** Every object of a list, as our own. */
export function mutableItems(draft: Draft, member: string): Draft[] {
  const value = draft[member];
  if (!Array.isArray(value)) return [];
  const own = (value as readonly JsonValue[]).map((item) =>
    isJsonObject(item) ? ({ ...item } as Draft) : item,
  );
  draft[member] = own;
  return own.filter((item): item is Draft => isJsonObject(item));
}

/** Absent, or Go's empty string, which a client cannot tell from absent. */
export function setDefault(draft: Draft, member: string, value: JsonValue): void {
  const present = draft[member];
  if (present === undefined || present === null || present === "") draft[member] = value;
}
