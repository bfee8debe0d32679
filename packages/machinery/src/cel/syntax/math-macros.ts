/** `math.least` and `math.greatest`, which take any number of arguments. */
import type { Expr } from "./ast.ts";
import {
  type Macro,
  type MacroInput,
  type MacroProblem,
  macroProblem,
  targetIsNamespace,
} from "./macro.ts";
import { argument, requireTarget } from "./standard-macros.ts";

export const mathMacros: readonly Macro[] = [
  { function: "least", argCount: undefined, receiver: true, expand: extreme("least", "math.@min") },
  {
    function: "greatest",
    argCount: undefined,
    receiver: true,
    expand: extreme("greatest", "math.@max"),
  },
];

function extreme(name: string, implementation: string): Macro["expand"] {
  return (input: MacroInput): Expr | MacroProblem | undefined => {
    const { make, position, target, args } = input;
    if (!targetIsNamespace(target, "math")) return undefined;
    if (args.length === 0) {
      return macroProblem(requireTarget(input), `math.${name}() requires at least one argument`);
    }
    if (args.length === 1) {
      const only = argument(args, 0);
      if (isNumericList(only) || mayBeNumber(only))
        return make.call(position, implementation, args);
      return macroProblem(only, `math.${name}() invalid single argument value`);
    }
    const wrong = args.find((arg) => !mayBeNumber(arg));
    if (wrong !== undefined) {
      return macroProblem(wrong, `math.${name}() simple literal arguments must be numeric`);
    }
    const all = args.length === 2 ? args : [make.list(position, args)];
    return make.call(position, implementation, all);
  };
}

function mayBeNumber(e: Expr): boolean {
  if (e.kind === "literal") return ["int", "uint", "double"].includes(e.literal.type);
  return e.kind !== "list" && e.kind !== "map" && e.kind !== "struct";
}

function isNumericList(e: Expr): boolean {
  return e.kind === "list" && e.elements.length > 0 && e.elements.every(mayBeNumber);
}
