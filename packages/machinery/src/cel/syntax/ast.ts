/**
 * The syntax tree of an expression after macro expansion.
 *
 * Nodes are plain and immutable; what the checker learns about them is kept beside them, by `id`.
 * `position` is the UTF-16 offset that a problem with the node is reported at, chosen as cel-go
 * does: the operator of an operation, the opening bracket of a call, the dot of a selection.
 */
export type Expr =
  | LiteralExpr
  | IdentExpr
  | SelectExpr
  | CallExpr
  | ListExpr
  | MapExpr
  | StructExpr
  | ComprehensionExpr;

interface Node {
  readonly id: number;
  readonly position: number;
}

/** A literal's value. Unsigned integers carry their own kind since a bigint means `int`. */
export type LiteralValue =
  | { readonly type: "null"; readonly value: null }
  | { readonly type: "bool"; readonly value: boolean }
  | { readonly type: "int"; readonly value: bigint }
  | { readonly type: "uint"; readonly value: bigint }
  | { readonly type: "double"; readonly value: number }
  | { readonly type: "string"; readonly value: string }
  | { readonly type: "bytes"; readonly value: Uint8Array };

export interface LiteralExpr extends Node {
  readonly kind: "literal";
  readonly literal: LiteralValue;
}

export interface IdentExpr extends Node {
  readonly kind: "ident";
  /** With a leading dot when the source has one. */
  readonly name: string;
}

export interface SelectExpr extends Node {
  readonly kind: "select";
  readonly operand: Expr;
  readonly field: string;
  /** True for `has(operand.field)`. */
  readonly testOnly: boolean;
}

export interface CallExpr extends Node {
  readonly kind: "call";
  readonly function: string;
  readonly target: Expr | undefined;
  readonly args: readonly Expr[];
  readonly macro?: MacroCall;
}

export interface ListExpr extends Node {
  readonly kind: "list";
  readonly elements: readonly Expr[];
  /** Indices of elements written as `?element`. */
  readonly optionalIndices: readonly number[];
}

export interface MapEntry {
  readonly id: number;
  readonly position: number;
  readonly key: Expr;
  readonly value: Expr;
  readonly optional: boolean;
}

export interface MapExpr extends Node {
  readonly kind: "map";
  readonly entries: readonly MapEntry[];
}

export interface StructField {
  readonly id: number;
  readonly position: number;
  readonly name: string;
  readonly value: Expr;
  readonly optional: boolean;
}

export interface StructExpr extends Node {
  readonly kind: "struct";
  readonly typeName: string;
  readonly fields: readonly StructField[];
}

/**
 * A fold: `accuVar` starts as `accuInit`; for each element of `iterRange`, as long as `condition`
 * holds, it becomes `step`; the value is `result`. An empty range with an `accuVar` of the user's
 * binds a local name.
 */
export interface ComprehensionExpr extends Node {
  readonly kind: "comprehension";
  readonly iterRange: Expr;
  readonly iterVar: string;
  /**
   * Set by two-variable comprehensions: then `iterVar` is the index or key and this one the value.
   */
  readonly iterVar2: string | undefined;
  readonly accuVar: string;
  readonly accuInit: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
  readonly macro?: MacroCall;
}

/** The call that a macro replaced, as the user wrote it. */
export interface MacroCall {
  readonly function: string;
  readonly target: Expr | undefined;
  readonly args: readonly Expr[];
}

/** The name that macros give to the accumulator; it cannot be written in an expression. */
export const ACCUMULATOR = "@result";

/** The accumulator's name in older parsers; still refused as a name for an iteration variable. */
export const ACCUMULATOR_LEGACY = "__result__";

/** The iteration variable of a comprehension that only binds a name. */
export const UNUSED_ITERATION_VARIABLE = "#unused";

/** Function names of the operators. */
export const Operator = {
  conditional: "_?_:_",
  and: "_&&_",
  or: "_||_",
  not: "!_",
  equals: "_==_",
  notEquals: "_!=_",
  less: "_<_",
  lessEquals: "_<=_",
  greater: "_>_",
  greaterEquals: "_>=_",
  add: "_+_",
  subtract: "_-_",
  multiply: "_*_",
  divide: "_/_",
  modulo: "_%_",
  negate: "-_",
  index: "_[_]",
  optIndex: "_[?_]",
  optSelect: "_?._",
  in: "@in",
  notStrictlyFalse: "@not_strictly_false",
} as const;

/** True for the comprehension that `cel.bind` and its kin expand to: a local name, no loop. */
export function isBinding(e: ComprehensionExpr): boolean {
  return (
    e.iterRange.kind === "list" &&
    e.iterRange.elements.length === 0 &&
    e.condition.kind === "literal" &&
    e.condition.literal.value === false &&
    e.accuVar !== ACCUMULATOR
  );
}
