/** Evaluations rest, wherever in an expression the loop is that takes long. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compile } from "../compile.ts";
import { bindingsLibrary } from "../library/bindings.ts";
import { kubernetesEnvironment } from "../library/kubernetes-environment.ts";
import { WORK_PER_YIELD_MAX } from "../limits.ts";
import { declaredDynamic } from "../types/declared-type.ts";
import { ArrayList } from "../values/collections.ts";
import type { Program } from "./program.ts";

const environment = kubernetesEnvironment.extend({
  variables: { list: declaredDynamic },
  libraries: [bindingsLibrary],
});
const list = Array.from({ length: 200 }, (_, i) => `t${i % 7}`);

function programOf(text: string): Program {
  const compilation = compile(text, environment);
  assert.ok(compilation.ok, compilation.ok ? "" : compilation.message);
  return compilation.program;
}

/** Some 300,000 units of cost. */
const long = "list.all(x, list.all(y, x == y || x != y))";

const places: readonly (readonly [text: string, result: unknown])[] = [
  [long, true],
  [`!(${long})`, false],
  [`${long} && true`, true],
  [`false || ${long}`, true],
  [`${long} ? 1 : 2`, 1n],
  [`true ? ${long} : false`, true],
  [`string(${long})`, "true"],
  [`${long} == true`, true],
  [`${long} in [true]`, true],
  [`${long} in [list.size() > 0]`, true],
  [`[${long}][0]`, true],
  [`{'a': ${long}}.a`, true],
  [`{'a': ${long}}['a']`, true],
  [`[1, 2][${long} ? 1 : 0]`, 2n],
  [`cel.bind(z, ${long}, z)`, true],
  [`optional.of(${long}).orValue(false)`, true],
  [`optional.none().orValue(${long})`, true],
  [`list.exists(x, list.all(y, list.exists_one(z, z == 'no') || y == '') || x == '')`, false],
  [`list.map(x, list.filter(y, x == y).size()).size()`, 200n],
  [`list.filter(x, list.exists(y, x == y && y == 'no')).size()`, 0n],
  [`list.map(x, list.map(y, x + y)).size()`, 200n],
  [`list.transformMap(i, x, list.exists(y, y == 'no')).size()`, 200n],
  [`list.map(x, '%s'.format([list.map(y, x + y)])).size()`, 200n],
];

describe("evaluating an expression with loops", () => {
  for (const [text, result] of places) {
    it(`rests in ${text}`, () => {
      const program = programOf(text);
      const work = program.evaluateResumable({ list });
      let pieces = 1;
      let next = work.next();
      for (; next.done !== true; next = work.next()) pieces++;
      const { cost, charged } = next.value;
      assert.equal(next.value.result, result);
      const most = Math.floor(Math.max(cost, charged) / (3 * WORK_PER_YIELD_MAX));
      assert.ok(pieces > most && most >= 1, `${pieces} pieces for a cost of ${cost}`);
      assert.deepEqual(program.evaluate({ list }), next.value);
    });
  }

  it("counts the cost of each evaluation in flight separately", () => {
    const keys = Object.fromEntries(Array.from({ length: 300 }, (_, i) => [`k${i}`, i]));
    const program = programOf("list.all(k, list.all(j, list[k] == list[j] || true))");
    const alone = program.evaluate({ list: keys });
    const under = [1, 2, 3].map(() => program.evaluateResumable({ list: keys }));
    const ended = new Set<number>();
    for (let round = 0; ended.size < under.length; round++) {
      assert.ok(round < 10_000);
      for (const [i, work] of under.entries()) {
        if (ended.has(i)) continue;
        const { done, value } = work.next();
        if (done !== true) continue;
        ended.add(i);
        assert.deepEqual(value, alone);
      }
    }
  });

  it("is done at once where there is no loop", () => {
    assert.equal(programOf("list.size() == 200 && list[0] == 't0'").isLong, false);
    const { result } = programOf("list").evaluate({ list: new ArrayList([]) });
    assert.ok(result instanceof ArrayList);
  });
});
