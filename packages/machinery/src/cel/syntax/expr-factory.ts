/**
 * Makes syntax nodes: gives out ids and counts them, so that no macro can blow an expression up
 * without bound.
 */
import { EXPRESSION_NODES_MAX } from "../limits.ts";
import {
  ACCUMULATOR,
  type CallExpr,
  type ComprehensionExpr,
  type Expr,
  type IdentExpr,
  type ListExpr,
  type LiteralExpr,
  type LiteralValue,
  type MapEntry,
  type MapExpr,
  type SelectExpr,
  type StructExpr,
  type StructField,
} from "./ast.ts";

/** Thrown through the parser when an expression as a whole is refused. */
export class ExpressionLimitError extends Error {
  override readonly name = "ExpressionLimitError";
}

export interface Fold {
  readonly iterRange: Expr;
  readonly iterVar: string;
  readonly iterVar2?: string;
  readonly accuVar: string;
  readonly accuInit: Expr;
  readonly condition: Expr;
  readonly step: Expr;
  readonly result: Expr;
}

export class ExprFactory {
  #lastId = 0;

  /** How many ids were given out; ids run from 1 to this. */
  get nodeCount(): number {
    return this.#lastId;
  }

  nextId(): number {
    if (++this.#lastId > EXPRESSION_NODES_MAX) {
      throw new ExpressionLimitError(
        `expression node count exceeds limit: ${EXPRESSION_NODES_MAX}`,
      );
    }
    return this.#lastId;
  }

  literal(position: number, literal: LiteralValue): LiteralExpr {
    return { kind: "literal", id: this.nextId(), position, literal };
  }

  bool(position: number, value: boolean): LiteralExpr {
    return this.literal(position, { type: "bool", value });
  }

  int(position: number, value: bigint): LiteralExpr {
    return this.literal(position, { type: "int", value });
  }

  ident(position: number, name: string): IdentExpr {
    return { kind: "ident", id: this.nextId(), position, name };
  }

  accumulator(position: number): IdentExpr {
    return this.ident(position, ACCUMULATOR);
  }

  select(position: number, operand: Expr, field: string): SelectExpr {
    return { kind: "select", id: this.nextId(), position, operand, field, testOnly: false };
  }

  presenceTest(position: number, operand: Expr, field: string): SelectExpr {
    return { kind: "select", id: this.nextId(), position, operand, field, testOnly: true };
  }

  call(position: number, name: string, args: readonly Expr[]): CallExpr {
    return { kind: "call", id: this.nextId(), position, function: name, target: undefined, args };
  }

  memberCall(position: number, name: string, target: Expr, args: readonly Expr[]): CallExpr {
    return { kind: "call", id: this.nextId(), position, function: name, target, args };
  }

  list(
    position: number,
    elements: readonly Expr[],
    optionalIndices: readonly number[] = [],
  ): ListExpr {
    return { kind: "list", id: this.nextId(), position, elements, optionalIndices };
  }

  map(position: number, entries: readonly MapEntry[]): MapExpr {
    return { kind: "map", id: this.nextId(), position, entries };
  }

  struct(position: number, typeName: string, fields: readonly StructField[]): StructExpr {
    return { kind: "struct", id: this.nextId(), position, typeName, fields };
  }

  fold(position: number, fold: Fold): ComprehensionExpr {
    const { iterVar2, ...rest } = fold;
    return { kind: "comprehension", id: this.nextId(), position, iterVar2, ...rest };
  }

  /** A copy with new ids, so that the checker may learn different things about it. */
  copy(e: Expr): Expr {
    const id = this.nextId();
    switch (e.kind) {
      case "literal":
      case "ident":
        return { ...e, id };
      case "select":
        return { ...e, id, operand: this.copy(e.operand) };
      case "call":
        return { ...e, id, target: e.target && this.copy(e.target), args: this.#copyAll(e.args) };
      case "list":
        return { ...e, id, elements: this.#copyAll(e.elements) };
      case "map": {
        const entries = e.entries.map((entry) => {
          const entryId = this.nextId();
          return {
            ...entry,
            id: entryId,
            key: this.copy(entry.key),
            value: this.copy(entry.value),
          };
        });
        return { ...e, id, entries };
      }
      case "struct": {
        const fields = e.fields.map((field) => {
          return { ...field, id: this.nextId(), value: this.copy(field.value) };
        });
        return { ...e, id, fields };
      }
      case "comprehension":
        return {
          ...e,
          id,
          iterRange: this.copy(e.iterRange),
          accuInit: this.copy(e.accuInit),
          condition: this.copy(e.condition),
          step: this.copy(e.step),
          result: this.copy(e.result),
        };
    }
  }

  #copyAll(list: readonly Expr[]): Expr[] {
    return list.map((e) => this.copy(e));
  }
}
