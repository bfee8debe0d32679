/** Whose a workspace is: a user, in an annotation of it, in full until it is ready. */
import { isJsonObject, JsonSyntaxError, type JsonValue, parseJson } from "@kcp-ts/machinery/json";
import type { UserInfo } from "../request/user.ts";
import { textsOf } from "./kinds/phases.ts";
import { annotation } from "./records.ts";

/** Undefined where nobody is named; masters may write anything there. */
export function workspaceOwner(
  annotations: Readonly<Record<string, unknown>>,
): UserInfo | undefined {
  const value = parsed(annotations[annotation.owner]);
  if (!isJsonObject(value) || typeof value["username"] !== "string") return undefined;
  const { username, uid, groups, extra } = value;
  return {
    username,
    ...(typeof uid === "string" ? { uid } : {}),
    groups: textsOf(groups),
    ...(isJsonObject(extra) ? { extra: extrasOf(extra) } : {}),
  };
}

function extrasOf(extra: Readonly<Record<string, JsonValue>>): Record<string, readonly string[]> {
  return Object.fromEntries(Object.entries(extra).map(([key, values]) => [key, textsOf(values)]));
}

function parsed(text: unknown): JsonValue | undefined {
  if (typeof text !== "string") return undefined;
  try {
    return parseJson(text).value;
  } catch (error) {
    if (error instanceof JsonSyntaxError) return undefined;
    throw error;
  }
}
