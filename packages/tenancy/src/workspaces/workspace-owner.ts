/**
 * The owner of a workspace: a user in an annotation, with all attributes until the workspace is
 * ready.
 */
import type { UserInfo } from "@kcp-ts/apiserver/request/user";
import {
  isJsonObject,
  JsonSyntaxError,
  type JsonValue,
  parseJson,
  textsOf,
} from "@kcp-ts/machinery/json";
import { annotation, member } from "./records.ts";

/** Undefined when the annotation is invalid; system:masters may write anything there. */
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

/** Keeps the owner's name and drops the other attributes; drops an invalid annotation. */
export function removeOwnerGroups(metadata: { [member: string]: JsonValue }): void {
  const { [annotation.owner]: text, ...others } = member(metadata, "annotations");
  if (text === undefined) return;
  const owner = workspaceOwner({ [annotation.owner]: text });
  const kept = owner && { [annotation.owner]: JSON.stringify({ username: owner.username }) };
  metadata["annotations"] = { ...others, ...kept };
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
