/**
 * Comprehensions over index and element, or key and value: `all`, `exists`, `transformList` and
 * their kin.
 */
import { ACCUMULATOR, ACCUMULATOR_LEGACY, type Expr, Operator } from "./ast.ts";
import {
  type Macro,
  type MacroInput,
  type MacroProblem,
  macroProblem,
  variableName,
} from "./macro.ts";
import {
  argument,
  foldAll,
  foldExists,
  foldExistsOne,
  type IterationVariables,
  requireTarget,
} from "./standard-macros.ts";

/**
 * The function that `transformMap` and `transformMapEntry` fold with; it cannot be written in an
 * expression.
 */
export const MAP_INSERT = "cel.@mapInsert";

export const twoVariableMacros: readonly Macro[] = [
  quantifier("all", foldAll),
  quantifier("exists", foldExists),
  quantifier("existsOne", foldExistsOne),
  quantifier("exists_one", foldExistsOne),
  ...transform("transformList", (input, _variables, value) => {
    const { make, position } = input;
    const accumulator = make.accumulator(position);
    return make.call(position, Operator.add, [accumulator, make.list(position, [value])]);
  }),
  ...transform("transformMap", ({ make, position }, { iterVar }, value) => {
    const key = make.ident(position, iterVar);
    return make.call(position, MAP_INSERT, [make.accumulator(position), key, value]);
  }),
  ...transform("transformMapEntry", ({ make, position }, _variables, value) => {
    return make.call(position, MAP_INSERT, [make.accumulator(position), value]);
  }),
];

function quantifier(
  name: string,
  fold: (input: MacroInput, variables: IterationVariables, predicate: Expr) => Expr,
): Macro {
  const expand = (input: MacroInput) => {
    const variables = iterationVariables(input);
    return "kind" in variables ? variables : fold(input, variables, argument(input.args, 2));
  };
  return { function: name, argCount: 3, receiver: true, expand };
}

function transform(
  name: string,
  makeStep: (input: MacroInput, variables: IterationVariables, value: Expr) => Expr,
): Macro[] {
  const expand = (input: MacroInput) => {
    const variables = iterationVariables(input);
    if ("kind" in variables) return variables;
    const { make, position, args } = input;
    const inserted = makeStep(input, variables, argument(args, args.length - 1));
    const step =
      args.length === 3
        ? inserted
        : make.call(position, Operator.conditional, [
            argument(args, 2),
            inserted,
            make.accumulator(position),
          ]);
    return make.fold(position, {
      ...variables,
      iterRange: requireTarget(input),
      accuVar: ACCUMULATOR,
      accuInit: name === "transformList" ? make.list(position, []) : make.map(position, []),
      condition: make.bool(position, true),
      step,
      result: make.accumulator(position),
    });
  };
  return [3, 4].map((argCount) => ({ function: name, argCount, receiver: true, expand }));
}

function iterationVariables({ args }: MacroInput): Required<IterationVariables> | MacroProblem {
  const first = argument(args, 0);
  const second = argument(args, 1);
  const iterVar = variableName(first, "argument must be a simple name");
  if (typeof iterVar !== "string") return iterVar;
  const iterVar2 = variableName(second, "argument must be a simple name");
  if (typeof iterVar2 !== "string") return iterVar2;
  if (iterVar === iterVar2) return macroProblem(second, `duplicate variable name: ${iterVar}`);
  for (const [at, name] of [
    [first, iterVar],
    [second, iterVar2],
  ] as const) {
    if (name === ACCUMULATOR || name === ACCUMULATOR_LEGACY) {
      return macroProblem(at, "iteration variable overwrites accumulator variable");
    }
  }
  return { iterVar, iterVar2 };
}
