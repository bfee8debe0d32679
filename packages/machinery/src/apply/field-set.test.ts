import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { isEmptyObject, type JsonValue, jsonDepthMax } from "../json/index.ts";
import { fieldPathElementsMax } from "./fields-v1.ts";
import {
  equalFieldSets,
  type FieldPath,
  type FieldSet,
  fieldElement,
  fieldSetOf,
  formatPath,
  hasPath,
  intersectFieldSets,
  keyElement,
  leavesOf,
  type PathElement,
  pathsOf,
  readFieldSet,
  sortFieldSet,
  subtractFieldSet,
  subtractSubtrees,
  unionFieldSets,
  valueElement,
} from "./index.ts";

const element: fc.Arbitrary<PathElement> = fc.constantFrom(
  "f:a",
  "f:b",
  "f:__proto__",
  'k:{"name":"x"}',
  'v:"x"',
  "i:0",
);
const paths = fc.array(fc.array(element, { minLength: 1, maxLength: 4 }), { maxLength: 12 });

/** The obvious thing: a set of paths, each as one text. */
class NaiveSet {
  readonly paths: ReadonlySet<string>;

  constructor(paths: Iterable<FieldPath>) {
    this.paths = new Set([...paths].map((path) => JSON.stringify(path)));
  }

  filter(keep: (path: string[]) => boolean): NaiveSet {
    return new NaiveSet(this.list().filter(keep));
  }

  has(path: readonly string[]): boolean {
    return this.paths.has(JSON.stringify(path));
  }

  list(): string[][] {
    return [...this.paths].map((text) => JSON.parse(text) as string[]);
  }
}

function sameAs(set: FieldSet, naive: NaiveSet): void {
  assert.deepEqual(new NaiveSet(pathsOf(set)).paths, naive.paths);
  assert.equal(isEmptyObject(set), naive.paths.size === 0);
  assert.deepEqual(readFieldSet(sortFieldSet(set) as JsonValue), set, "it survives the wire");
}

function prefixesOf(path: readonly string[]): string[][] {
  return path.map((_, i) => path.slice(0, i + 1));
}

describe("the algebra of field sets agrees with naive sets of paths", () => {
  const check = (
    operation: (a: FieldSet, b: FieldSet) => FieldSet,
    model: (a: NaiveSet, b: NaiveSet) => NaiveSet,
  ) =>
    fc.assert(
      fc.property(paths, paths, (left, right) => {
        const [a, b] = [fieldSetOf(...left), fieldSetOf(...right)];
        const before = JSON.stringify([a, b]);
        sameAs(operation(a, b), model(new NaiveSet(left), new NaiveSet(right)));
        assert.equal(JSON.stringify([a, b]), before, "the inputs are left alone");
      }),
    );

  it("in union", () => check(unionFieldSets, (a, b) => new NaiveSet([...a.list(), ...b.list()])));
  it("in intersection", () => check(intersectFieldSets, (a, b) => a.filter((path) => b.has(path))));
  it("in difference", () => check(subtractFieldSet, (a, b) => a.filter((path) => !b.has(path))));
  it("in difference with what is below", () =>
    check(subtractSubtrees, (a, b) =>
      a.filter((path) => !prefixesOf(path).some((prefix) => b.has(prefix))),
    ));
  it("in leaves", () =>
    check(leavesOf, (a) =>
      a.filter(
        (path) =>
          !a
            .list()
            .some(
              (other) =>
                other.length > path.length &&
                prefixesOf(other).some((prefix) => JSON.stringify(prefix) === JSON.stringify(path)),
            ),
      ),
    ));
  it("in membership and equality", () =>
    fc.assert(
      fc.property(paths, paths, (left, right) => {
        const [a, b] = [fieldSetOf(...left), fieldSetOf(...right)];
        for (const path of [...left, ...right])
          assert.equal(hasPath(a, path), new NaiveSet(left).has(path));
        const equal =
          JSON.stringify([...new NaiveSet(left).paths].sort()) ===
          JSON.stringify([...new NaiveSet(right).paths].sort());
        assert.equal(equalFieldSets(a, b), equal);
      }),
    ));
});

