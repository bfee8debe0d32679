/**
 * The type checker: assigns a type to every node and a declaration to every name and call, or
 * reports a problem.
 *
 * The rules and the texts are those of cel-go. Checking continues after a problem, with the error
 * type, so that one pass finds all problems.
 */
import {
  type CallExpr,
  type ComprehensionExpr,
  type Expr,
  type IdentExpr,
  type ListExpr,
  type MapExpr,
  Operator,
  type SelectExpr,
  type StructExpr,
} from "../syntax/ast.ts";
import type { Issue } from "../syntax/source.ts";
import { mostGeneral, Substitution } from "../types/substitution.ts";
import {
  BOOL,
  BYTES,
  DOUBLE,
  DYN,
  ERROR,
  formatType,
  INT,
  isDyn,
  isOptional,
  listOf,
  mapOf,
  NULL,
  optionalOf,
  STRING,
  type Type,
  typeOf,
  typeParam,
  UINT,
} from "../types/type.ts";
import { CheckedExpr, type Reference } from "./checked-expr.ts";
import type { Environment } from "./environment.ts";
import type { FunctionDeclaration } from "./function-declaration.ts";
import { resolveOverloads } from "./overload-resolution.ts";
import { qualifiedName, qualifiedPath } from "./qualified-name.ts";
import { Scopes } from "./scopes.ts";

export type CheckResult =
  | { readonly ok: true; readonly checked: CheckedExpr }
  | { readonly ok: false; readonly issues: readonly Issue[] };

export function check(expr: Expr, environment: Environment): CheckResult {
  const checker = new Checker(environment);
  checker.check(expr);
  if (checker.issues.length > 0) return { ok: false, issues: checker.issues };
  return { ok: true, checked: checker.finish(expr) };
}

const LITERAL_TYPES = {
  null: NULL,
  bool: BOOL,
  int: INT,
  uint: UINT,
  double: DOUBLE,
  string: STRING,
  bytes: BYTES,
} as const;

class Checker {
  readonly issues: Issue[] = [];
  readonly #environment: Environment;
  readonly #types = new Map<number, Type>();
  readonly #references = new Map<number, Reference>();
  readonly #substitution = new Substitution();
  readonly #scopes = new Scopes();
  #typeVariables = 0;

  constructor(environment: Environment) {
    this.#environment = environment;
  }

  finish(expr: Expr): CheckedExpr {
    const types = new Map<number, Type>();
    for (const [id, type] of this.#types) {
      types.set(id, this.#substitution.apply(type, { unboundToDyn: true }));
    }
    return new CheckedExpr(expr, types, this.#references);
  }

  check(e: Expr): Type {
    const type = this.#typeOfExpr(e);
    this.#types.set(e.id, type);
    return type;
  }

  #typeOfExpr(e: Expr): Type {
    switch (e.kind) {
      case "literal":
        return LITERAL_TYPES[e.literal.type];
      case "ident":
        return this.#ident(e);
      case "select":
        return this.#select(e);
      case "call":
        return this.#call(e);
      case "list":
        return this.#list(e);
      case "map":
        return this.#map(e);
      case "struct":
        return this.#struct(e);
      case "comprehension":
        return this.#comprehension(e);
    }
  }

  #report(at: { readonly position: number }, message: string): void {
    this.issues.push({ message, position: at.position });
  }

