/**
 * Whether a value may be passed for a parameter. The checker has verified it, unless a type is
 * dynamic or null.
 */
import type { Type, TypeKind } from "../types/type.ts";
import { CelDuration, CelTimestamp } from "../values/time.ts";
import {
  CelError,
  CelList,
  CelMap,
  CelObject,
  CelOptional,
  CelTypeValue,
  CelUint,
  type CelValue,
} from "../values/value.ts";

export type Guard = (value: CelValue) => boolean;

const GUARDS: Partial<Record<TypeKind, Guard>> = {
  null: (value) => value === null,
  bool: (value) => typeof value === "boolean",
  int: (value) => typeof value === "bigint",
  uint: (value) => value instanceof CelUint,
  double: (value) => typeof value === "number",
  string: (value) => typeof value === "string",
  bytes: (value) => value instanceof Uint8Array,
  timestamp: (value) => value instanceof CelTimestamp,
  duration: (value) => value instanceof CelDuration,
  type: (value) => value instanceof CelTypeValue,
  list: (value) => value instanceof CelList,
  map: (value) => value instanceof CelMap,
};

export function fitsType(type: Type | undefined): Guard {
  if (type === undefined) return () => true;
  if (type.kind === "opaque" && type.name === "optional_type")
    return (value) => value instanceof CelOptional;
  if (type.kind === "opaque" || type.kind === "struct") {
    const { name } = type;
    return (value) => value instanceof CelObject && value.typeName === name;
  }
  if (type.kind === "list") return fitsList(type.param(0));
  return GUARDS[type.kind] ?? (() => true);
}

/**
 * Lists are distinguished by their first element, as in cel-go: that is enough to choose an
 * overload.
 */
function fitsList(element: Type): Guard {
  const fitsElement = GUARDS[element.kind];
  if (fitsElement === undefined || element.kind === "list" || element.kind === "map") {
    return (value) => value instanceof CelList;
  }
  return (value) => {
    if (!(value instanceof CelList)) return false;
    if (value.size === 0) return true;
    const first = value.get(0);
    return first instanceof CelError || fitsElement(first);
  };
}
