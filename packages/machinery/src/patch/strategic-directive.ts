/** The directives of strategic merge patch, and values without them. */
import { isJsonObject, type JsonValue, setMember } from "../json/index.ts";
import { PatchError } from "./patch-error.ts";

export const directives = {
  patch: "$patch",
  retainKeys: "$retainKeys",
  setElementOrder: "$setElementOrder",
  deleteFromPrimitiveList: "$deleteFromPrimitiveList",
} as const;

/** The list to which `$setElementOrder/<list>` or `$deleteFromPrimitiveList/<list>` belongs. */
export function listNameOf(
  key: string,
  prefix: "$setElementOrder" | "$deleteFromPrimitiveList",
): string {
  if (!key.startsWith(`${prefix}/`)) {
    throw new PatchError(
      "malformed",
      prefix === directives.setElementOrder
        ? "invalid patch format of setElementOrder list"
        : "invalid patch format of primitive list",
    );
  }
  return key.slice(prefix.length + 1);
}

/**
 * The value of a patch where there is nothing to merge it with: members without nulls and
 * directives, lists without the items that are directives. Undefined for a map that is itself a
 * directive.
 */
export function withoutDirectives(value: JsonValue): JsonValue | undefined {
  if (Array.isArray(value)) {
    return value.flatMap((item: JsonValue) => {
      const plain = withoutDirectives(item);
      return plain === undefined ? [] : [plain];
    });
  }
  if (!isJsonObject(value)) return value;
  if (Object.hasOwn(value, directives.patch)) return undefined;
  const plain: { [key: string]: JsonValue } = {};
  for (const key of Object.keys(value)) {
    const inner = value[key] as JsonValue;
    if (inner === null || isParallelDirective(key)) continue;
    const plainInner = withoutDirectives(inner);
    if (plainInner !== undefined) setMember(plain, key, plainInner);
  }
  return plain;
}

/** Directives beside the members of a map, `$patch` excluded. */
export function isParallelDirective(key: string): boolean {
  return (
    key.startsWith("$") &&
    (key === directives.retainKeys ||
      key.startsWith(directives.setElementOrder) ||
      key.startsWith(directives.deleteFromPrimitiveList))
  );
}
