/** Compiles text to a program: parse, check, validate, plan. */
import { type Resumable, runSync } from "../base/index.ts";
import { check } from "./check/checker.ts";
import type { Environment } from "./check/environment.ts";
import { validateLiterals } from "./check/literal-validation.ts";
import { ProgramProblem } from "./eval/plan.ts";
import { Program } from "./eval/program.ts";
import { COMPILATION_STEPS_MAX } from "./limits.ts";
import { parse } from "./syntax/parser.ts";
import { type Issue, printIssues } from "./syntax/source.ts";
import { isDyn, sameType, type Type } from "./types/type.ts";
import { type StepCounter, withStepCounter } from "./values/step-counter.ts";

export interface CompileOptions {
  /**
   * The permitted result types; any if absent. A dynamic result passes, unless types must be exact.
   */
  readonly resultTypes?: readonly Type[];
  readonly isExact?: boolean;
}

export type Compilation =
  | { readonly ok: true; readonly program: Program }
  | {
      readonly ok: false;
      readonly issues: readonly Issue[];
      /** All issues as cel-go prints them. */
      readonly message: string;
    };

export function compile(
  text: string,
  environment: Environment,
  options: CompileOptions = {},
): Compilation {
  return runSync(compileResumable(text, environment, options));
}

/** The same, yielding after each step: the limit of nodes bounds the time of a step. */
export function* compileResumable(
  text: string,
  environment: Environment,
  options: CompileOptions = {},
): Resumable<Compilation> {
  const parsed = parse(text, environment);
  if (!parsed.ok) return failure(text, parsed.issues);
  yield;
  const result = check(parsed.expr, environment);
  if (!result.ok) return failure(text, result.issues);
  yield;
  const { checked } = result;
  const issues = environment.validateLiterals
    ? withSteps(new CompilationSteps(), () => validateLiterals(checked))
    : [];
  yield;
  if (issues === undefined) return failureOfWhole(TOO_LARGE);
  if (issues.length > 0) return failure(text, issues);
  const { resultTypes, isExact = false } = options;
  if (resultTypes !== undefined && (isExact || !isDyn(checked.type))) {
    if (!resultTypes.some((type) => sameType(type, checked.type))) {
      return failureOfWhole(wrongResultType(resultTypes, checked.type));
    }
  }
  try {
    const program = withSteps(new CompilationSteps(), () => new Program(checked, environment));
    return program === undefined ? failureOfWhole(TOO_LARGE) : { ok: true, program };
  } catch (error) {
    if (!(error instanceof ProgramProblem)) throw error;
    return failureOfWhole(`program instantiation failed: ${error.message}`);
  }
}

const TOO_LARGE = "program instantiation failed: the constants of the expression are too large";

/** Thrown when validating the literals of an expression takes too long. */
class TooManySteps extends Error {
  override readonly name = "TooManySteps";
}

class CompilationSteps implements StepCounter {
  #left = COMPILATION_STEPS_MAX;

  step(count: number): void {
    this.#left -= count;
    if (this.#left < 0) throw new TooManySteps();
  }
}

/** The result of `run`; undefined when it took too many steps. */
function withSteps<Result>(steps: StepCounter, run: () => Result): Result | undefined {
  try {
    return withStepCounter(steps, run);
  } catch (error) {
    if (error instanceof TooManySteps) return undefined;
    throw error;
  }
}

function failureOfWhole(message: string): Compilation {
  return { ok: false, issues: [{ message, position: undefined }], message };
}

function failure(text: string, issues: readonly Issue[]): Compilation {
  return { ok: false, issues, message: printIssues(text, issues) };
}

function wrongResultType(wanted: readonly Type[], got: Type): string {
  const names = wanted.map(declaredName);
  const name = names.length === 1 ? names[0] : `one of [${names.join(" ")}]`;
  return `must evaluate to ${name} but got ${declaredName(got)}`;
}

/** Types by their declared names, which differ from those in cel-go's other messages. */
function declaredName({ name, params }: Type): string {
  return params.length === 0 ? name : `${name}(${params.map(declaredName).join(", ")})`;
}
