/** Every limit of this folder, at the limit and one beyond; and what is shared and evicted. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { InternPool } from "@kcp-ts/machinery/base";
import { bounds } from "@kcp-ts/machinery/bounds";
import type { JsonObject, JsonValue } from "@kcp-ts/machinery/json";
import { readCustomResourceDefinition } from "@kcp-ts/machinery/schema";
import { ShapeError } from "@kcp-ts/machinery/shape";
import { isStatusError } from "@kcp-ts/machinery/status";
import { CompiledSchemaBudget } from "./compiled-version.ts";
import { decodeDefinition, definitionDepthMax } from "./decode-definition.ts";
import { ruleLimitErrors, rulesMax, ruleTextMax } from "./rule-limits.ts";
import { internDefinition } from "./shared-definition.ts";
import { cronTabs } from "./test-support/definitions.ts";

function withRules(rules: readonly object[]): ReturnType<typeof ruleLimitErrors> {
  const schema = { type: "object", "x-kubernetes-validations": rules };
  return ruleLimitErrors(
    readCustomResourceDefinition(cronTabs({ schema }) as unknown as JsonValue).definition,
  );
}

describe("rules", () => {
  it(`are limited to ${rulesMax}`, () => {
    const rules = (count: number) => Array.from({ length: count }, () => ({ rule: "true" }));
    assert.deepEqual(withRules(rules(rulesMax)), []);
    assert.match(
      withRules(rules(rulesMax + 1))[0]?.body ?? "",
      /must not have more than 1000 validation rules/,
    );
  });

  it(`may have ${ruleTextMax} characters together, messages included`, () => {
    const half = "x".repeat(ruleTextMax / 2);
    assert.deepEqual(withRules([{ rule: half, messageExpression: half }]), []);
    const errors = withRules([{ rule: half, messageExpression: `${half}x` }]);
    assert.match(
      errors[0]?.body ?? "",
      /must not have more than 32768 characters of validation rules/,
    );
  });
});

describe("a definition", () => {
  it(`may have ${definitionDepthMax} levels of JSON`, () => {
    const nested = (levels: number): JsonObject => {
      let value: JsonValue = "x";
      for (let i = 0; i < levels; i++) value = { x: value };
      return { metadata: {}, unknown: value } as JsonObject;
    };
    assert.deepEqual(decodeDefinition(nested(definitionDepthMax - 1)).unknownFields, ["unknown"]);
    assert.throws(() => decodeDefinition(nested(definitionDepthMax + 1)), ShapeError);
  });

  it("is shared by all that are equal, and not shared when anything differs", () => {
    const share = (object: object) =>
      internDefinition(
        object as JsonObject,
        readCustomResourceDefinition(object as JsonObject).definition,
        false,
      );
    const one = share(cronTabs());
    assert.equal(share({ ...cronTabs(), metadata: { name: "x", uid: "other" } }), one);
    assert.notEqual(share(cronTabs({ scope: "Cluster" })), one);
    assert.notEqual(share(cronTabs({ schema: { type: "object" } })), one);
  });
});

describe("compiled schemas", () => {
  class Holder {
    isDropped = false;
    dropCompiled(): void {
      this.isDropped = true;
    }
  }

  it("are evicted when others need the memory, the least recently used first", () => {
    const budget = new CompiledSchemaBudget(10);
    const [a, b, c] = [new Holder(), new Holder(), new Holder()];
    const [ofA, ofB, ofC] = [{}, {}, {}];
    budget.add(a, ofA, 5);
    budget.add(b, ofB, 5);
    assert.equal(budget.weight, 10);
    budget.use(ofA);
    budget.add(c, ofC, 1);
    assert.deepEqual([a.isDropped, b.isDropped, c.isDropped], [false, true, false]);
    assert.equal(budget.weight, 6);
  });

  it("may exceed the limit if there is only one", () => {
    const budget = new CompiledSchemaBudget(10);
    const big = new Holder();
    budget.add(big, {}, 100);
    assert.equal(big.isDropped, false);
  });
});

describe("interned values", () => {
  it("are created once for equal content", () => {
    const interned = new InternPool<object>();
    let made = 0;
    const make = () => ({ made: ++made });
    const first = interned.get("a", make);
    assert.equal(interned.get("a", make), first);
    assert.notEqual(interned.get("b", make), first);
    assert.equal(made, 2);
    assert.equal(interned.size, 2);
  });
});

describe("the size of a definition", () => {
  const { bytesMax } = bounds.definition;
  const described = (bytes: number): JsonObject => {
    const of = (description: string) =>
      cronTabs({ schema: { type: "object", description } }) as unknown as JsonObject;
    const rest = Buffer.byteLength(JSON.stringify(of("")["spec"]));
    return of("d".repeat(bytes - rest));
  };

  it(`may be ${bytesMax} bytes of spec, and not one more`, () => {
    assert.equal(decodeDefinition(described(bytesMax)).unknownFields.length, 0);
    assert.throws(
      () => decodeDefinition(described(bytesMax + 1)),
      (error) => isStatusError(error, "RequestEntityTooLarge"),
    );
  });

  it("does not count what the server writes itself", () => {
    const object = described(bytesMax);
    const status = { conditions: [{ type: "Established", message: "m".repeat(1000) }] };
    assert.ok(decodeDefinition({ ...object, status }));
  });
});
