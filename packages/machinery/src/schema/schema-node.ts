/**
 * The compiled form of a schema: the keywords of pruning, defaulting and validation.
 *
 * Nodes are immutable and shared: equal sub-schemas of one schema are one node (a Deployment's
 * three container lists, its hundred plain strings). Documentation is removed. A node knows the
 * features of its subtree (`reach`), so that a walk skips subtrees without work.
 */
import type { JsonValue } from "../json/index.ts";
import { compilePattern, type Pattern } from "./pattern.ts";
import type { SchemaProps, ValidationRule } from "./schema-props.ts";

/** Bits of `types`. No bit: any type. */
export const typeBit = {
  string: 1,
  number: 2,
  integer: 4,
  boolean: 8,
  array: 16,
  object: 32,
} as const;

/** Bits of `reach`: somewhere at or below this node there is … */
export const reachBit = { default: 1, listType: 2, embedded: 4, rules: 8 } as const;

export type PlainType = "" | "string" | "boolean" | "integer" | "int32" | "number";

export interface SchemaNode {
  /** Unique in one compiled schema, and the same for equal sub-schemas. */
  readonly id: number;
  readonly types: number;
  /** `integer`, or `integer,string`, as in error texts. */
  readonly typeText: string;
  readonly nullable: boolean;
  /** Empty when the format is unknown for the type: such formats are ignored. */
  readonly format: string;
  readonly properties: ReadonlyMap<string, SchemaNode> | undefined;
  readonly additional: SchemaNode | boolean | undefined;
  readonly items: SchemaNode | undefined;
  readonly default: JsonValue | undefined;
  /** Names of the properties that have defaults. */
  readonly defaulted: readonly string[];
  readonly preserve: boolean;
  readonly embedded: boolean;
  readonly listType: string | undefined;
  readonly listMapKeys: readonly string[];
  readonly checks: ValueChecks | undefined;
  /**
   * The only scalar type of a node without other keywords, so that most fields of most objects are
   * validated by one check.
   */
  readonly plain: PlainType;
  readonly rules: RuleSource | undefined;
  readonly reach: number;
}

/**
 * Rules keep their schema until an evaluator has compiled them, because CEL derives its types from
 * it.
 */
export interface RuleSource {
  readonly rules: readonly ValidationRule[];
  readonly schema: SchemaProps;
}

/** The keywords that validate a value; most nodes have none. */
export interface ValueChecks {
  readonly maximum: number | undefined;
  readonly exclusiveMaximum: boolean;
  readonly minimum: number | undefined;
  readonly exclusiveMinimum: boolean;
  readonly multipleOf: number | undefined;
  readonly maxLength: number | undefined;
  readonly minLength: number | undefined;
  readonly pattern: LazyPattern | undefined;
  readonly maxItems: number | undefined;
  readonly minItems: number | undefined;
  readonly uniqueItems: boolean;
  readonly maxProperties: number | undefined;
  readonly minProperties: number | undefined;
  readonly required: readonly string[];
  readonly enum: EnumValues | undefined;
  readonly allOf: readonly SchemaNode[];
  readonly anyOf: readonly SchemaNode[];
  readonly oneOf: readonly SchemaNode[];
  readonly not: SchemaNode | undefined;
}

export interface EnumValues {
  /**
   * `supported values: "a", "b"`, created lazily: it can be long, and every error of an object
   * shows it.
   */
  readonly listed: () => string;
  readonly scalars: ReadonlySet<JsonValue>;
  /** Canonical texts of objects and arrays. */
  readonly compounds: ReadonlySet<string>;
}

/** Compiled at the first match: most patterns of a large schema are never used. */
export class LazyPattern {
  readonly source: string;
  #compiled: Pattern | Error | undefined;

  constructor(source: string) {
    this.source = source;
  }

  get(): Pattern | Error {
    this.#compiled ??= compilePattern(this.source);
    return this.#compiled;
  }
}