describe("FieldsV1", () => {
  it("is written in the order of path elements", () => {
    const set = {
      "i:10": {},
      "i:9": {},
      'v:"a"': {},
      "v:10": {},
      "v:9": {},
      "v:true": {},
      'k:{"port":443}': {},
      'k:{"port":80}': {},
      'k:{"name":"b"}': {},
      'k:{"name":"a b"}': {},
      'k:{"name":"a","port":1}': {},
      'k:{"name":"a"}': {},
      "f:b": { "f:y": {}, "f:x": {}, ".": {} },
      "f:a": {},
      "f:\u{1F600}": {},
      "f:\uFFFF": {},
    };
    assert.equal(
      JSON.stringify(sortFieldSet(set)),
      JSON.stringify({
        "f:a": {},
        "f:b": { ".": {}, "f:x": {}, "f:y": {} },
        "f:\uFFFF": {},
        "f:\u{1F600}": {},
        'k:{"name":"a"}': {},
        'k:{"name":"a","port":1}': {},
        'k:{"name":"a b"}': {},
        'k:{"name":"b"}': {},
        'k:{"port":80}': {},
        'k:{"port":443}': {},
        "v:9": {},
        "v:10": {},
        'v:"a"': {},
        "v:true": {},
        "i:9": {},
        "i:10": {},
      }),
    );
  });

  it("is the same object when it is in order already", () => {
    const set = { "f:a": { ".": {}, "f:b": {} }, "f:c": {} };
    assert.equal(sortFieldSet(set), set);
  });

  it("from clients is normalised", () => {
    assert.deepEqual(
      readFieldSet({
        ".": {},
        "f:a": { ".": {} },
        'k:{"b": 1, "a": "<"}': {},
        'k:{"a":"\\u003c","b":1}': { "f:x": {} },
        "i:007": {},
        "x:future": { "f:y": {} },
        "f:__proto__": {},
      }),
      {
        "f:a": {},
        'k:{"a":"\\u003c","b":1}': { ".": {}, "f:x": {} },
        "i:7": {},
        "f:__proto__": {},
      },
    );
  });

  for (const [json, message] of [
    [{ f: {} }, "key must be 2 characters long:"],
    [{ "fa:b": {} }, "missing colon: fa:b"],
    [{ "i:x": {} }, "invalid index: i:x"],
    [{ "k:[]": {} }, "expected an object of keys: k:[]"],
    [{ "f:a": 1 }, "expected an object of fields"],
    [[], "expected an object of fields"],
  ] as const) {
    it(`refuses ${JSON.stringify(json)}`, () => {
      assert.throws(() => readFieldSet(json as JsonValue), { message });
    });
  }

  it("is cut at the depth that its object can hold", () => {
    const nested = (levels: number) => fieldSetOf(Array.from({ length: levels }, () => "f:a"));
    const depth = (set: FieldSet): number => {
      const [child] = Object.values(set);
      return child === undefined ? 0 : 1 + depth(child);
    };
    assert.ok(fieldPathElementsMax < jsonDepthMax);
    assert.equal(depth(sortFieldSet(nested(fieldPathElementsMax))), fieldPathElementsMax);
    assert.equal(depth(sortFieldSet(nested(fieldPathElementsMax + 1))), fieldPathElementsMax);
  });
});

describe("formatPath", () => {
  const rows: readonly [FieldPath, string][] = [
    [[fieldElement("spec"), fieldElement("replicas")], ".spec.replicas"],
    [
      [
        fieldElement("spec"),
        fieldElement("containers"),
        keyElement({ name: "x" }),
        fieldElement("image"),
      ],
      '.spec.containers[name="x"].image',
    ],
    [
      [fieldElement("ports"), keyElement({ protocol: "TCP", port: 80 })],
      '.ports[port=80,protocol="TCP"]',
    ],
    [[fieldElement("finalizers"), valueElement("a/b")], '.finalizers[="a/b"]'],
    [[fieldElement("flags"), valueElement(true)], ".flags[=true]"],
    [[fieldElement("sizes"), valueElement(9007199254740993n)], ".sizes[=9007199254740993]"],
    [[fieldElement("list"), "i:0"], ".list[0]"],
    [
      [fieldElement("metadata"), fieldElement("labels"), fieldElement("a.b/c")],
      ".metadata.labels.a.b/c",
    ],
  ];
  for (const [path, text] of rows) it(`writes ${text}`, () => assert.equal(formatPath(path), text));
});
