/** The checker's results for an expression, by node id. */
import type { Expr } from "../syntax/ast.ts";
import { DYN, type Type } from "../types/type.ts";
import type { Overload } from "./function-declaration.ts";

/** The declaration that a node refers to. */
export type Reference =
  /** A variable or local of this name; for a selection, the whole chain is the name. */
  | { readonly kind: "variable"; readonly name: string }
  | { readonly kind: "type"; readonly name: string }
  | {
      readonly kind: "function";
      readonly name: string;
      readonly overloads: readonly Overload[];
      /** The call's target is a part of the function's name. */
      readonly namespaced: boolean;
    };

export class CheckedExpr {
  readonly expr: Expr;
  readonly #types: ReadonlyMap<number, Type>;
  readonly #references: ReadonlyMap<number, Reference>;

  constructor(
    expr: Expr,
    types: ReadonlyMap<number, Type>,
    references: ReadonlyMap<number, Reference>,
  ) {
    this.expr = expr;
    this.#types = types;
    this.#references = references;
  }

  /** The type of the whole expression. */
  get type(): Type {
    return this.typeOf(this.expr);
  }

  typeOf(e: { readonly id: number }): Type {
    return this.#types.get(e.id) ?? DYN;
  }

  /** Variables of the environment that are referred to, and locals. */
  get variables(): ReadonlySet<string> {
    const names = new Set<string>();
    for (const reference of this.#references.values()) {
      if (reference.kind === "variable") names.add(reference.name.replace(/^\./, ""));
    }
    return names;
  }

  referenceOf(e: { readonly id: number }): Reference | undefined {
    return this.#references.get(e.id);
  }
}