  #undeclared(at: { readonly position: number }, name: string): Type {
    this.#report(
      at,
      `undeclared reference to '${name}' (in container '${this.#environment.container}')`,
    );
    return ERROR;
  }

  #typeVariable(): Type {
    return typeParam(`_var${this.#typeVariables++}`);
  }

  /** The type with the currently known parameters substituted. */
  #current(type: Type): Type {
    return this.#substitution.apply(type, { unboundToDyn: false });
  }

  #ident(e: IdentExpr): Type {
    const local = e.name.startsWith(".") ? undefined : this.#scopes.find(e.name);
    if (local !== undefined) {
      this.#references.set(e.id, { kind: "variable", name: e.name });
      return local;
    }
    return this.#global(e, e.name) ?? this.#undeclared(e, e.name);
  }

  #global(e: Expr, name: string): Type | undefined {
    for (const candidate of this.#environment.candidates(name)) {
      const variable = this.#environment.variables.get(candidate);
      if (variable !== undefined) {
        // A local of the same name would hide the variable: the leading dot keeps them apart.
        const hidden = this.#scopes.find(candidate) !== undefined;
        this.#references.set(e.id, {
          kind: "variable",
          name: hidden ? `.${candidate}` : candidate,
        });
        return variable.type;
      }
      const type = this.#environment.types.get(candidate);
      if (type !== undefined) {
        this.#references.set(e.id, { kind: "type", name: candidate });
        return typeOf(type);
      }
    }
    return undefined;
  }

  #select(e: SelectExpr): Type {
    const path = e.testOnly ? undefined : qualifiedPath(e);
    if (path !== undefined) {
      const hidden = !path.root.startsWith(".") && this.#scopes.find(path.root) !== undefined;
      const global = hidden ? undefined : this.#global(e, path.name);
      if (global !== undefined) return global;
    }
    const type = this.#field(e, e.operand, e.field);
    return e.testOnly ? BOOL : this.#current(type);
  }

  #field(e: Expr, operand: Expr, field: string): Type {
    this.check(operand);
    const operandType = this.#current(this.#types.get(operand.id) ?? ERROR);
    const target = isOptional(operandType) ? operandType.param(0) : operandType;
    const found = this.#fieldOf(e, target, field);
    return isOptional(operandType) ? optionalOf(found) : found;
  }

  #fieldOf(e: Expr, target: Type, field: string): Type {
    switch (target.kind) {
      case "map":
        return target.param(1);
      case "struct": {
        const found = target.fieldOf?.(field);
        if (found !== undefined) return found;
        this.#report(e, `undefined field '${field}'`);
        return ERROR;
      }
      case "param":
        this.#substitution.assignable(DYN, target);
        return DYN;
      default:
        if (!isDyn(target) && target.kind !== "error") {
          this.#report(e, `type '${formatType(target)}' does not support field selection`);
        }
        return DYN;
    }
  }

  #call(e: CallExpr): Type {
    if (e.function === Operator.optSelect) return this.#optionalSelect(e);
    for (const arg of e.args) this.check(arg);
    if (e.target === undefined) {
      const found = this.#environment.findFunction(e.function);
      if (found === undefined) return this.#undeclared(e, e.function);
      return this.#resolve(e, found, { namespaced: false });
    }
    const prefix = qualifiedName(e.target);
    if (prefix !== undefined) {
      const namespaced = this.#environment.findFunction(`${prefix}.${e.function}`);
      if (namespaced !== undefined) return this.#resolve(e, namespaced, { namespaced: true });
    }
    this.check(e.target);
    const found = this.#environment.findFunction(e.function);
    if (found === undefined) return this.#undeclared(e, e.function);
    return this.#resolve(e, found, { namespaced: false });
  }

  #optionalSelect(e: CallExpr): Type {
    const [operand, field] = e.args;
    if (operand === undefined || field?.kind !== "literal" || field.literal.type !== "string") {
      this.#report(e, "unsupported optional field selection");
      return ERROR;
    }
    this.check(field);
    const type = this.#field(e, operand, field.literal.value);
    const declaration = this.#environment.findFunction(Operator.optSelect);
    this.#references.set(e.id, {
      kind: "function",
      name: Operator.optSelect,
      overloads: declaration?.overloads ?? [],
      namespaced: false,
    });
    return this.#current(isOptional(type) ? type : optionalOf(type));
  }

  #resolve(
    e: CallExpr,
    declaration: FunctionDeclaration,
    { namespaced }: { namespaced: boolean },
  ): Type {
    const target = namespaced ? undefined : e.target;
    const operands = target === undefined ? e.args : [target, ...e.args];
    const resolution = resolveOverloads({
      declaration,
      member: target !== undefined,
      operands: operands.map((operand) => ({
        at: operand,
        type: this.#types.get(operand.id) ?? ERROR,
      })),
      substitution: this.#substitution,
      newTypeVariable: () => this.#typeVariable(),
    });
    if (!resolution.ok) {
      for (const { at, message } of resolution.problems) this.#report(at ?? e, message);
      return ERROR;
    }
    const { overloads, type } = resolution;
    this.#references.set(e.id, { kind: "function", name: declaration.name, overloads, namespaced });
    return type;
  }

  #list(e: ListExpr): Type {
    let joined: Type | undefined;
    const optional = new Set(e.optionalIndices);
    for (const [i, element] of e.elements.entries()) {
      const type = this.#element(element, optional.has(i));
      joined = this.#join(element, joined, type);
    }
    return listOf(joined ?? this.#typeVariable());
  }

  /** The type of an element, or of the content of an optional element. */
  #element(element: Expr, optional: boolean): Type {
    const type = this.check(element);
    if (!optional) return type;
    if (isOptional(type)) return type.param(0);
    if (!isDyn(type)) this.#mismatch(element, optionalOf(type), type);
    return type;
  }

  #mismatch(at: Expr, expected: Type, found: Type): void {
    this.#report(at, `expected type '${formatType(expected)}' but found '${formatType(found)}'`);
  }

  #join(at: Expr, previous: Type | undefined, next: Type): Type {
    if (previous === undefined) return next;
    if (this.#substitution.assignable(previous, next)) return mostGeneral(previous, next);
    if (!this.#environment.homogeneousLiterals) return DYN;
    this.#mismatch(at, previous, next);
    return ERROR;
  }

  #map(e: MapExpr): Type {
    let key: Type | undefined;
    let value: Type | undefined;
    for (const entry of e.entries) {
      key = this.#join(entry.key, key, this.check(entry.key));
      value = this.#join(entry.value, value, this.#element(entry.value, entry.optional));
    }
    return mapOf(key ?? this.#typeVariable(), value ?? this.#typeVariable());
  }

  #struct(e: StructExpr): Type {
    const type = this.#environment.findType(e.typeName);
    if (type === undefined) return this.#undeclared(e, e.typeName);
    for (const field of e.fields) this.check(field.value);
    if (type.kind !== "struct") {
      this.#report(e, `'${formatType(type)}' is not a message type`);
      return ERROR;
    }
    this.#references.set(e.id, { kind: "type", name: type.name });
    for (const field of e.fields) {
      const wanted = this.#fieldOf({ ...e, position: field.position }, type, field.name);
      let given = this.#types.get(field.value.id) ?? ERROR;
      if (field.optional) {
        if (isOptional(given)) given = given.param(0);
        else if (!isDyn(given)) this.#mismatch(field.value, optionalOf(given), given);
      }
      if (!this.#substitution.assignable(wanted, given)) {
        const words = `but provided type is '${formatType(given)}'`;
        this.#report(
          field,
          `expected type of field '${field.name}' is '${formatType(wanted)}' ${words}`,
        );
      }
    }
    return type;
  }

  #comprehension(e: ComprehensionExpr): Type {
    this.check(e.iterRange);
    const accuType = this.check(e.accuInit);
    const range = this.#current(this.#types.get(e.iterRange.id) ?? ERROR);
    const [first, second] = this.#iterationTypes(e, range);
    const locals = [{ name: e.iterVar, type: first }];
    if (e.iterVar2 !== undefined) locals.push({ name: e.iterVar2, type: second });
    return this.#scopes.with([{ name: e.accuVar, type: accuType }], () => {
      this.#scopes.with(locals, () => {
        this.#assertType(e.condition, BOOL);
        this.#assertType(e.step, accuType);
      });
      return this.#current(this.check(e.result));
    });
  }

  #assertType(e: Expr, expected: Type): void {
    const type = this.check(e);
    if (!this.#substitution.assignable(expected, type)) this.#mismatch(e, expected, type);
  }

  #iterationTypes(e: ComprehensionExpr, range: Type): readonly [Type, Type] {
    const two = e.iterVar2 !== undefined;
    switch (range.kind) {
      case "list":
        return two ? [INT, range.param(0)] : [range.param(0), DYN];
      case "map":
        return [range.param(0), range.param(1)];
      case "dyn":
      case "any":
      case "error":
      case "param":
        this.#substitution.assignable(DYN, range);
        return [DYN, DYN];
      default: {
        const words = "cannot be range of a comprehension (must be list, map, or dynamic)";
        this.#report(e.iterRange, `expression of type '${formatType(range)}' ${words}`);
        return [ERROR, ERROR];
      }
    }
  }
}
