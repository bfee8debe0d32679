/**
 * Type inference: which type stands for which type parameter, and whether one type fits another.
 *
 * The rules are those of cel-go's checker. A failed attempt is undone from a trail instead of
 * working on a copy, so that checking stays near linear in the size of an expression.
 */
import { isDyn, listOf, mapOf, sameType, Type, typeOf } from "./type.ts";

export class Substitution {
  readonly #bound = new Map<string, Type>();
  readonly #trail: { name: string; before: Type | undefined }[] = [];

  /**
   * True if a value of type `from` may stand where `to` is wanted; parameters are bound on the way.
   */
  assignable(from: Type, to: Type): boolean {
    return this.#attempt(() => this.#assignable(from, to));
  }

  allAssignable(from: readonly Type[], to: readonly Type[]): boolean {
    return this.#attempt(() => this.#allAssignable(from, to));
  }

  /** `type` with bound parameters replaced; the others become dyn if asked. */
  apply(type: Type, options: { unboundToDyn: boolean }): Type {
    if (type.kind === "param") {
      const bound = this.#bound.get(type.name);
      if (bound !== undefined) return this.apply(bound, options);
      return options.unboundToDyn ? DYN_TYPE : type;
    }
    const [first, second] = type.params;
    if (first === undefined) return type;
    switch (type.kind) {
      case "list":
        return listOf(this.apply(first, options));
      case "map":
        return mapOf(this.apply(first, options), this.apply(second ?? DYN_TYPE, options));
      case "type":
        return typeOf(this.apply(first, options));
      case "opaque":
        return new Type("opaque", type.name, {
          params: type.params.map((param) => this.apply(param, options)),
        });
      default:
        return type;
    }
  }

  #attempt(action: () => boolean): boolean {
    const fits = action();
    if (!fits) {
      for (const { name, before } of this.#trail.reverse()) {
        if (before === undefined) this.#bound.delete(name);
        else this.#bound.set(name, before);
      }
    }
    if (this.#trail.length > 0) this.#trail.length = 0;
    return fits;
  }

  #bind(name: string, type: Type): void {
    this.#trail.push({ name, before: this.#bound.get(name) });
    this.#bound.set(name, type);
  }

  #assignable(from: Type, to: Type): boolean {
    if (to.kind === "param") {
      const fit = this.#substitute(from, to);
      if (fit.fits) return true;
      if (fit.wasBound) return false;
    }
    if (from.kind === "param") return this.#substitute(to, from).fits;
    if (isWildcard(from) || isWildcard(to)) return true;
    if (from.kind === "null") return isNullable(to);
    if (to.kind === "null") return isNullable(from);
    if (from.kind === "type") return to.kind === "type";
    if (from.kind !== to.kind || from.name !== to.name) return false;
    return this.#allAssignable(from.params, to.params);
  }

  #allAssignable(from: readonly Type[], to: readonly Type[]): boolean {
    if (from.length !== to.length) return false;
    return from.every((type, i) => this.#assignable(type, to[i] ?? DYN_TYPE));
  }

  /** Tries to let `type` stand for `param`. */
  #substitute(type: Type, param: Type): { fits: boolean; wasBound: boolean } {
    if (type.kind === "param" && type.name === param.name) return { fits: true, wasBound: true };
    const bound = this.#bound.get(param.name);
    if (bound !== undefined) {
      if (sameType(type, bound)) return { fits: true, wasBound: true };
      if (!this.#assignable(type, bound)) return { fits: false, wasBound: true };
      const general = mostGeneral(type, bound);
      if (this.#absentFrom(param, general)) this.#bind(param.name, general);
      return { fits: true, wasBound: true };
    }
    if (!this.#absentFrom(param, type)) return { fits: false, wasBound: false };
    this.#bind(param.name, type);
    return { fits: true, wasBound: false };
  }

  /** The occurs check: a parameter may not stand for a type that it is part of. */
  #absentFrom(param: Type, within: Type): boolean {
    if (within.kind === "param") {
      if (within.name === param.name) return false;
      const bound = this.#bound.get(within.name);
      return bound === undefined || this.#absentFrom(param, bound);
    }
    return within.params.every((type) => this.#absentFrom(param, type));
  }
}

const DYN_TYPE = new Type("dyn", "dyn");

function isWildcard(type: Type): boolean {
  return type.kind === "dyn" || type.kind === "any" || type.kind === "error";
}

/** cel-go keeps null assignable to these for compatibility. */
function isNullable(type: Type): boolean {
  switch (type.kind) {
    case "null":
    case "opaque":
    case "struct":
    case "timestamp":
    case "duration":
      return true;
    default:
      return type.wrapper;
  }
}

/** The more general of two types that fit each other. */
export function mostGeneral(a: Type, b: Type): Type {
  return equalOrLessSpecific(a, b) ? a : b;
}

function equalOrLessSpecific(a: Type, b: Type): boolean {
  if (isDyn(a) || a.kind === "param") return true;
  if (isDyn(b) || b.kind === "param") return false;
  if (a.kind !== b.kind) return false;
  switch (a.kind) {
    case "opaque":
      if (a.name !== b.name || a.params.length !== b.params.length) return false;
      return a.params.every((param, i) => equalOrLessSpecific(param, b.param(i)));
    case "list":
    case "map":
      return a.params.every((param, i) => equalOrLessSpecific(param, b.param(i)));
    case "type":
      return true;
    default:
      return sameType(a, b);
  }
}
