/**
 * The known sizes of an expression's parts while its cost is estimated.
 *
 * Sizes come, in this order, from an estimate of the part itself, from literals, from the
 * declaration at the part's path, from its type (scalars have size one), and from the binding of a
 * local variable.
 */
import type { CheckedExpr } from "../check/checked-expr.ts";
import type { Environment } from "../check/environment.ts";
import { ACCUMULATOR, type ComprehensionExpr, type Expr } from "../syntax/ast.ts";
import { codePointCount } from "../syntax/source.ts";
import { type DeclaredType, declaredDynamic, declaredString } from "../types/declared-type.ts";
import { isOptional, type Type } from "../types/type.ts";
import { fixed, ONE, type SizeEstimate, union } from "./estimate.ts";

/** Sizes of the keys (or indices) and values of a list or map. */
export interface EntrySize {
  readonly container: "list" | "map";
  readonly key: SizeEstimate;
  readonly value: SizeEstimate;
}

export interface Local {
  readonly name: string;
  /** Undefined: its binding has no path. */
  readonly declared: DeclaredType | undefined;
  readonly size: SizeEstimate | undefined;
  readonly entrySize: EntrySize | undefined;
}

/** Kubernetes' estimator assumes that the keys of a map have no length. */
const DECLARED_KEY = declaredString({ maxLength: 0 });

/** The size at a path without a declaration: unbounded. */
const NOWHERE: DeclaredType = declaredDynamic;

export class SizeEstimator {
  readonly #checked: CheckedExpr;
  readonly #environment: Environment;
  readonly #sizes = new Map<number, SizeEstimate>();
  readonly #entrySizes = new Map<number, EntrySize>();
  readonly #declared = new Map<number, DeclaredType>();
  readonly #locals: Local[] = [];

  constructor(checked: CheckedExpr, environment: Environment) {
    this.#checked = checked;
    this.#environment = environment;
  }

  /**
   * Records the declaration of a name. In Kubernetes' estimator every path starts at `self`,
   * whatever its first step is: the name of a type, as in `type(self.port) == int`, thereby has the
   * size of `self` and is not unbounded; and so has an element of a value without a path, as in
   * `(has(self.list) ? self.list : []).exists(x, …)`, whose path begins with the step to the
   * element.
   */
  placeIdent(e: Expr, name: string): void {
    const local = this.#find(name);
    if (local !== undefined) this.#place(e, local.declared);
    else this.#place(e, this.#root ?? this.#environment.variables.get(name.replace(/^\./, "")));
  }

  placeField(e: Expr, operand: Expr, field: string): void {
    this.#place(
      e,
      this.#step(operand, ({ fields }) => fields?.get(field)?.declared),
    );
  }

  placeElement(e: Expr, operand: Expr): void {
    this.#place(
      e,
      this.#step(operand, ({ element }) => element),
    );
  }

  #place(e: Expr, declared: DeclaredType | undefined): void {
    if (declared !== undefined) this.#declared.set(e.id, declared);
  }

  get #root(): DeclaredType | undefined {
    return this.#environment.variables.get("self");
  }

  /** One step further than where `from` leads. */
  #step(from: Expr, next: (declared: DeclaredType) => DeclaredType | undefined): DeclaredType {
    const declared = this.#declaredOf(from);
    return (declared === undefined ? this.#root : next(declared)) ?? NOWHERE;
  }

  size(e: Expr): SizeEstimate | undefined {
    const known = this.#sizes.get(e.id) ?? literalSize(e);
    if (known !== undefined) return known;
    const elementsMax = this.#declaredOf(e)?.elementsMax;
    if (elementsMax !== undefined) {
      const size = { min: 0, max: elementsMax };
      this.#sizes.set(e.id, size);
      return size;
    }
    if (isScalar(this.#checked.typeOf(e))) return ONE;
    return e.kind === "ident" ? this.#find(e.name)?.size : undefined;
  }

  setSize(e: Expr, size: SizeEstimate | undefined): void {
    if (size !== undefined) this.#sizes.set(e.id, size);
  }

  entrySize(e: Expr): EntrySize | undefined {
    return (
      this.#entrySizes.get(e.id) ?? (e.kind === "ident" ? this.#find(e.name)?.entrySize : undefined)
    );
  }

  setEntrySize(e: Expr, entrySize: EntrySize): void {
    this.#entrySizes.set(e.id, entrySize);
  }

  copySizes(to: Expr, from: Expr): void {
    this.setSize(to, this.size(from));
    const entrySize = this.entrySize(from);
    if (entrySize !== undefined) this.setEntrySize(to, entrySize);
  }

  /** The entries of `e` may be those of either operand. */
  joinEntrySizes(e: Expr, left: Expr, right: Expr): void {
    const a = this.entrySize(left);
    const b = this.entrySize(right);
    if (a === undefined || b === undefined) return;
    this.setEntrySize(e, {
      container: a.container,
      key: union(a.key, b.key),
      value: union(a.value, b.value),
    });
  }

  /** The size of a list's elements, if the list has a declaration. */
  declaredElementSize(e: Expr): SizeEstimate | undefined {
    const elementsMax = this.#declaredOf(e)?.element?.elementsMax;
    return elementsMax === undefined ? undefined : { min: 0, max: elementsMax };
  }

  local(name: string, bound: Expr): Local {
    // Accumulators have no declaration, whatever their initial value.
    const declared = name === ACCUMULATOR ? undefined : this.#declaredOf(bound);
    return { name, declared, size: this.size(bound), entrySize: this.entrySize(bound) };
  }

  /** The iteration variables of a comprehension. */
  iterationLocals(e: ComprehensionExpr): Local[] {
    const entries = this.entrySize(e.iterRange);
    const isList = (entries?.container ?? this.#checked.typeOf(e.iterRange).kind) === "list";
    const element = this.#step(e.iterRange, (declared) => declared.element);
    const value = { declared: element, size: entries?.value, entrySize: undefined };
    const keyDeclared = this.#step(e.iterRange, (declared) =>
      isList || declared.element === undefined ? undefined : DECLARED_KEY,
    );
    const key = { declared: keyDeclared, size: entries?.key, entrySize: undefined };
    if (e.iterVar2 === undefined) return [{ name: e.iterVar, ...(isList ? value : key) }];
    return [
      { name: e.iterVar, ...key },
      { name: e.iterVar2, ...value },
    ];
  }

  withLocals<T>(locals: readonly Local[], action: () => T): T {
    this.#locals.push(...locals);
    const result = action();
    this.#locals.length -= locals.length;
    return result;
  }

  #find(name: string): Local | undefined {
    return this.#locals.findLast((local) => local.name === name);
  }

  #declaredOf(e: Expr): DeclaredType | undefined {
    const local = e.kind === "ident" ? this.#find(e.name) : undefined;
    return local === undefined ? this.#declared.get(e.id) : local.declared;
  }
}

/** The exact size of a literal. */
function literalSize(e: Expr): SizeEstimate | undefined {
  switch (e.kind) {
    case "literal":
      if (e.literal.type === "string") return fixed(codePointCount(e.literal.value));
      return e.literal.type === "bytes" ? fixed(e.literal.value.length) : ONE;
    case "list":
      return fixed(e.elements.length);
    case "map":
      return fixed(e.entries.length);
    default:
      return undefined;
  }
}

function isScalar(type: Type): boolean {
  switch (type.kind) {
    case "bool":
    case "double":
    case "duration":
    case "int":
    case "timestamp":
    case "uint":
      return true;
    default:
      return isOptional(type) && isScalar(type.param(0));
  }
}
