/**
 * Rules with a simulated engine in place of CEL, whose "expressions" are names of functions, so
 * that this folder's own part (where rules run, with which old values, the errors of failures,
 * costs) is tested without any expression language.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonObject, JsonValue } from "../json/index.ts";
import { formatFieldError } from "../status/index.ts";
import {
  type CompiledRule,
  compileSchema,
  type RuleEvaluator,
  type RuleOutcome,
  type RuleValues,
  readSchema,
  ruleObjectCostMax,
  strictSchemaValidation,
  validateSchema,
} from "./index.ts";

const outcomes: Record<string, (values: RuleValues) => RuleOutcome> = {
  ok: () => ({ result: true, cost: 1 }),
  fails: () => ({ result: false, cost: 1 }),
  "grows(oldSelf)": ({ self, oldSelf }) => ({ result: Number(self) > Number(oldSelf), cost: 1 }),
  "new(oldSelf)": ({ oldSelf }) => ({ result: oldSelf !== undefined, cost: 1 }),
  breaks: () => ({ error: "no such key: x", cost: 1 }),
  overload: () => ({ error: "no such overload", cost: 1 }),
  expensive: () => ({ result: true, cost: ruleObjectCostMax / 2 }),
  endless: () => ({ exceeded: true, cost: 1_000 }),
};

function engine(calls: string[] = []): RuleEvaluator {
  return {
    compile: (rules, { schema, isResourceRoot }) => {
      calls.push(`${schema.type}${isResourceRoot ? " root" : ""}`);
      return rules.map(({ rule, messageExpression }): CompiledRule => {
        const outcome = outcomes[rule.trim()];
        return {
          error: outcome === undefined ? `compilation failed: ${rule}` : undefined,
          messageError:
            messageExpression === "bad" ? "messageExpression compilation failed" : undefined,
          usesOldSelf: rule.includes("oldSelf"),
          maxCost: rule === "expensive" ? 5_000_000 : 10,
          messageMaxCost: 1,
          maxCardinality: 1_000_000,
          evaluate: (values) => outcome?.(values) ?? { error: "not compiled", cost: 0 },
          evaluateMessage:
            messageExpression === ""
              ? undefined
              : () => ({ message: messageExpression.replaceAll("\\n", "\n"), cost: 1 }),
        };
      });
    },
  };
}

function run(schema: JsonObject, value: JsonValue, old?: JsonValue): string[] {
  const compiled = compileSchema(
    { type: "object", properties: { x: schema } },
    { evaluator: engine() },
  );
  const options = old === undefined ? {} : { old: { x: old } };
  return compiled.validate({ x: value }, options).map(formatFieldError);
}

const rules = (...list: (string | JsonObject)[]): JsonObject => ({
  "x-kubernetes-validations": list.map((rule) => (typeof rule === "string" ? { rule } : rule)),
});

describe("rules on objects", () => {
  it("a failed rule shows scalars and leaves out the rest", () => {
    assert.deepEqual(run({ type: "integer", ...rules("ok", "fails") }, 5), [
      "x: Invalid value: 5: failed rule: fails",
    ]);
    assert.deepEqual(
      run({ type: "object", ...rules({ rule: "fails", message: " no good " }) }, {}),
      ["x: Invalid value: no good"],
    );
  });

  it("message, reason and field path make the error", () => {
    const object = (rule: JsonObject): JsonObject => ({
      type: "object",
      properties: { a: { type: "object", additionalProperties: { type: "string" } } },
      ...rules({ rule: "fails", ...rule }),
    });
    const cases: readonly (readonly [JsonObject, string])[] = [
      [{ reason: "FieldValueForbidden" }, "x: Forbidden: failed rule: fails"],
      [{ reason: "FieldValueRequired" }, "x: Required value: failed rule: fails"],
      [{ reason: "FieldValueDuplicate" }, "x: Duplicate value"],
      [{ reason: "FieldValueInvalid" }, "x: Invalid value: failed rule: fails"],
      [{ fieldPath: ".a" }, "x.a: Invalid value: failed rule: fails"],
      [{ fieldPath: ".a['b.c']" }, "x.a[b.c]: Invalid value: failed rule: fails"],
      [{ messageExpression: "computed" }, "x: Invalid value: computed"],
      [{ messageExpression: "two\\nlines", message: "plain" }, "x: Invalid value: plain"],
      [{ messageExpression: " " }, "x: Invalid value: failed rule: fails"],
    ];
    for (const [rule, expected] of cases) assert.deepEqual(run(object(rule), {}), [expected]);
  });

  it("run-time errors of a rule are reported with the type of the value", () => {
    assert.deepEqual(run({ type: "object", ...rules("breaks", "overload", "unknown") }, {}), [
      'x: Invalid value: "object": no such key: x evaluating rule: breaks',
      `x: Invalid value: "object": 'no such overload': call arguments did not match a supported operator, function or macro signature for rule: overload`,
      'x: Invalid value: "object": rule compile error: compilation failed: unknown',
    ]);
  });

  it("a rule that is stopped ends all", () => {
    assert.deepEqual(run({ type: "object", ...rules("endless", "fails") }, {}), [
      `x: Invalid value: "object": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: endless`,
    ]);
    const list = { type: "array", items: { type: "integer", ...rules("expensive") } };
    assert.deepEqual(run(list, [1, 2]), []);
    assert.deepEqual(run(list, [1, 2, 3, 4]), [
      'x[2]: Invalid value: "integer": validation failed due to running out of cost budget, no further validation rules will be run',
    ]);
  });

  it("null values are not judged", () => {
    assert.deepEqual(run({ type: "integer", nullable: true, ...rules("fails") }, null), []);
  });

  it("values of maps are named by key", () => {
    const map = { type: "object", additionalProperties: { type: "integer", ...rules("fails") } };
    assert.deepEqual(run(map, { k: 1 }), ["x[k]: Invalid value: 1: failed rule: fails"]);
  });

  it("are skipped when types or limits do not hold, and that is said", () => {
    const compiled = compileSchema(
      {
        type: "object",
        required: ["y"],
        properties: { x: { type: "string", pattern: "^a" } },
        ...rules("fails"),
      },
      { evaluator: engine() },
    );
    const texts = (object: JsonValue): string[] => compiled.validate(object).map(formatFieldError);
    assert.deepEqual(texts({ x: "a" }), [
      "y: Required value",
      "<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation",
    ]);
    assert.deepEqual(texts({ x: "b", y: 1 }), [
      "x: Invalid value: \"b\": x in body should match '^a'",
      "<nil>: Invalid value: failed rule: fails",
    ]);
  });

  it("are compiled once, at first use, and know whether they stand on a resource", () => {
    const calls: string[] = [];
    const compiled = compileSchema(
      {
        type: "object",
        properties: {
          x: { type: "integer", ...rules("ok") },
          y: {
            type: "object",
            "x-kubernetes-embedded-resource": true,
            "x-kubernetes-preserve-unknown-fields": true,
            ...rules("ok"),
          },
        },
        ...rules("ok"),
      },
      { evaluator: engine(calls) },
    );
    assert.deepEqual(calls, []);
    const object = { x: 1, y: { apiVersion: "v1", kind: "Pod" } };
    assert.deepEqual([...compiled.validate(object), ...compiled.validate(object)], []);
    assert.deepEqual(calls, ["object root", "integer", "object root"]);
  });
});

describe("rules on updates", () => {
  const grows = rules("grows(oldSelf)");

  it("transition rules run only with an old value", () => {
    const schema = { type: "integer", ...grows };
    assert.deepEqual(run(schema, 1), []);
    assert.deepEqual(run(schema, 2, 1), []);
    assert.deepEqual(run(schema, 1, 2), ["x: Invalid value: 1: failed rule: grows(oldSelf)"]);
  });

  it("transition rules never ratchet, others do", () => {
    assert.deepEqual(run({ type: "integer", ...grows }, 1, 1), [
      "x: Invalid value: 1: failed rule: grows(oldSelf)",
    ]);
    assert.deepEqual(run({ type: "integer", ...rules("fails") }, 1, 1), []);
    assert.deepEqual(run({ type: "integer", ...rules("fails") }, 2, 1), [
      "x: Invalid value: 2: failed rule: fails",
    ]);
  });

  it("optionalOldSelf makes a rule run without an old value", () => {
    const schema = { type: "integer", ...rules({ rule: "new(oldSelf)", optionalOldSelf: true }) };
    assert.deepEqual(run(schema, 1), ["x: Invalid value: 1: failed rule: new(oldSelf)"]);
    assert.deepEqual(run(schema, 1, 0), []);
  });

  it("items of map lists correlate by key, other items not", () => {
    const item = {
      type: "object",
      properties: { k: { type: "string" }, v: { type: "integer", ...grows } },
    };
    const list = {
      type: "array",
      items: item,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
    };
    const old = [
      { k: "a", v: 5 },
      { k: "b", v: 5 },
    ];
    assert.deepEqual(
      run(
        list,
        [
          { k: "b", v: 4 },
          { k: "c", v: 1 },
          { k: "a", v: 6 },
        ],
        old,
      ),
      ["x[0].v: Invalid value: 4: failed rule: grows(oldSelf)"],
    );
    assert.deepEqual(run({ type: "array", items: item }, [{ k: "a", v: 4 }], old), []);
  });

  it("an unchanged atomic list forgives its items", () => {
    const list = { type: "array", items: { type: "integer", ...rules("fails") } };
    assert.deepEqual(run(list, [1], [1]), []);
    assert.deepEqual(run(list, [1, 2], [1]).length, 2);
  });
});

describe("rules in a schema that is written", () => {
  const at = "s";

  function judge(schema: JsonObject, suppressRuleCost = false): string[] {
    const read = readSchema({ type: "object", properties: { x: schema } }).schema;
    assert.ok(read);
    const options = { ...strictSchemaValidation, evaluator: engine(), suppressRuleCost };
    return validateSchema(read, at, options).map(formatFieldError);
  }

  const x = "s.properties[x].x-kubernetes-validations[0]";
  const texts: readonly (readonly [string, JsonObject, string])[] = [
    ["a rule is required", { rule: " " }, `${x}.rule: Required value: rule is not specified`],
    [
      "a message says something",
      { rule: "ok", message: " " },
      `${x}.message: Invalid value: " ": must be non-empty if specified`,
    ],
    [
      "a message is one line",
      { rule: "ok", message: "a\nb" },
      `${x}.message: Invalid value: "a\\nb": must not contain line breaks`,
    ],
    [
      "a rule of two lines needs a message",
      { rule: "o\nk" },
      `${x}.message: Required value: message must be specified if rule contains line breaks`,
    ],
    [
      "a message expression says something",
      { rule: "ok", messageExpression: " " },
      `${x}.messageExpression: Required value: messageExpression must be non-empty if specified`,
    ],
    [
      "reasons are few",
      { rule: "ok", reason: "Because" },
      `${x}.reason: Unsupported value: "Because": supported values: "FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"`,
    ],
    [
      "a field path leads somewhere",
      { rule: "ok", fieldPath: ".b" },
      `${x}.fieldPath: Invalid value: ".b": must be a valid path`,
    ],
    [
      "a field path starts with a dot",
      { rule: "ok", fieldPath: "a" },
      `${x}.fieldPath: Invalid value: "a": must be a valid path`,
    ],
    [
      "a rule compiles",
      { rule: "unknown" },
      `${x}.rule: Invalid value: {"Rule":"unknown","Message":"","MessageExpression":"","Reason":null,"FieldPath":"","OptionalOldSelf":null}: compilation failed: unknown`,
    ],
    [
      "a message expression compiles",
      { rule: "ok", messageExpression: "bad" },
      `${x}.messageExpression: Invalid value: {"Rule":"ok","Message":"","MessageExpression":"bad","Reason":null,"FieldPath":"","OptionalOldSelf":null}: messageExpression compilation failed`,
    ],
    [
      "optionalOldSelf needs oldSelf",
      { rule: "ok", optionalOldSelf: true },
      `${x}.optionalOldSelf: Invalid value: true: may not be set if oldSelf is not used in rule`,
    ],
  ];
  for (const [title, rule, expected] of texts) {
    it(title, () => {
      const schema = { type: "object", properties: { a: { type: "string" } }, ...rules(rule) };
      assert.deepEqual(judge(schema), [expected]);
    });
  }

  it("a field path of line breaks is refused twice", () => {
    const schema = { type: "object", ...rules({ rule: "ok", fieldPath: "\n" }) };
    assert.deepEqual(judge(schema), [
      `${x}.fieldPath: Invalid value: "\\n": must be non-empty if specified`,
      `${x}.fieldPath: Invalid value: "\\n": must not contain line breaks`,
      `${x}.fieldPath: Invalid value: "\\n": must be a valid path`,
    ]);
  });

  it("oldSelf stands where values correlate", () => {
    const inner = {
      type: "object",
      properties: { k: { type: "string" }, v: { type: "integer", ...rules("grows(oldSelf)") } },
      required: ["k"],
    };
    assert.deepEqual(judge({ type: "array", maxItems: 5, items: inner }), [
      `s.properties[x].items.properties[v].x-kubernetes-validations[0].rule: Invalid value: "grows(oldSelf)": oldSelf cannot be used on the uncorrelatable portion of the schema within s.properties[x]`,
    ]);
    const list = {
      type: "array",
      maxItems: 5,
      items: inner,
      "x-kubernetes-list-type": "map",
      "x-kubernetes-list-map-keys": ["k"],
    };
    assert.deepEqual(judge(list), []);
  });

  it("estimated costs count how often a value can occur", () => {
    const advice =
      "(try simplifying the rule, or adding maxItems, maxProperties, and maxLength where arrays, maps, and strings are declared)";
    const list = (more: JsonObject): JsonObject => ({
      type: "array",
      items: { type: "string", ...rules("expensive") },
      ...more,
    });
    const rule = "s.properties[x].items.x-kubernetes-validations[0].rule";
    assert.deepEqual(judge(list({ maxItems: 2 })), []);
    assert.deepEqual(judge(list({ maxItems: 3 })), [
      `${rule}: Forbidden: estimated rule cost exceeds budget by factor of 1.5x ${advice}`,
    ]);
    const total =
      "contributed to estimated rule cost total exceeding cost limit for entire OpenAPIv3 schema";
    assert.deepEqual(judge(list({})), [
      `${rule}: Forbidden: estimated rule cost exceeds budget by factor of more than 100x ${advice}`,
      `${rule}: Forbidden: ${total}`,
      `s: Forbidden: x-kubernetes-validations estimated rule cost total for entire OpenAPIv3 schema exceeds budget by factor of more than 100x ${advice}`,
    ]);
    assert.equal(judge(list({ maxItems: 3 }), true).length, 0);
  });

  it("defaults pass the rules they stand on", () => {
    assert.deepEqual(judge({ type: "integer", default: 1, ...rules("fails") }), [
      "s.properties[x].default: Invalid value: 1: failed rule: fails",
    ]);
    assert.deepEqual(judge({ type: "integer", default: 1, ...rules("ok") }), []);
  });
});
