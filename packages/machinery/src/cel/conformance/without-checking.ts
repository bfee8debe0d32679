/**
 * Resolves names and calls without checking types: everything is dynamic, and mismatches become
 * errors at evaluation. Kubernetes always checks; this serves the conformance suite's unchecked
 * cases. Test support only.
 */
import { CheckedExpr, type Reference } from "../check/checked-expr.ts";
import type { Environment } from "../check/environment.ts";
import { qualifiedName } from "../check/qualified-name.ts";
import type { CallExpr, Expr } from "../syntax/ast.ts";
import type { Type } from "../types/type.ts";

export function withoutChecking(expr: Expr, environment: Environment): CheckedExpr {
  const references = new Map<number, Reference>();
  new Resolver(environment, references).visit(expr, []);
  return new CheckedExpr(expr, new Map<number, Type>(), references);
}

class Resolver {
  readonly #environment: Environment;
  readonly #references: Map<number, Reference>;

  constructor(environment: Environment, references: Map<number, Reference>) {
    this.#environment = environment;
    this.#references = references;
  }

  visit(e: Expr, locals: readonly string[]): void {
    switch (e.kind) {
      case "literal":
        return;
      case "ident":
        this.#name(e, e.name, locals);
        return;
      case "select":
        if (!e.testOnly && this.#qualified(e, locals)) return;
        this.visit(e.operand, locals);
        return;
      case "call":
        this.#call(e, locals);
        return;
      case "list":
        for (const element of e.elements) this.visit(element, locals);
        return;
      case "map":
        for (const { key, value } of e.entries) {
          this.visit(key, locals);
          this.visit(value, locals);
        }
        return;
      case "struct":
        for (const { value } of e.fields) this.visit(value, locals);
        return;
      case "comprehension": {
        this.visit(e.iterRange, locals);
        this.visit(e.accuInit, locals);
        const withAccumulator = [...locals, e.accuVar];
        const inLoop = [
          ...withAccumulator,
          e.iterVar,
          ...(e.iterVar2 === undefined ? [] : [e.iterVar2]),
        ];
        this.visit(e.condition, inLoop);
        this.visit(e.step, inLoop);
        this.visit(e.result, withAccumulator);
      }
    }
  }

  #name(e: Expr, name: string, locals: readonly string[]): boolean {
    if (locals.includes(name)) {
      this.#references.set(e.id, { kind: "variable", name });
      return true;
    }
    for (const candidate of this.#environment.candidates(name)) {
      const kind = this.#environment.variables.has(candidate)
        ? "variable"
        : this.#environment.types.has(candidate)
          ? "type"
          : undefined;
      if (kind === undefined) continue;
      const hidden = kind === "variable" && locals.includes(candidate);
      this.#references.set(e.id, { kind, name: hidden ? `.${candidate}` : candidate });
      return true;
    }
    return false;
  }

  #qualified(e: Expr, locals: readonly string[]): boolean {
    const name = qualifiedName(e);
    if (name === undefined || locals.includes(name.split(".")[0] ?? "")) return false;
    return this.#name(e, name, locals);
  }

  #call(e: CallExpr, locals: readonly string[]): void {
    for (const arg of e.args) this.visit(arg, locals);
    const prefix = e.target && qualifiedName(e.target);
    const namespaced = prefix && this.#environment.findFunction(`${prefix}.${e.function}`);
    const found = namespaced || this.#environment.findFunction(e.function);
    if (e.target !== undefined && !namespaced) this.visit(e.target, locals);
    if (!found) return;
    const member = e.target !== undefined && !namespaced;
    const count = e.args.length + (member ? 1 : 0);
    this.#references.set(e.id, {
      kind: "function",
      name: found.name,
      overloads: found.overloads.filter((o) => o.member === member && o.params.length === count),
      namespaced: Boolean(namespaced),
    });
  }
}
