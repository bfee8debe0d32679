import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { parseJson } from "@kcp-ts/machinery/json";
import fc from "fast-check";
import type { KubernetesObject } from "./object.ts";
import { readList } from "./parse-list.ts";

const read = (text: string) => {
  const { metadata, items } = readList<KubernetesObject>(text);
  return { metadata, items: [...items] as unknown[] };
};

describe("a lazily parsed list", () => {
  it("equals the list that is parsed in full, for any content in any order", () => {
    const item = fc.dictionary(fc.string({ maxLength: 5 }), fc.jsonValue(), { maxKeys: 4 });
    const property = fc.property(
      fc.array(item, { maxLength: 6 }),
      fc.jsonValue(),
      fc.boolean(),
      (items, extra, itemsFirst) => {
        const own = items.map((one) => ({ ...one, kind: "Thing", apiVersion: "v1" }));
        const metadata = { resourceVersion: "7", extra };
        const list = itemsFirst
          ? { items: own, kind: "ThingList", metadata }
          : { metadata, extra, kind: "ThingList", items: own };
        for (const text of [JSON.stringify(list), JSON.stringify(list, undefined, 2)]) {
          const whole = parseJson(text).value as unknown as ReturnType<typeof read>;
          assert.deepEqual(read(text), { metadata: whole.metadata, items: whole.items });
        }
      },
    );
    fc.assert(property, { numRuns: 300 });
  });

  it("sets the kind of items that come without one, from any position of the list's own kind", () => {
    const text = '{"items":[{"metadata":{"name":"a"}}],"kind":"PodList","apiVersion":"v1"}';
    const expected = { metadata: { name: "a" }, kind: "Pod", apiVersion: "v1" };
    assert.deepEqual(read(text).items, [expected]);
  });

  it("is not confused by members and strings that look like the items", () => {
    const inner = { items: [1], text: '"items":[{"a":1}]' };
    const list = { kind: "AList", x: inner, items: [{ kind: "A", y: inner }], z: '\\"items":[' };
    assert.deepEqual(read(JSON.stringify(list)).items, [{ kind: "A", y: inner }]);
  });

  it("may have no items, and uses the last of two arrays", () => {
    for (const items of ["[]", "[ ]", "null"]) {
      assert.deepEqual(read(`{"kind":"AList","items":${items}}`).items, []);
    }
    assert.deepEqual(read('{"kind":"AList"}').items, []);
    const twice = '{"items":[{"kind":"A"}],"items":[{"kind":"B"}]}';
    assert.deepEqual(read(twice).items, [{ kind: "B" }]);
  });

  it("keeps integers that exceed a double", () => {
    const [item] = read('{"items":[{"kind":"A","n":9007199254740993}]}').items;
    assert.deepEqual(item, { kind: "A", n: 9007199254740993n });
  });

  it("is rejected when it is not JSON, with or without items that look complete", () => {
    const broken = ['{"items":[{]}', '{"items":[{"a":1}', '{"items":["', '{"items":[}', "{", ""];
    for (const text of [...broken, '{"kind":x,"items":[]}', '{"items":[{"a":1}]}}']) {
      assert.throws(() => read(text), { name: "JsonSyntaxError" }, text);
    }
  });
});
