/** Macros that give a value a local name: `cel.bind`, `optMap`, `optFlatMap` and `sortBy`. */
import { type Expr, Operator, UNUSED_ITERATION_VARIABLE } from "./ast.ts";
import {
  type Macro,
  type MacroInput,
  type MacroProblem,
  macroProblem,
  targetIsNamespace,
  variableName,
} from "./macro.ts";
import { argument, expandMap, requireTarget } from "./standard-macros.ts";

/** The function that `sortBy` calls; it cannot be written in an expression. */
export const SORT_BY_ASSOCIATED_KEYS = "@sortByAssociatedKeys";

export const bindingMacros: readonly Macro[] = [
  { function: "bind", argCount: 3, receiver: true, expand: expandBind },
];

export const optionalMacros: readonly Macro[] = [
  { function: "optMap", argCount: 2, receiver: true, expand: expandOptMap },
  { function: "optFlatMap", argCount: 2, receiver: true, expand: expandOptFlatMap },
];

export const sortByMacros: readonly Macro[] = [
  { function: "sortBy", argCount: 2, receiver: true, expand: expandSortBy },
];

function expandBind(input: MacroInput): Expr | MacroProblem | undefined {
  const { args, target } = input;
  if (!targetIsNamespace(target, "cel")) return undefined;
  const name = variableName(
    argument(args, 0),
    "cel.bind() variable names must be simple identifiers",
  );
  if (typeof name !== "string") return name;
  return bind(input, { name, value: argument(args, 1), result: argument(args, 2) });
}

function expandOptMap(input: MacroInput): Expr | MacroProblem {
  const { make, position, args } = input;
  const name = variableName(
    argument(args, 0),
    "optMap() variable name must be a simple identifier",
  );
  if (typeof name !== "string") return name;
  return whenPresent(input, name, (bound) => make.call(position, "optional.of", [bound]));
}

function expandOptFlatMap(input: MacroInput): Expr | MacroProblem {
  const name = variableName(
    argument(input.args, 0),
    "optFlatMap() variable name must be a simple identifier",
  );
  if (typeof name !== "string") return name;
  return whenPresent(input, name, (bound) => bound);
}

/** `target.hasValue() ? wrap(name = target.value() in args[1]) : optional.none()` */
function whenPresent(input: MacroInput, name: string, wrap: (bound: Expr) => Expr): Expr {
  const { make, position, args } = input;
  const target = requireTarget(input);
  const hasValue = make.memberCall(position, "hasValue", target, []);
  const value = make.memberCall(position, "value", make.copy(target), []);
  const bound = bind(input, { name, value, result: argument(args, 1) });
  const none = make.call(position, "optional.none", []);
  return make.call(position, Operator.conditional, [hasValue, wrap(bound), none]);
}

function expandSortBy(input: MacroInput): Expr | MacroProblem {
  const { make, position, args } = input;
  const target = requireTarget(input);
  if (target.kind === "literal" || target.kind === "map" || target.kind === "struct") {
    return macroProblem(
      target,
      "sortBy can only be applied to a list, identifier, comprehension, call or select expression",
    );
  }
  const name = "@__sortBy_input__";
  const keys = expandMap({ make, position, target: make.ident(position, name), args });
  if (keys.kind === "problem") return keys;
  const sorted = make.memberCall(position, SORT_BY_ASSOCIATED_KEYS, make.ident(position, name), [
    keys,
  ]);
  return bind(input, { name, value: target, result: sorted });
}

function bind(
  { make, position }: MacroInput,
  binding: { name: string; value: Expr; result: Expr },
): Expr {
  return make.fold(position, {
    iterRange: make.list(position, []),
    iterVar: UNUSED_ITERATION_VARIABLE,
    accuVar: binding.name,
    accuInit: binding.value,
    condition: make.bool(position, false),
    step: make.ident(position, binding.name),
    result: binding.result,
  });
}
