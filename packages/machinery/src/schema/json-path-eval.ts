/**
 * Evaluation of parsed JSONPaths. Missing keys have no results; upstream's errors throw
 * JsonPathError.
 */
import { WorkBudget, workBounds } from "../bounds/index.ts";
import { isJsonObject, type JsonValue } from "../json/index.ts";
import { type Filter, JsonPathError, type PathNode, type Slice } from "./json-path.ts";

/**
 * Throws BoundExceededError when the path takes more steps, or has more results, than the budget
 * allows.
 */
export function evaluateJsonPath(
  nodes: readonly PathNode[],
  root: JsonValue,
  budget = new WorkBudget(workBounds.path),
): JsonValue[] {
  return new PathEvaluation(budget).list([root], nodes);
}

/**
 * Charges every step, every value that it reads and every result, and results before they are
 * collected: the cost of a path is its output, which a union or a wildcard can make any multiple of
 * the object.
 */
class PathEvaluation {
  readonly #budget: WorkBudget;

  constructor(budget: WorkBudget) {
    this.#budget = budget;
  }

  list(input: readonly JsonValue[], nodes: readonly PathNode[]): JsonValue[] {
    let current = input as JsonValue[];
    for (const node of nodes) {
      this.#budget.charge(1 + current.length);
      current = this.#step(current, node);
    }
    return current;
  }

  #step(input: readonly JsonValue[], node: PathNode): JsonValue[] {
    const found: JsonValue[] = [];
    switch (node.kind) {
      case "field":
        for (const value of input)
          if (isJsonObject(value) && Object.hasOwn(value, node.name))
            found.push(value[node.name] as JsonValue);
        return found;
      case "wildcard":
        for (const value of input) this.#add(found, children(value));
        return found;
      case "recursive":
        this.#descend(found, input);
        return found;
      case "slice":
        for (const value of input) this.#slice(found, value, node.slice);
        return found;
      case "union":
        for (const branch of node.branches) this.#add(found, this.list(input, branch));
        return found;
      case "filter":
        for (const value of input) this.#filter(found, value, node.filter);
        return found;
      case "literal":
        return [node.value];
    }
  }

  /** Pushed one by one: a call with very many arguments fails. */
  #add(found: JsonValue[], more: readonly JsonValue[]): void {
    this.#budget.charge(more.length);
    for (const value of more) found.push(value);
  }

  /** Every container at or below, outermost first. */
  #descend(found: JsonValue[], input: readonly JsonValue[]): void {
    for (const value of input) {
      const below = children(value);
      if (below.length === 0) continue;
      this.#budget.charge(1 + below.length);
      found.push(value);
      this.#descend(found, below);
    }
  }

  #filter(found: JsonValue[], value: JsonValue, filter: Filter): void {
    if (!Array.isArray(value))
      throw new JsonPathError(`${goText(value)} is not array or slice and cannot be filtered`);
    for (const item of value as readonly JsonValue[])
      if (this.#passes(item, filter)) this.#add(found, [item]);
  }

  #passes(item: JsonValue, { left, operator, right }: Filter): boolean {
    this.#budget.charge();
    const lefts = this.list([item], left);
    if (operator === "exists") return lefts.length > 0;
    const leftValue = only(lefts);
    if (leftValue === undefined) return false;
    const rightValue = only(this.list([item], right));
    if (rightValue === undefined) return false;
    this.#budget.charge(comparedUnits(leftValue, rightValue));
    return compare(leftValue, operator, rightValue);
  }

  #slice(found: JsonValue[], value: JsonValue, slice: Slice): void {
    const range = rangeOf(value, slice);
    if (range === undefined) return;
    const { from, to, step } = range;
    this.#budget.charge(Math.ceil((to - from) / step));
    for (let i = from; i < to; i += step)
      found.push((value as readonly JsonValue[])[i] as JsonValue);
  }
}

function only(values: readonly JsonValue[]): JsonValue | undefined {
  if (values.length > 1) throw new JsonPathError("can only compare one element at a time");
  return values[0];
}

function compare(left: JsonValue, operator: string, right: JsonValue): boolean {
  const comparable =
    (isNumber(left) && isNumber(right)) ||
    (typeof left === typeof right && typeof left !== "object");
  if (!comparable) throw new JsonPathError("incompatible types for comparison");
  const a = left as string | number;
  const b = right as string | number;
  if (typeof left === "boolean" && operator !== "==" && operator !== "!=")
    throw new JsonPathError("invalid type for comparison");
  switch (operator) {
    case "==":
      // biome-ignore lint/suspicious/noDoubleEquals: a bigint and a number may stand for the same integer here.
      return a == b;
    case "!=":
      // biome-ignore lint/suspicious/noDoubleEquals: as above.
      return a != b;
    case "<":
      return a < b;
    case "<=":
      return a <= b;
    case ">":
      return a > b;
    case ">=":
      return a >= b;
    default:
      throw new JsonPathError(`unrecognized filter operator ${operator}`);
  }
}

function isNumber(value: JsonValue): boolean {
  return typeof value === "number" || typeof value === "bigint";
}

/** The array itself, not to be changed: a copy would have to be charged. */
function children(value: JsonValue): readonly JsonValue[] {
  if (Array.isArray(value)) return value as readonly JsonValue[];
  return isJsonObject(value) ? Object.values(value) : [];
}

interface IndexRange {
  readonly from: number;
  readonly to: number;
  readonly step: number;
}

/** Undefined when there is no such element. */
function rangeOf(value: JsonValue, { start, end, step, isIndex }: Slice): IndexRange | undefined {
  if (value === null) return undefined;
  if (!Array.isArray(value)) throw new JsonPathError(`${goText(value)} is not array or slice`);
  const { length } = value;
  const from = (start ?? 0) < 0 ? (start ?? 0) + length : (start ?? 0);
  let to = isIndex ? from + 1 : (end ?? length);
  if (to < 0) to += length;
  if (from === to) return undefined;
  if (from >= length || from < 0) throw outOfBounds(from, length);
  if (to > length || to < 0) throw outOfBounds(to - 1, length);
  if (from > to)
    throw new JsonPathError(`starting index ${from} is greater than ending index ${to}`);
  if (step !== undefined && step <= 0) throw new JsonPathError("step must be > 0");
  return { from, to, step: step ?? 1 };
}

/** Texts are compared character by character. */
function comparedUnits(left: JsonValue, right: JsonValue): number {
  if (typeof left !== "string" || typeof right !== "string") return 0;
  return Math.min(left.length, right.length) >> 6;
}

function outOfBounds(index: number, length: number): JsonPathError {
  return new JsonPathError(`array index out of bounds: index ${index}, length ${length}`);
}

/** Go's name of the type in such an error. */
function goText(value: JsonValue): string {
  if (typeof value === "string") return "string";
  if (typeof value === "boolean") return "bool";
  if (isNumber(value))
    return Number.isInteger(value) || typeof value === "bigint" ? "int64" : "float64";
  return "map[string]interface {}";
}
