import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { runSync } from "../base/index.ts";
import {
  cloneJson,
  cloneResumable,
  exceededLimit,
  type JsonObject,
  JsonSyntaxError,
  type JsonValue,
  jsonDepthMax,
  jsonEqual,
  parseJson,
  parseResumable,
  setMember,
  stringifyJson,
  withMember,
} from "./index.ts";
import { duplicatesMax, parseLossless } from "./parse-lossless.ts";

describe("parseJson", () => {
  it("parses as many values as its limit allows, and not one more", () => {
    const text = '{"a":[1,2,"x,y"],"b":{"c":null}}';
    assert.deepEqual(parseJson(text, { valuesMax: 7 }).value, JSON.parse(text));
    assert.throws(() => parseJson(text, { valuesMax: 6 }), {
      name: "JsonTooManyValuesError",
      message: "limit is 6 values",
    });
  });

  it("parses as many members of one object as its limit allows, and not one more", () => {
    const text = '{"a":{"x":1,"y":2},"b":{"x":1,"y":2,"z":":"},"c":[{"x":1}]}';
    assert.deepEqual(parseJson(text, { membersMax: 3 }).value, JSON.parse(text));
    assert.throws(() => parseJson(text, { membersMax: 2 }), {
      name: "JsonTooManyValuesError",
      message: "limit is 2 members of one object",
    });
  });

  it("names a hundred members that stand twice, and cuts how they are called", () => {
    const twice = Array.from({ length: 5000 }, () => '"a":1').join();
    const { duplicates } = parseJson(`{"${"k".repeat(100_000)}":{${twice}}}`);
    assert.equal(duplicates.length, duplicatesMax);
    assert.deepEqual([...new Set(duplicates.map(({ length }) => length))], [1000]);
    assert.deepEqual(parseJson('{"a":{"b":[{"c":1,"c":2}]}}').duplicates, ["a.b[0].c"]);
  });

  it("reads what has more digits than 64 bits as a number, and what has as many exactly", () => {
    assert.deepEqual(parseJson("[9223372036854775807]").value, [2n ** 63n - 1n]);
    assert.deepEqual(parseJson("[-9223372036854775808]").value, [-(2n ** 63n)]);
    assert.deepEqual(parseJson("[9223372036854775808]").value, [2 ** 63]);
    assert.deepEqual(parseJson(`[1${"0".repeat(300)}]`).value, [1e300]);
  });

  it("finds the end of a text of escapes", () => {
    const texts = ["\\".repeat(5000), '\\"'.repeat(5000), '"'.repeat(5000), '\\\\"x\n', "a\\"];
    for (const text of texts) {
      const json = JSON.stringify({ [text]: [text, { a: text }] });
      assert.deepEqual(parseJson(json).value, JSON.parse(json));
      assert.deepEqual(parseLossless(json).value, JSON.parse(json));
    }
  });

  it("counts every value once, however it is written", () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 4 }), fc.nat(2), (value, indent) => {
        const text = JSON.stringify(value, undefined, indent);
        const count = (each: unknown): number =>
          1 +
          (typeof each === "object" && each !== null
            ? Object.values(each).reduce((sum: number, member) => sum + count(member), 0)
            : 0);
        assert.throws(() => parseJson(text, { valuesMax: count(value) - 1 }), /limit is/);
        assert.doesNotThrow(() => parseJson(text, { valuesMax: count(value) }));
        const limits = { valuesMax: count(value), membersMax: 1_000 };
        assert.equal(exceededLimit(value as JsonValue, limits), undefined);
        const less = { ...limits, valuesMax: count(value) - 1 };
        if (less.valuesMax > 0)
          assert.equal(
            exceededLimit(value as JsonValue, less),
            `limit is ${less.valuesMax} values`,
          );
      }),
    );
  });

  it("keeps integers that a double cannot hold", () => {
    const text = '{"a":9007199254740993,"b":[-9223372036854775808],"c":1}';
    const { value } = parseJson(text);
    assert.deepEqual(value, { a: 9007199254740993n, b: [-9223372036854775808n], c: 1 });
    assert.equal(stringifyJson(value), text);
  });

  it("does not mistake digits in strings for numbers", () => {
    assert.deepEqual(parseJson('{"a":"12345678901234567890"}').value, {
      a: "12345678901234567890",
    });
  });

  it("names duplicate members by path and lets the last one win", () => {
    const { value, duplicates } = parseJson(
      '{"spec":{"a":1,"a":2,"list":[{"x":1,"x":{}}]},"spec2":"a:b"}',
    );
    assert.deepEqual(duplicates, ["spec.a", "spec.list[0].x"]);
    assert.deepEqual(value, { spec: { a: 2, list: [{ x: {} }] }, spec2: "a:b" });
  });

  it("accepts the deepest nesting and refuses one level more", () => {
    const nested = (levels: number) => "[".repeat(levels) + "]".repeat(levels);
    assert.ok(parseJson(nested(jsonDepthMax)).value);
    assert.throws(() => parseJson(nested(jsonDepthMax + 1)), {
      name: "JsonSyntaxError",
      message: /exceeded max depth/,
    });
    assert.throws(() => parseJson("[".repeat(5_000_000)), { name: "JsonSyntaxError" });
  });

  it("refuses what is not JSON", () => {
    for (const text of [
      "",
      "{",
      "[1,]",
      '{"a":}',
      "nul",
      "01",
      "1 2",
      '"\u0001"',
      '{"a":1}}',
      "'a'",
      '{"a":"\\x"}',
      "[1234567890123456789,]",
    ]) {
      assert.throws(() => parseJson(text), { name: "JsonSyntaxError" }, text);
    }
  });

  it("refuses a wrong escape beside an integer that a double cannot hold", () => {
    assert.throws(() => parseJson('{"a":9007199254740993,"b":"\\x"}'), JsonSyntaxError);
  });

  it("agrees with V8 on everything that V8 represents exactly", () => {
    fc.assert(
      fc.property(fc.json(), (text) => {
        fc.pre(!/(?<![.\d])\d{16,}(?![.\d]*[eE.])/.test(text));
        const exact = JSON.parse(text) as JsonValue;
        assert.deepEqual(parseJson(text).value, exact);
        assert.deepEqual(parseLossless(text), { value: exact, duplicates: [] });
      }),
    );
  });
});

