/**
 * The declarations that an expression may refer to: variables, functions, types and macros.
 *
 * Libraries create an environment; `extend` adds variables and types to it and shares the rest, so
 * that one base serves every schema.
 */
import type { Macro, MacroTable } from "../syntax/macro.ts";
import { macroTable } from "../syntax/macro.ts";
import type { DeclaredType } from "../types/declared-type.ts";
import type { Type } from "../types/type.ts";
import type { CelResult, CelValue } from "../values/value.ts";
import type { FunctionDeclaration, Overload } from "./function-declaration.ts";

export interface Library {
  readonly functions?: readonly FunctionDeclaration[];
  readonly macros?: readonly Macro[];
  /** Types that may be named in an expression. */
  readonly types?: readonly Type[];
  /** Turns on `a.?b`, `a[?b]` and `{?k: v}`. */
  readonly optionalSyntax?: boolean;
}

/** Creates a value of a struct type from the fields of `Name{…}`. */
export type StructConstructor = (fields: ReadonlyMap<string, CelValue>) => CelResult;

export interface EnvironmentOptions {
  readonly libraries: readonly Library[];
  /** List and map literals must have elements of one type. */
  readonly homogeneousLiterals?: boolean;
  /**
   * Constant arguments of `duration`, `timestamp` and `matches` and format strings are checked when
   * compiling.
   */
  readonly validateLiterals?: boolean;
  /** The namespace that names are looked up in. */
  readonly container?: string;
}

export interface Extension {
  readonly variables?: Readonly<Record<string, DeclaredType>> | ReadonlyMap<string, DeclaredType>;
  /** Struct types that may be constructed, by the type's name. */
  readonly structs?: readonly { readonly type: Type; readonly construct: StructConstructor }[];
  readonly libraries?: readonly Library[];
  readonly container?: string;
}

export class Environment {
  readonly variables: ReadonlyMap<string, DeclaredType>;
  readonly functions: ReadonlyMap<string, FunctionDeclaration>;
  readonly types: ReadonlyMap<string, Type>;
  readonly constructors: ReadonlyMap<string, StructConstructor>;
  readonly macros: MacroTable;
  readonly optionalSyntax: boolean;
  readonly homogeneousLiterals: boolean;
  readonly validateLiterals: boolean;
  readonly container: string;
  readonly #libraries: readonly Library[];

  private constructor(parts: EnvironmentParts) {
    this.variables = parts.variables;
    this.types = parts.types;
    this.constructors = parts.constructors;
    this.functions = parts.functions;
    this.macros = parts.macros;
    this.optionalSyntax = parts.libraries.some((library) => library.optionalSyntax === true);
    this.homogeneousLiterals = parts.homogeneousLiterals;
    this.validateLiterals = parts.validateLiterals;
    this.container = parts.container;
    this.#libraries = parts.libraries;
  }

  static create(options: EnvironmentOptions): Environment {
    const { libraries } = options;
    return new Environment({
      variables: new Map(),
      constructors: new Map(),
      types: new Map(
        libraries.flatMap((library) => library.types ?? []).map((type) => [type.name, type]),
      ),
      functions: mergeFunctions(libraries),
      macros: macroTable(libraries.flatMap((library) => library.macros ?? [])),
      libraries,
      homogeneousLiterals: options.homogeneousLiterals ?? false,
      validateLiterals: options.validateLiterals ?? false,
      container: options.container ?? "",
    });
  }

  extend(extension: Extension): Environment {
    const { variables = new Map(), structs = [], libraries = [] } = extension;
    const entries = variables instanceof Map ? variables : Object.entries(variables);
    const all = [...this.#libraries, ...libraries];
    const base = libraries.length === 0 ? this : Environment.create({ libraries: all });
    return new Environment({
      variables: new Map([...this.variables, ...entries]),
      constructors: new Map([...this.constructors, ...structs.map(constructorEntry)]),
      types: new Map([...base.types, ...this.types, ...structs.map(typeEntry)]),
      functions: base.functions,
      macros: base.macros,
      libraries: all,
      homogeneousLiterals: this.homogeneousLiterals,
      validateLiterals: this.validateLiterals,
      container: extension.container ?? this.container,
    });
  }

  /** The names that `name` may mean, innermost namespace first. */
  candidates(name: string): string[] {
    if (name.startsWith(".")) return [name.slice(1)];
    const candidates: string[] = [];
    for (let prefix = this.container; prefix !== ""; ) {
      candidates.push(`${prefix}.${name}`);
      prefix = prefix.slice(0, Math.max(0, prefix.lastIndexOf(".")));
    }
    return [...candidates, name];
  }

  findFunction(name: string): FunctionDeclaration | undefined {
    return this.#first(name, this.functions);
  }

  findType(name: string): Type | undefined {
    return this.#first(name, this.types);
  }

  #first<T>(name: string, table: ReadonlyMap<string, T>): T | undefined {
    if (this.container === "" && !name.startsWith(".")) return table.get(name);
    for (const candidate of this.candidates(name)) {
      const found = table.get(candidate);
      if (found !== undefined) return found;
    }
    return undefined;
  }
}

interface EnvironmentParts {
  readonly variables: ReadonlyMap<string, DeclaredType>;
  readonly types: ReadonlyMap<string, Type>;
  readonly constructors: ReadonlyMap<string, StructConstructor>;
  readonly functions: ReadonlyMap<string, FunctionDeclaration>;
  readonly macros: MacroTable;
  readonly libraries: readonly Library[];
  readonly homogeneousLiterals: boolean;
  readonly validateLiterals: boolean;
  readonly container: string;
}

type Struct = NonNullable<Extension["structs"]>[number];

function constructorEntry({ type, construct }: Struct): [string, StructConstructor] {
  return [type.name, construct];
}

function typeEntry({ type }: Struct): [string, Type] {
  return [type.name, type];
}

function mergeFunctions(libraries: readonly Library[]): Map<string, FunctionDeclaration> {
  const merged = new Map<string, Overload[]>();
  for (const { name, overloads } of libraries.flatMap((library) => library.functions ?? [])) {
    merged.set(name, [...(merged.get(name) ?? []), ...overloads]);
  }
  return new Map([...merged].map(([name, overloads]) => [name, { name, overloads }]));
}
