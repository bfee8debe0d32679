/**
 * That long work rests often enough is decided by counting what happens between two rests, never by
 * a clock.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type Resumable, runSync, YieldCounter } from "../base/index.ts";
import type { JsonObject } from "../json/index.ts";
import {
  type CompiledRule,
  compileSchema,
  type RuleEvaluator,
  ruleObjectCostMax,
  validateCustomResourceDefinitionResumable,
} from "./index.ts";
import { crd, read, version } from "./test-support/crontab-definition.ts";
import { ruleCostPerYield } from "./validate-rules.ts";
import { validationStepsPerYield } from "./validate-value.ts";

const rule = { rule: "true" };

/** An engine whose rules hold and cost as much as is given; it writes down what it is asked for. */
class CountingEngine implements RuleEvaluator {
  readonly compiled = new Map<unknown, readonly CompiledRule[]>();
  readonly #cost: number;
  inThisPiece = 0;
  evaluations = 0;

  constructor(cost: number) {
    this.#cost = cost;
  }

  compile(rules: Parameters<RuleEvaluator["compile"]>[0]): readonly CompiledRule[] {
    const known = this.compiled.get(rules);
    assert.ok(known, "asked for what was not prepared");
    return known;
  }

  *prepare(rules: Parameters<RuleEvaluator["compile"]>[0]): Resumable<void> {
    const compiled: CompiledRule[] = [];
    for (const _ of rules) {
      this.inThisPiece++;
      compiled.push(this.#rule());
      yield;
    }
    this.compiled.set(rules, compiled);
  }

  #rule(): CompiledRule {
    return {
      error: undefined,
      messageError: undefined,
      usesOldSelf: false,
      maxCost: 1,
      messageMaxCost: 0,
      maxCardinality: 1,
      evaluate: () => {
        this.evaluations++;
        this.inThisPiece++;
        return { result: true, cost: this.#cost };
      },
      evaluateMessage: undefined,
    };
  }
}

/**
 * Runs the work and gives the number of its pieces and the most that `engine` did in one of them.
 */
function watched<Result>(work: Resumable<Result>, engine?: CountingEngine) {
  let pieces = 1;
  let most = 0;
  for (;;) {
    if (engine !== undefined) engine.inThisPiece = 0;
    const { done, value } = work.next();
    most = Math.max(most, engine?.inThisPiece ?? 0);
    if (done === true) return { pieces, most, result: value };
    pieces++;
  }
}

const definitionOf = (schema: JsonObject) =>
  read(crd({ versions: [version("v1", { schema: { openAPIV3Schema: schema } })] }));

const fields = (count: number, schema: JsonObject): JsonObject => ({
  type: "object",
  properties: Object.fromEntries(Array.from({ length: count }, (_, i) => [`f${i}`, schema])),
});

describe("validating a CRD resumably", () => {
  it("compiles every rule before it is asked for, one in a piece", () => {
    const engine = new CountingEngine(1);
    const schema = {
      ...fields(300, { type: "string", "x-kubernetes-validations": [rule] }),
      "x-kubernetes-validations": Array.from({ length: 500 }, () => rule),
    };
    const { most, result } = watched(
      validateCustomResourceDefinitionResumable(definitionOf(schema), undefined, {
        evaluator: engine,
      }),
      engine,
    );
    assert.deepEqual(result, []);
    assert.equal(most, 1);
  });

  it("rests more often the more sub-schemas there are", () => {
    const piecesOf = (count: number): number =>
      watched(
        validateCustomResourceDefinitionResumable(
          definitionOf(fields(count, { type: "string", default: "x" })),
          undefined,
        ),
      ).pieces;
    assert.ok(piecesOf(10_000) - piecesOf(1_000) >= (3 * 9_000) / 512);
  });

  it("gives the rules of all defaults one budget", () => {
    const engine = new CountingEngine(ruleObjectCostMax / 10);
    const withDefault: JsonObject = {
      type: "string",
      default: "x",
      "x-kubernetes-validations": [rule],
    };
    const { result } = watched(
      validateCustomResourceDefinitionResumable(
        definitionOf(fields(1_000, withDefault)),
        undefined,
        { evaluator: engine },
      ),
    );
    assert.ok(engine.evaluations <= 12, `${engine.evaluations} evaluations`);
    assert.match(JSON.stringify(result), /running out of cost budget/);
  });
});

describe("validating an object resumably", () => {
  const schema: JsonObject = {
    type: "object",
    properties: {
      x: { type: "array", items: { type: "string", "x-kubernetes-validations": [rule] } },
    },
  };
  const object = (items: number): JsonObject => ({ x: Array.from({ length: items }, String) });
  const prepared = (cost: number) => {
    const engine = new CountingEngine(cost);
    const compiled = compileSchema(schema, { evaluator: engine });
    const items = compiled.root.properties?.get("x")?.items;
    runSync(engine.prepare(items?.rules?.rules ?? []));
    return { engine, compiled };
  };

  it("rests when rules have cost enough", () => {
    const { engine, compiled } = prepared(ruleCostPerYield / 2);
    const { pieces, most, result } = watched(compiled.validateResumable(object(20)), engine);
    assert.deepEqual(result, []);
    assert.equal(most, 2);
    assert.equal(pieces, 11);
  });

  it("rests when very many cheap rules have run", () => {
    const { engine, compiled } = prepared(1);
    const { most } = watched(compiled.validateResumable(object(50_000)), engine);
    assert.ok(most <= ruleCostPerYield / 50, `${most} in one piece`);
  });

  it("rests while there is much to look at, without any rules", () => {
    const plain = compileSchema({
      type: "object",
      properties: { x: { type: "array", items: { type: "string", minLength: 1 } } },
    });
    const rests = (items: number) => [...plain.validateResumable(object(items))].length;
    assert.equal(rests(1_000), 0);
    assert.ok(rests(10 * validationStepsPerYield) >= 10);
  });

  it("rests for patterns, which take longer than other checks", () => {
    const text = { type: "string", pattern: "^[0-9]{1,10}$" };
    const matching = compileSchema({
      type: "object",
      properties: { x: { type: "array", items: text } },
    });
    const rests = (items: number) => [...matching.validateResumable(object(items))].length;
    assert.ok(rests(4_000) > 0);
  });

  it("finds in a large object what it finds in a small one, in the same order", () => {
    const item = { type: "string", maxLength: 3, enum: ["a", "b", "long"] };
    const fields = {
      type: "object",
      maxProperties: 2_000,
      additionalProperties: item,
      required: ["must"],
    };
    const wide = compileSchema({
      type: "object",
      properties: { x: { type: "array", items: item, maxItems: 2_000 }, y: fields },
    });
    const errors = (value: JsonObject, old?: JsonObject) =>
      wide.validate(value, { old }).map(({ field, body }) => `${field}: ${body}`);
    const filled = (count: number) => Array.from({ length: count }, () => "a");
    const y = (count: number) => Object.fromEntries(filled(count).map((it, i) => [`k${i}`, it]));
    const small = errors({ x: ["a", "long", 1], y: { k: "z" } });
    const large = errors({ x: [...filled(1_500), "long", 1], y: { ...y(1_500), k: "z" } });
    assert.equal(small.length, 5);
    assert.deepEqual(
      large,
      small.map((error) =>
        error.replace(/x\[(\d)\]/g, (_, i: string) => `x[${1_499 + Number(i)}]`),
      ),
    );
    assert.deepEqual(errors({ x: filled(2_001) }), [
      "x: Too many: 2001: must have at most 2000 items",
    ]);
    const before = { y: { ...y(1_500), k: "z", l: "z" } };
    assert.deepEqual(errors(before, before), [], "unchanged: forgiven");
    assert.deepEqual(errors({ y: { ...before.y, l: "y" } }, before), [
      'y.l: Unsupported value: "y": supported values: "a", "b", "long"',
      "y.must: Required value",
    ]);
  });

  it("does not rest for a few cheap rules", () => {
    const { compiled } = prepared(10);
    assert.equal(watched(compiled.validateResumable(object(20))).pieces, 1);
  });
});

describe("Pace", () => {
  it("says every so often that it is time", () => {
    const pace = new YieldCounter(3);
    const said = Array.from({ length: 7 }, () => pace.isTime());
    assert.deepEqual(said, [false, false, true, false, false, true, false]);
  });
});
