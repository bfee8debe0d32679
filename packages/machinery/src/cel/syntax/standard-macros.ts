/**
 * The macros of the language: `has` and the one-variable comprehensions over lists and map keys.
 */
import { ACCUMULATOR, ACCUMULATOR_LEGACY, type Expr, Operator } from "./ast.ts";
import {
  type Macro,
  type MacroInput,
  type MacroProblem,
  macroProblem,
  variableName,
} from "./macro.ts";

export const standardMacros: readonly Macro[] = [
  { function: "has", argCount: 1, receiver: false, expand: expandHas },
  { function: "all", argCount: 2, receiver: true, expand: expandAll },
  { function: "exists", argCount: 2, receiver: true, expand: expandExists },
  { function: "exists_one", argCount: 2, receiver: true, expand: expandExistsOne },
  { function: "existsOne", argCount: 2, receiver: true, expand: expandExistsOne },
  { function: "map", argCount: 2, receiver: true, expand: expandMap },
  { function: "map", argCount: 3, receiver: true, expand: expandMap },
  { function: "filter", argCount: 2, receiver: true, expand: expandFilter },
];

export function expandMap(input: MacroInput): Expr | MacroProblem {
  const { make, position, args } = input;
  const iterVar = iterationVariable(input, "argument is not an identifier");
  if (typeof iterVar !== "string") return iterVar;
  const transform = argument(args, args.length - 1);
  const appended = make.call(position, Operator.add, [
    make.accumulator(position),
    make.list(position, [transform]),
  ]);
  const step =
    args.length === 3
      ? make.call(position, Operator.conditional, [
          argument(args, 1),
          appended,
          make.accumulator(position),
        ])
      : appended;
  return make.fold(position, {
    iterRange: requireTarget(input),
    iterVar,
    accuVar: ACCUMULATOR,
    accuInit: make.list(position, []),
    condition: make.bool(position, true),
    step,
    result: make.accumulator(position),
  });
}

function expandHas({ make, position, args }: MacroInput): Expr | MacroProblem {
  const argument0 = argument(args, 0);
  if (argument0.kind !== "select")
    return macroProblem(argument0, "invalid argument to has() macro");
  return make.presenceTest(position, argument0.operand, argument0.field);
}

function expandAll(input: MacroInput): Expr | MacroProblem {
  const iterVar = iterationVariable(input, "argument must be a simple name");
  if (typeof iterVar !== "string") return iterVar;
  return foldAll(input, { iterVar }, argument(input.args, 1));
}

function expandExists(input: MacroInput): Expr | MacroProblem {
  const iterVar = iterationVariable(input, "argument must be a simple name");
  if (typeof iterVar !== "string") return iterVar;
  return foldExists(input, { iterVar }, argument(input.args, 1));
}

function expandExistsOne(input: MacroInput): Expr | MacroProblem {
  const iterVar = iterationVariable(input, "argument must be a simple name");
  if (typeof iterVar !== "string") return iterVar;
  return foldExistsOne(input, { iterVar }, argument(input.args, 1));
}

function expandFilter(input: MacroInput): Expr | MacroProblem {
  const { make, position, args } = input;
  const iterVar = iterationVariable(input, "argument is not an identifier");
  if (typeof iterVar !== "string") return iterVar;
  const appended = make.call(position, Operator.add, [
    make.accumulator(position),
    make.list(position, [argument(args, 0)]),
  ]);
  return make.fold(position, {
    iterRange: requireTarget(input),
    iterVar,
    accuVar: ACCUMULATOR,
    accuInit: make.list(position, []),
    condition: make.bool(position, true),
    step: make.call(position, Operator.conditional, [
      argument(args, 1),
      appended,
      make.accumulator(position),
    ]),
    result: make.accumulator(position),
  });
}

/** One or two iteration variables. */
export interface IterationVariables {
  readonly iterVar: string;
  readonly iterVar2?: string;
}

export function foldAll(input: MacroInput, variables: IterationVariables, predicate: Expr): Expr {
  const { make, position } = input;
  return make.fold(position, {
    ...variables,
    iterRange: requireTarget(input),
    accuVar: ACCUMULATOR,
    accuInit: make.bool(position, true),
    condition: make.call(position, Operator.notStrictlyFalse, [make.accumulator(position)]),
    step: make.call(position, Operator.and, [make.accumulator(position), predicate]),
    result: make.accumulator(position),
  });
}

export function foldExists(
  input: MacroInput,
  variables: IterationVariables,
  predicate: Expr,
): Expr {
  const { make, position } = input;
  const notFound = make.call(position, Operator.not, [make.accumulator(position)]);
  return make.fold(position, {
    ...variables,
    iterRange: requireTarget(input),
    accuVar: ACCUMULATOR,
    accuInit: make.bool(position, false),
    condition: make.call(position, Operator.notStrictlyFalse, [notFound]),
    step: make.call(position, Operator.or, [make.accumulator(position), predicate]),
    result: make.accumulator(position),
  });
}

export function foldExistsOne(
  input: MacroInput,
  variables: IterationVariables,
  predicate: Expr,
): Expr {
  const { make, position } = input;
  const oneMore = make.call(position, Operator.add, [
    make.accumulator(position),
    make.int(position, 1n),
  ]);
  return make.fold(position, {
    ...variables,
    iterRange: requireTarget(input),
    accuVar: ACCUMULATOR,
    accuInit: make.int(position, 0n),
    condition: make.bool(position, true),
    step: make.call(position, Operator.conditional, [
      predicate,
      oneMore,
      make.accumulator(position),
    ]),
    result: make.call(position, Operator.equals, [
      make.accumulator(position),
      make.int(position, 1n),
    ]),
  });
}

/** The argument that the parser has counted already. */
export function argument(args: readonly Expr[], index: number): Expr {
  const found = args[index];
  if (found === undefined) throw new RangeError(`macro argument ${index} is missing`);
  return found;
}

export function requireTarget({ target }: MacroInput): Expr {
  if (target === undefined) throw new RangeError("macro target is missing");
  return target;
}

function iterationVariable({ args }: MacroInput, words: string): string | MacroProblem {
  const first = argument(args, 0);
  const name = variableName(first, words);
  if (name === ACCUMULATOR || name === ACCUMULATOR_LEGACY) {
    return macroProblem(first, "iteration variable overwrites accumulator variable");
  }
  return name;
}
