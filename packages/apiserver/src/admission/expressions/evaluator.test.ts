/** The cost limit of one expression of a policy together with the variables that it uses. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runSync } from "@kcp-ts/machinery/base";
import { COST_PER_CALL_MAX, COST_PER_OBJECT_MAX } from "@kcp-ts/machinery/cel";
import type { AdmissionRequest } from "../admission.ts";
import { AuthorizerDecisions } from "./decisions.ts";
import { Evaluator } from "./evaluator.ts";
import { expressionOf } from "./expression.ts";

describe("variables of a policy", () => {
  const values = {
    object: { list: Array.from({ length: 300 }, (_, i) => i) },
    oldObject: null,
    request: {},
    namespaceObject: null,
  };
  /** The cost of each is several hundred thousand. */
  const expensive = "object.list.all(x, object.list.all(y, y >= 0 && x >= 0))";
  const variables = Array.from({ length: 8 }, (_, i) => ({
    name: `v${i}`,
    expression: expressionOf(`${expensive} && ${i} >= 0`, "variable"),
  }));
  const evaluator = () =>
    new Evaluator(
      values,
      new AuthorizerDecisions({} as AdmissionRequest, { authorize: undefined } as never),
      { costMax: COST_PER_OBJECT_MAX, variables },
    );

  it("cost no more than one call in total when one expression uses all of them", () => {
    const current = evaluator();
    const names = variables.map(({ name }) => `variables.${name}`).join(" && ");
    const { error } = runSync(current.evaluate(expressionOf(names, "validation")));
    assert.match(error ?? "", /actual cost limit exceeded/);
    assert.ok(COST_PER_OBJECT_MAX - current.remaining < 1.1 * COST_PER_CALL_MAX);
  });

  it("have the full limit each when expressions use them one by one", () => {
    const current = evaluator();
    for (const { name } of variables) {
      const expression = expressionOf(`variables.${name}`, "validation");
      assert.equal(runSync(current.evaluate(expression)).value, true);
    }
    assert.ok(COST_PER_OBJECT_MAX - current.remaining > 2 * COST_PER_CALL_MAX);
  });

  for (const text of [
    "variables.v0",
    "has(variables.v0)",
    "variables['v0']",
    "[variables].all(v, v.v0)",
    "variables[?'v0'].orValue(false)",
  ]) {
    it(`yield to the event loop: ${text}`, () => {
      const work = evaluator().evaluate(expressionOf(text, "validation"));
      let pieces = 1;
      let next = work.next();
      for (; next.done !== true; next = work.next()) pieces++;
      assert.equal(next.value.value, true);
      assert.ok(pieces >= 20, `${pieces} pieces`);
    });
  }
});