describe("parseResumable", () => {
  it("gives what parseJson gives, and refuses what it refuses", () => {
    const attempt = (parse: () => unknown): unknown => {
      try {
        return parse();
      } catch (error) {
        return String(error);
      }
    };
    const text = fc.oneof(
      fc.json(),
      fc.string(),
      fc.constant('{"a":1,"a":9007199254740993}'),
      fc.constant('{"a":1,"a":2}'),
    );
    fc.assert(
      fc.property(text, fc.nat(20), (json, valuesMax) => {
        assert.deepEqual(
          attempt(() => runSync(parseResumable(json, { valuesMax }))),
          attempt(() => parseJson(json, { valuesMax })),
        );
      }),
    );
  });
});

describe("cloneResumable", () => {
  it("gives an equal value that shares nothing, __proto__ and all", () => {
    fc.assert(
      fc.property(fc.json(), (json) => {
        const { value } = parseJson(json);
        const copy = runSync(cloneResumable(value));
        assert.equal(stringifyJson(copy), stringifyJson(value));
        if (typeof value === "object" && value !== null) assert.notEqual(copy, value);
      }),
    );
    const { value } = parseJson('{"__proto__":{"polluted":true}}');
    assert.equal(stringifyJson(runSync(cloneResumable(value))), '{"__proto__":{"polluted":true}}');
  });

  it("rests after every few thousand values, wherever they are", () => {
    const rests = (value: JsonValue): number => [...cloneResumable(value)].length;
    assert.equal(rests(Array.from({ length: 100 }, () => 1)), 0);
    assert.equal(rests(Array.from({ length: 20_500 }, () => 1)), 4);
    assert.equal(rests(Array.from({ length: 5_125 }, () => ({ a: [1, 2] }))), 4);
  });
});

describe("JSON values", () => {
  it("a member named __proto__ is data, never a prototype", () => {
    const { value } = parseJson('{"__proto__":{"polluted":true}}');
    const copy = cloneJson(value) as { [key: string]: JsonValue };
    setMember(copy, "__proto__", { other: true });
    assert.equal(Object.getPrototypeOf(copy), Object.prototype);
    assert.equal(stringifyJson(copy), '{"__proto__":{"other":true}}');
  });

  it("a copy with one more member leaves the original alone, and takes every name for data", () => {
    const { value } = parseJson('{"__proto__":{"polluted":true},"a":1}');
    const copy = withMember(value as JsonObject, "b", 2);
    assert.equal(stringifyJson(copy), '{"__proto__":{"polluted":true},"a":1,"b":2}');
    assert.equal(stringifyJson(withMember(copy, "a", 3)), stringifyJson({ ...copy, a: 3 }));
    assert.equal(stringifyJson(value), '{"__proto__":{"polluted":true},"a":1}');
    assert.equal(Object.getPrototypeOf(withMember({}, "__proto__", { c: 1 })), Object.prototype);
  });

  it("equality ignores member order and nothing else", () => {
    assert.ok(jsonEqual({ a: 1, b: [1, 2] }, { b: [1, 2], a: 1 }));
    assert.ok(!jsonEqual({ a: 1 }, { a: 1, b: null }));
    assert.ok(!jsonEqual([1, 2], [2, 1]));
    assert.ok(!jsonEqual({}, []));
  });
});
