/** Finds the overloads that a call may mean. Several remain when argument types are dynamic. */
import type { Expr } from "../syntax/ast.ts";
import { Operator } from "../syntax/ast.ts";
import { Substitution } from "../types/substitution.ts";
import {
  BOOL,
  DYN,
  formatSignature,
  formatType,
  isDyn,
  sameType,
  type Type,
  type TypeKind,
  typeParam,
} from "../types/type.ts";
import type { FunctionDeclaration, Overload } from "./function-declaration.ts";

export interface CallToResolve {
  readonly declaration: FunctionDeclaration;
  readonly member: boolean;
  /** The target, if there is one, and the arguments. */
  readonly operands: readonly { readonly at: Expr; readonly type: Type }[];
  readonly substitution: Substitution;
  readonly newTypeVariable: () => Type;
}

export type Resolution =
  | { readonly ok: true; readonly overloads: readonly Overload[]; readonly type: Type }
  | {
      readonly ok: false;
      readonly problems: readonly { readonly at: Expr | undefined; readonly message: string }[];
    };

export function resolveOverloads(call: CallToResolve): Resolution {
  const { declaration, member, operands, substitution } = call;
  if (declaration.name === Operator.and || declaration.name === Operator.or)
    return resolveLogic(call);
  const types = operands.map(({ type }) => type);
  const overloads: Overload[] = [];
  let result: Type | undefined;
  for (const overload of declaration.overloads) {
    if (overload.member !== member || overload.params.length !== types.length) continue;
    if (!mayFit(types, overload.params)) continue;
    const signature = instantiate(overload, call.newTypeVariable);
    if (!substitution.allAssignable(types, signature.params)) continue;
    overloads.push(overload);
    const type = substitution.apply(signature.result, { unboundToDyn: false });
    if (result === undefined) result = type;
    else if (!isDyn(result) && !sameType(result, type)) result = DYN;
  }
  if (result !== undefined) return { ok: true, overloads, type: result };
  const shown = types.map((type) => substitution.apply(type, { unboundToDyn: true }));
  const signature = formatSignature(shown, member);
  const message = `found no matching overload for '${declaration.name}' applied to '${signature}'`;
  return { ok: false, problems: [{ at: undefined, message }] };
}

/** `&&` and `||` name the operand that is not a bool. */
function resolveLogic({ declaration, operands, substitution }: CallToResolve): Resolution {
  const problems = operands
    .filter(({ type }) => !substitution.assignable(type, BOOL))
    .map(({ at, type }) => ({
      at,
      message: `expected type 'bool' but found '${formatType(type)}'`,
    }));
  if (problems.length > 0) return { ok: false, problems };
  return { ok: true, overloads: declaration.overloads, type: BOOL };
}

const PRIMITIVES: ReadonlySet<TypeKind> = new Set<TypeKind>([
  "bool",
  "int",
  "uint",
  "double",
  "string",
  "bytes",
]);

/** Excludes quickly what most overloads of an operator fail on: a primitive of another kind. */
function mayFit(types: readonly Type[], params: readonly Type[]): boolean {
  for (const [i, param] of params.entries()) {
    const kind = types[i]?.kind;
    if (
      kind !== undefined &&
      kind !== param.kind &&
      PRIMITIVES.has(kind) &&
      PRIMITIVES.has(param.kind)
    ) {
      return false;
    }
  }
  return true;
}

interface Signature {
  readonly params: readonly Type[];
  readonly result: Type;
}

/** The overload's signature with type variables of this call's own. */
function instantiate(overload: Overload, newTypeVariable: () => Type): Signature {
  const names = paramNames(overload);
  if (names.size === 0) return overload;
  const fresh = new Substitution();
  for (const name of names) fresh.assignable(newTypeVariable(), typeParam(name));
  const apply = (type: Type) => fresh.apply(type, { unboundToDyn: false });
  return { params: overload.params.map(apply), result: apply(overload.result) };
}

const paramNamesKnown = new WeakMap<Overload, ReadonlySet<string>>();

function paramNames(overload: Overload): ReadonlySet<string> {
  const known = paramNamesKnown.get(overload);
  if (known !== undefined) return known;
  const names = new Set<string>();
  for (const type of [...overload.params, overload.result]) collectParams(type, names);
  paramNamesKnown.set(overload, names);
  return names;
}

function collectParams(type: Type, names: Set<string>): void {
  if (type.kind === "param") names.add(type.name);
  for (const param of type.params) collectParams(param, names);
}
