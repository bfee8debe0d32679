/** CEL as its users see it: through the entry point alone. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import {
  BOOL,
  bindingsLibrary,
  CelError,
  compile,
  declaredInt,
  declaredList,
  declaredObject,
  declaredString,
  ESTIMATE_PER_RULE_MAX,
  escapeProperty,
  estimateCost,
  kubernetesEnvironment,
  mathLibrary,
  STRING,
  toJson,
  unparse,
} from "./index.ts";

const environment = kubernetesEnvironment.extend({
  variables: {
    self: declaredObject("self", [
      ["minReplicas", { declared: declaredInt }],
      ["replicas", { declared: declaredInt }],
      ["hosts", { declared: declaredList(declaredString({ maxLength: 63 }), { maxItems: 16 }) }],
    ]),
  },
});

describe("a validation rule", () => {
  const rule = "self.minReplicas <= self.replicas && self.hosts.all(h, h.endsWith('.example.com'))";

  it("is compiled, estimated and evaluated", () => {
    const compilation = compile(rule, environment, { resultTypes: [BOOL] });
    assert.ok(compilation.ok);
    const { program } = compilation;
    assert.ok(estimateCost(program.checked, environment).max < ESTIMATE_PER_RULE_MAX);
    const self = { minReplicas: 1, replicas: 3, hosts: ["a.example.com"] };
    assert.equal(program.evaluate({ self }).result, true);
    assert.equal(program.evaluate({ self: { ...self, replicas: 0 } }).result, false);
    const { result } = program.evaluate({ self: { minReplicas: 1 } });
    assert.equal(result instanceof CelError && result.message, "no such key: replicas");
    assert.equal(
      unparse(program.checked.expr),
      'self.minReplicas <= self.replicas && self.hosts.all(h, h.endsWith(".example.com"))',
    );
  });

  it("has a message expression that gives a text", () => {
    const compilation = compile("'at least ' + string(self.minReplicas)", environment, {
      resultTypes: [STRING],
    });
    assert.ok(compilation.ok);
    assert.equal(
      toJson(compilation.program.evaluate({ self: { minReplicas: 2 } }).result),
      "at least 2",
    );
  });

  it("may use other libraries if the embedder adds them", () => {
    const extended = environment.extend({ libraries: [mathLibrary, bindingsLibrary] });
    const compilation = compile("cel.bind(m, math.greatest(self.replicas, 2), m * m)", extended);
    assert.ok(compilation.ok);
    assert.equal(compilation.program.evaluate({ self: { replicas: 3 } }).result, 9n);
  });

  it("refers to properties by their escaped names", () => {
    assert.equal(escapeProperty("x-y"), "x__dash__y");
  });
});
