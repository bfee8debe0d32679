/**
 * Work in proportion to what is charged. Goal: no expression reads more data, or makes a larger
 * result, than a constant times what its evaluation is charged; method: random expressions over
 * data that counts how often it is read, whatever the engine says of itself.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { compile } from "../compile.ts";
import { kubernetesEnvironment } from "../library/kubernetes-environment.ts";
import { declaredDynamic } from "../types/declared-type.ts";
import { ArrayList } from "../values/collections.ts";
import { CelError, type CelResult } from "../values/value.ts";

const environment = kubernetesEnvironment.extend({ variables: { any: declaredDynamic } });

/** Reads of data, and elements or characters of a result, for each unit that is charged. */
const READS_PER_UNIT = 8;
const CHARACTERS_PER_UNIT = 64;
/** What an evaluation may do before it is charged anything. */
const FREE = 200;

class Reads {
  count = 0;

  /**
   * The same data, which counts how often one of its elements is read, and how many keys are
   * listed.
   */
  of<Data>(data: Data): Data {
    if (typeof data !== "object" || data === null) return data;
    const entries = Object.entries(data).map(([key, value]) => [key, this.of(value)] as const);
    const copy = Array.isArray(data) ? entries.map(([, value]) => value) : fromEntries(entries);
    return new Proxy(copy as object, {
      get: (target, key) => {
        if (key !== "length") this.count++;
        return Reflect.get(target, key);
      },
      ownKeys: (target) => {
        const keys = Reflect.ownKeys(target);
        this.count += keys.length;
        return keys;
      },
    }) as Data;
  }
}

function fromEntries(entries: readonly (readonly [string, unknown])[]): object {
  return Object.fromEntries(entries);
}

const data = {
  text: "a".repeat(20_000),
  wide: "é世😀".repeat(4000),
  ints: Array.from({ length: 3000 }, (_, i) => i % 7),
  texts: Array.from({ length: 1500 }, (_, i) => `x${i % 40}`),
  long: Array.from({ length: 40 }, (_, i) => `${"y".repeat(900)}${i}`),
  nested: Array.from({ length: 600 }, (_, i) => [[i], []]),
  objects: Array.from({ length: 500 }, (_, i) => ({ a: i, b: { c: `z${i}` } })),
  map: Object.fromEntries(Array.from({ length: 1500 }, (_, i) => [`k${i}`, i])),
};
const sameAgain = structuredClone(data);

const { expression } = fc.letrec<Record<"text" | "list" | "bool" | "expression", string>>((tie) => {
  const text = () => tie("text");
  const list = () => tie("list");
  const bool = () => tie("bool");
  const leafTexts = ["any.text", "any.wide", "any.again.text", "'a'", "''", "any.texts[3]"];
  const leafLists = ["ints", "texts", "long", "nested", "objects"].map((name) => `any.${name}`);
  const texts = fc.tuple(text(), text());
  return {
    text: fc.oneof(
      { maxDepth: 3, depthSize: "small" },
      fc.constantFrom(...leafTexts),
      texts.map(([a, b]) => `(${a} + ${b})`),
      texts.map(([a, b]) => `${a}.replace('a', ${b})`),
      list().map((a) => `'%s'.format([${a}])`),
      fc.constant("'%s'.format([any.map])"),
      list().map((a) => `${a}.map(x, string(type(x))).join(',')`),
      text().map((a) => `${a}.split('').join('--')`),
      text().map((a) => `${a}.substring(1)`),
      text().map((a) => `${a}.lowerAscii().trim()`),
      text().map((a) => `'%x'.format([${a}])`),
      text().map((a) => `${a}.find('[a-z]+')`),
    ),
    list: fc.oneof(
      { maxDepth: 3, depthSize: "small" },
      fc.constantFrom(...leafLists, ...leafLists.map((each) => each.replace("any.", "any.again."))),
      fc.tuple(list(), list()).map(([a, b]) => `(dyn(${a}) + dyn(${b}))`),
      list().map((a) => `${a}.map(x, [x, x])`),
      list().map((a) => `${a}.filter(x, x == ${a}[0])`),
      list().map((a) => `${a}.distinct()`),
      list().map((a) => `${a}.reverse().slice(0, 1)`),
      list().map((a) => `dyn(${a}).flatten(3)`),
      text().map((a) => `${a}.split('a')`),
      text().map((a) => `${a}.findAll('a?')`),
      fc.constantFrom("any.map.map(k, any.map[k])", "any.map.transformList(k, v, [k, v])"),
    ),
    bool: fc.oneof(
      { maxDepth: 3, depthSize: "small" },
      texts.map(([a, b]) => `${a} == ${b}`),
      texts.map(([a, b]) => `${a}.contains(${b})`),
      texts.map(([a, b]) => `${a}.lastIndexOf(${b}) < 3`),
      fc.tuple(list(), list()).map(([a, b]) => `dyn(${a}) == dyn(${b})`),
      fc.tuple(text(), list()).map(([a, b]) => `dyn(${a}) in dyn(${b})`),
      fc.tuple(list(), list()).map(([a, b]) => `sets.intersects(dyn(${a}), dyn(${b}))`),
      fc.tuple(list(), bool()).map(([a, b]) => `${a}.all(x, ${b})`),
      fc.tuple(list(), list()).map(([a, b]) => `${a}.all(x, ${b}.size() > 0)`),
      list().map((a) => `${a}.all(x, any.map.size() > 0)`),
      list().map((a) => `${a}.all(x, any.map == any.again.map)`),
      list().map((a) => `${a}.exists(x, ${a}.indexOf(x) < 0)`),
      text().map((a) => `${a}.matches('(a+)+b')`),
      text().map((a) => `isURL(${a}) || isIP(${a}) || isQuantity(${a}) || isSemver(${a})`),
      text().map((a) => `any.ints.all(x, size(${a}) > x || int(${a}) == 1)`),
    ),
    expression: fc.oneof(bool(), list(), text()),
  };
});

describe("work", () => {
  it("of random expressions is in proportion to what they are charged", () => {
    let charges = 0;
    fc.assert(
      fc.property(expression, (text) => {
        const compilation = compile(text, environment);
        if (!compilation.ok) return;
        const reads = new Reads();
        const any = reads.of({ ...data, again: sameAgain });
        reads.count = 0;
        const { result, charged } = compilation.program.evaluate({ any });
        charges += charged;
        assert.ok(reads.count <= FREE + READS_PER_UNIT * charged, `${reads.count} for ${charged}`);
        const { elements, characters } = sizeOf(result);
        assert.ok(elements <= FREE + READS_PER_UNIT * charged, `${elements} for ${charged}`);
        assert.ok(characters <= data.text.length + CHARACTERS_PER_UNIT * charged);
      }),
      { numRuns: 150 },
    );
    assert.ok(charges > 1_000_000, "the expressions are worth something");
  });
});

function sizeOf(result: CelResult): { elements: number; characters: number } {
  if (typeof result === "string") return { elements: 0, characters: result.length };
  if (result instanceof CelError) return { elements: 0, characters: result.message.length };
  // Data that comes out as it went in was not made.
  const elements = result instanceof ArrayList ? result.size : 0;
  return { elements, characters: 0 };
}
