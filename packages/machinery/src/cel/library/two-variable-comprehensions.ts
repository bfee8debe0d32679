/** Comprehensions with two variables. `cel.@mapInsert` is what they fold maps with. */
import type { Library } from "../check/environment.ts";
import { fn, global } from "../check/function-declaration.ts";
import { MAP_INSERT, twoVariableMacros } from "../syntax/two-variable-macros.ts";
import { mapOf, typeParam } from "../types/type.ts";
import { insertInto, ValueMap } from "../values/collections.ts";
import type { StepCounter } from "../values/step-counter.ts";
import { CelError, type CelMap, type CelResult, type CelValue } from "../values/value.ts";

const K = typeParam("K");
const V = typeParam("V");
const MAP = mapOf(K, V);

export const twoVariableComprehensions: Library = {
  macros: twoVariableMacros,
  functions: [
    fn(
      MAP_INSERT,
      global(
        "@mapInsert_map_key_value",
        [MAP, K, V],
        MAP,
        (map: CelMap, k: CelValue, v: CelValue, s: StepCounter) => extended(map, [k, v], s),
      ),
      global("@mapInsert_map_map", [MAP, MAP], MAP, (map: CelMap, more: CelMap, s: StepCounter) =>
        extended(map, [more], s),
      ),
    ),
  ],
};

/** The planner grows maps in place; this is for folds that it does not recognize. */
function extended(map: CelMap, values: readonly CelValue[], steps: StepCounter): CelResult {
  steps.step(map.size + 1);
  const copy = new ValueMap();
  const problem = insertInto(copy, [map]) ?? insertInto(copy, values);
  return problem instanceof CelError ? problem : copy;
}
