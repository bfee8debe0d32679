/** Evaluation of parsed JSONPaths. Missing keys give no results; what upstream treats as an error throws JsonPathError. */
import { isJsonObject, type JsonValue } from "../json/index.ts";
import { type Filter, JsonPathError, type PathNode, type Slice } from "./json-path.ts";

/** Values that one path, or all paths of a row of a table together, may look at in one object. */
export const pathVisitsMax = 50_000;

export function evaluateJsonPath(
  nodes: readonly PathNode[],
  root: JsonValue,
  evaluation = new PathEvaluation(),
): JsonValue[] {
  return evaluation.list([root], nodes);
}

/** Counts what is looked at. */
export class PathEvaluation {
  #visits = 0;

  list(input: JsonValue[], nodes: readonly PathNode[]): JsonValue[] {
    let current = input;
    for (const node of nodes) current = this.#step(current, node);
    return current;
  }

  #step(input: JsonValue[], node: PathNode): JsonValue[] {
    this.#visits += input.length;
    if (this.#visits > pathVisitsMax)
      throw new JsonPathError(`path looks at more than ${pathVisitsMax} values`);
    switch (node.kind) {
      case "field":
        return input.flatMap((value) =>
          isJsonObject(value) && Object.hasOwn(value, node.name)
            ? [value[node.name] as JsonValue]
            : [],
        );
      case "wildcard":
        return input.flatMap(children);
      case "recursive":
        return this.#recursive(input);
      case "slice":
        return input.flatMap((value) => slice(value, node.slice));
      case "union":
        return node.branches.flatMap((branch) => this.list(input, branch));
      case "filter":
        return input.flatMap((value) => this.#filter(value, node.filter));
      case "literal":
        return [node.value];
    }
  }

  /** Every container at or below, outermost first. */
  #recursive(input: readonly JsonValue[]): JsonValue[] {
    const found: JsonValue[] = [];
    for (const value of input) {
      const below = children(value);
      if (below.length === 0) continue;
      this.#visits += below.length;
      if (this.#visits > pathVisitsMax)
        throw new JsonPathError(`path looks at more than ${pathVisitsMax} values`);
      found.push(value);
      for (const item of this.#recursive(below)) found.push(item);
    }
    return found;
  }

  #filter(value: JsonValue, filter: Filter): JsonValue[] {
    if (!Array.isArray(value))
      throw new JsonPathError(`${goText(value)} is not array or slice and cannot be filtered`);
    return (value as readonly JsonValue[]).filter((item) => {
      const lefts = this.list([item], filter.left);
      if (filter.operator === "exists") return lefts.length > 0;
      const left = only(lefts);
      if (left === undefined) return false;
      const right = only(this.list([item], filter.right));
      return right !== undefined && compare(left, filter.operator, right);
    });
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

function children(value: JsonValue): JsonValue[] {
  if (Array.isArray(value)) return value.slice() as JsonValue[];
  return isJsonObject(value) ? Object.values(value) : [];
}

function slice(value: JsonValue, { start, end, step, isIndex }: Slice): JsonValue[] {
  if (value === null) return [];
  if (!Array.isArray(value)) throw new JsonPathError(`${goText(value)} is not array or slice`);
  const { length } = value;
  const from = (start ?? 0) < 0 ? (start ?? 0) + length : (start ?? 0);
  let to = isIndex ? from + 1 : (end ?? length);
  if (to < 0) to += length;
  if (from === to) return [];
  if (from >= length || from < 0) throw outOfBounds(from, length);
  if (to > length || to < 0) throw outOfBounds(to - 1, length);
  if (from > to)
    throw new JsonPathError(`starting index ${from} is greater than ending index ${to}`);
  if (step !== undefined && step <= 0) throw new JsonPathError("step must be > 0");
  const taken: JsonValue[] = [];
  for (let i = from; i < to; i += step ?? 1) taken.push(value[i] as JsonValue);
  return taken;
}

function outOfBounds(index: number, length: number): JsonPathError {
  return new JsonPathError(`array index out of bounds: index ${index}, length ${length}`);
}

/** How Go names the type in such an error. */
function goText(value: JsonValue): string {
  if (typeof value === "string") return "string";
  if (typeof value === "boolean") return "bool";
  if (isNumber(value))
    return Number.isInteger(value) || typeof value === "bigint" ? "int64" : "float64";
  return "map[string]interface {}";
}
