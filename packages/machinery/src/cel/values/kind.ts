/** The runtime type of a value: its kind, its name in messages, the value of `type(x)`. */
import type { TypeKind } from "../types/type.ts";
import { CelDuration, CelTimestamp } from "./time.ts";
import {
  CelList,
  CelMap,
  CelObject,
  CelOptional,
  CelTypeValue,
  CelUint,
  type CelValue,
} from "./value.ts";

export function kindOf(value: CelValue): TypeKind {
  switch (typeof value) {
    case "boolean":
      return "bool";
    case "bigint":
      return "int";
    case "number":
      return "double";
    case "string":
      return "string";
    default:
      return objectKind(value);
  }
}

function objectKind(value: CelValue): TypeKind {
  if (value === null) return "null";
  if (value instanceof CelList) return "list";
  if (value instanceof CelMap) return "map";
  if (value instanceof CelUint) return "uint";
  if (value instanceof Uint8Array) return "bytes";
  if (value instanceof CelTimestamp) return "timestamp";
  if (value instanceof CelDuration) return "duration";
  if (value instanceof CelTypeValue) return "type";
  if (value instanceof CelObject) return "struct";
  return "opaque";
}

const NAMES: Partial<Record<TypeKind, string>> = {
  null: "null_type",
  timestamp: "google.protobuf.Timestamp",
  duration: "google.protobuf.Duration",
};

export function typeNameOf(value: CelValue): string {
  if (value instanceof CelObject) return value.typeName;
  if (value instanceof CelOptional) return "optional_type";
  const kind = kindOf(value);
  return NAMES[kind] ?? kind;
}

export function typeValueOf(value: CelValue): CelTypeValue {
  return new CelTypeValue(typeNameOf(value));
}
