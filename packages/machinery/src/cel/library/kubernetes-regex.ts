/** `find` and `findAll`. The planner compiles constant patterns; these serve the others. */
import type { Library } from "../check/environment.ts";
import { type CallContext, fn, member } from "../check/function-declaration.ts";
import type { CallEstimator } from "../cost/call-estimate.ts";
import { patternCost } from "../cost/sizes.ts";
import { patternEstimate } from "../cost/standard-estimates.ts";
import { INT, listOf, STRING } from "../types/type.ts";
import { ArrayList } from "../values/collections.ts";
import { CelError, type CelResult } from "../values/value.ts";

const STRING_LIST = listOf(STRING);

/** The longest result is that every character is a match of its own. */
const estimate: CallEstimator = (call) => {
  const matched = patternEstimate(call);
  return matched && { ...matched, resultSize: { min: 0, max: call.target?.size.max ?? 0 } };
};
const price = { cost: patternCost, estimate };

export const kubernetesRegex: Library = {
  functions: [
    fn("find", member("string_find_string", [STRING, STRING], STRING, find, price)),
    fn(
      "findAll",
      member(
        "string_find_all_string",
        [STRING, STRING],
        STRING_LIST,
        (text: string, source: string, c: CallContext) => findAll(text, source, -1n, c),
        price,
      ),
      member("string_find_all_string_int", [STRING, STRING, INT], STRING_LIST, findAll, price),
    ),
  ],
};

function find(text: string, source: string, context: CallContext): CelResult {
  const pattern = context.pattern(source);
  if (pattern instanceof CelError) return new CelError(`Illegal regex: ${pattern.message}`);
  context.step(pattern.findSteps(text));
  return pattern.find(text) ?? "";
}

function findAll(text: string, source: string, limit: bigint, context: CallContext): CelResult {
  const pattern = context.pattern(source);
  if (pattern instanceof CelError) return new CelError(`Illegal regex: ${pattern.message}`);
  context.step(pattern.findSteps(text));
  return new ArrayList(pattern.findAll(text, Number(limit)));
}
