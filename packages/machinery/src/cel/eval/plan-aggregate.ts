/**
 * List, map and struct literals. A literal of constants is built once and costs nothing, as in
 * cel-go.
 */
import { LIST_CREATE_COST, MAP_CREATE_COST, STRUCT_CREATE_COST } from "../cost/estimate.ts";
import type { ListExpr, MapExpr, StructExpr } from "../syntax/ast.ts";
import { ArrayList, EMPTY_LIST, ValueMap } from "../values/collections.ts";
import { CelError, CelOptional, type CelResult, type CelValue } from "../values/value.ts";
import {
  constantPlan,
  type Evaluate,
  isError,
  type Plan,
  type Planning,
  planStrict,
} from "./plan.ts";

export function planList(planning: Planning, e: ListExpr): Plan {
  const elements = e.elements.map((element) => planning.plan(element));
  const constants = elements.map(({ constant }) => constant);
  const optional = new Set(e.optionalIndices);
  if (optional.size === 0 && constants.every((constant) => constant !== undefined)) {
    return constantPlan(constants.length === 0 ? EMPTY_LIST : new ArrayList(constants));
  }
  const make = (runs: readonly Evaluate[]): Evaluate => {
    return (context) => {
      const values: CelValue[] = [];
      for (const [i, run] of runs.entries()) {
        const value = run(context);
        if (value instanceof CelError) return value;
        const kept = optional.has(i) ? unwrapOptional(value) : value;
        if (kept instanceof CelError) return kept;
        if (kept !== undefined) values.push(kept);
      }
      context.charge(LIST_CREATE_COST);
      return new ArrayList(values);
    };
  };
  return planStrict(elements, make, { stopsAt: isError });
}

/** What an optional entry contributes: its value, nothing, or an error if it is no optional. */
function unwrapOptional(value: CelValue): CelResult | undefined {
  if (value instanceof CelOptional) return value.value;
  return new CelError("cannot initialize optional list element from non-optional value");
}

export function planMap(planning: Planning, e: MapExpr): Plan {
  const entries = e.entries.map(({ key, value, optional }) => {
    return { key: planning.plan(key), value: planning.plan(value), optional };
  });
  const constants = new ValueMap();
  let allConstant = true;
  for (const { key, value, optional } of entries) {
    if (optional || key.constant === undefined || value.constant === undefined) allConstant = false;
    else if (constants.insert(key.constant, value.constant) !== undefined) allConstant = false;
  }
  if (allConstant) return constantPlan(constants);
  const make = (runs: readonly Evaluate[]): Evaluate => {
    return (context) => {
      const map = new ValueMap();
      for (const [i, { optional }] of entries.entries()) {
        const k = (runs[2 * i] as Evaluate)(context);
        if (k instanceof CelError) return k;
        const v = (runs[2 * i + 1] as Evaluate)(context);
        if (v instanceof CelError) return v;
        const kept = optional ? unwrapOptional(v) : v;
        if (kept instanceof CelError) return kept;
        if (kept === undefined) continue;
        const problem = map.insert(k, kept);
        if (problem !== undefined) return problem;
      }
      context.charge(MAP_CREATE_COST);
      return map;
    };
  };
  const parts = entries.flatMap(({ key, value }) => [key, value]);
  return planStrict(parts, make, { stopsAt: isError });
}

export function planStruct(planning: Planning, e: StructExpr): Plan {
  const reference = planning.checked.referenceOf(e);
  const typeName = reference?.kind === "type" ? reference.name : e.typeName;
  const construct = planning.environment.constructors.get(typeName);
  const fields = e.fields.map(({ name, value, optional }) => {
    return { name, value: planning.plan(value), optional };
  });
  if (construct === undefined) return { run: () => new CelError(`unknown type: ${typeName}`) };
  const make = (runs: readonly Evaluate[]): Evaluate => {
    return (context) => {
      const values = new Map<string, CelValue>();
      for (const [i, { name, optional }] of fields.entries()) {
        const v = (runs[i] as Evaluate)(context);
        if (v instanceof CelError) return v;
        const kept = optional ? unwrapOptional(v) : v;
        if (kept instanceof CelError) return kept;
        if (kept !== undefined) values.set(name, kept);
      }
      context.charge(STRUCT_CREATE_COST);
      return construct(values);
    };
  };
  const values = fields.map(({ value }) => value);
  return planStrict(values, make, { stopsAt: isError });
}
