/**
 * The types of the checker.
 *
 * A type is a kind, a name and parameters. Struct types carry their fields, so that no registry is
 * needed to look one up; two struct types with the same name are the same type.
 */
export type TypeKind =
  | "dyn"
  | "error"
  | "null"
  | "bool"
  | "int"
  | "uint"
  | "double"
  | "string"
  | "bytes"
  | "timestamp"
  | "duration"
  | "any"
  | "type"
  | "list"
  | "map"
  | "struct"
  | "opaque"
  | "param";

/** Finds the type of a field by its CEL name. */
export type FieldLookup = (field: string) => Type | undefined;

export class Type {
  readonly kind: TypeKind;
  /**
   * The name at runtime: `int`, `google.protobuf.Timestamp`, a struct's or opaque type's own name.
   */
  readonly name: string;
  readonly params: readonly Type[];
  /** A primitive that may also be null, as protobuf's wrapper messages are. */
  readonly wrapper: boolean;
  /** Set for struct types. */
  readonly fieldOf: FieldLookup | undefined;

  constructor(
    kind: TypeKind,
    name: string,
    options: { params?: readonly Type[]; wrapper?: boolean; fieldOf?: FieldLookup } = {},
  ) {
    this.kind = kind;
    this.name = name;
    this.params = options.params ?? [];
    this.wrapper = options.wrapper ?? false;
    this.fieldOf = options.fieldOf;
  }

  /** The `index`-th parameter; `dyn` where the type leaves it open. */
  param(index: number): Type {
    return this.params[index] ?? DYN;
  }

  toString(): string {
    return formatType(this);
  }
}

export const DYN = new Type("dyn", "dyn");
export const ERROR = new Type("error", "error");
export const NULL = new Type("null", "null_type");
export const BOOL = new Type("bool", "bool");
export const INT = new Type("int", "int");
export const UINT = new Type("uint", "uint");
export const DOUBLE = new Type("double", "double");
export const STRING = new Type("string", "string");
export const BYTES = new Type("bytes", "bytes");
export const TIMESTAMP = new Type("timestamp", "google.protobuf.Timestamp");
export const DURATION = new Type("duration", "google.protobuf.Duration");
export const ANY = new Type("any", "google.protobuf.Any");
/** The type of types, of which nothing more is known. */
export const TYPE = new Type("type", "type");

export function listOf(element: Type): Type {
  return new Type("list", "list", { params: [element] });
}

export function mapOf(key: Type, value: Type): Type {
  return new Type("map", "map", { params: [key, value] });
}

export function typeOf(type: Type): Type {
  return new Type("type", "type", { params: [type] });
}

export function optionalOf(type: Type): Type {
  return new Type("opaque", "optional_type", { params: [type] });
}

export function opaqueType(name: string, ...params: Type[]): Type {
  return new Type("opaque", name, { params });
}

export function structType(name: string, fieldOf: FieldLookup = () => undefined): Type {
  return new Type("struct", name, { fieldOf });
}

export function wrapperOf(type: Type): Type {
  return new Type(type.kind, type.name, { wrapper: true });
}

export function typeParam(name: string): Type {
  return new Type("param", name);
}

export function isDyn(type: Type): boolean {
  return type.kind === "dyn" || type.kind === "any";
}

export function isOptional(type: Type): boolean {
  return type.kind === "opaque" && type.name === "optional_type";
}

/** Kind, name and parameters agree. */
export function sameType(a: Type, b: Type): boolean {
  if (a === b) return true;
  return (
    a.kind === b.kind &&
    a.name === b.name &&
    a.wrapper === b.wrapper &&
    a.params.length === b.params.length &&
    a.params.every((param, i) => sameType(param, b.param(i)))
  );
}

/** The text of a type in cel-go's error messages. */
export function formatType(type: Type): string {
  if (type.wrapper) return `wrapper(${type.name})`;
  switch (type.kind) {
    case "any":
    case "duration":
    case "timestamp":
    case "null":
      return type.kind;
    case "error":
      return "!error!";
    default:
      if (type.params.length === 0) return type.name;
      return `${type.name}(${type.params.map(formatType).join(", ")})`;
  }
}

/** The text of a call's argument types: `string.(int, int)` with a target, `(int)` without. */
export function formatSignature(args: readonly Type[], member: boolean): string {
  const [target, ...rest] = args;
  if (member && target !== undefined)
    return `${formatType(target)}.(${rest.map(formatType).join(", ")})`;
  return `(${args.map(formatType).join(", ")})`;
}
