/**
 * The runtime costs that Kubernetes' own tests pin, since changing one would change which objects
 * are accepted.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compile } from "../compile.ts";
import { kubernetesEnvironment } from "../library/kubernetes-environment.ts";
import {
  declaredDateTime,
  declaredInt,
  declaredList,
  declaredMap,
  declaredObject,
  declaredString,
} from "../types/declared-type.ts";

const item = declaredObject("self.listMap", [
  ["k", { declared: declaredString() }],
  ["v", { declared: declaredString() }],
  ["v2", { declared: declaredString() }],
]);
const environment = kubernetesEnvironment.extend({
  variables: {
    self: declaredObject("self", [
      ["text", { declared: declaredString() }],
      ["at", { declared: declaredDateTime }],
      ["val", { declared: declaredMap(declaredInt) }],
      ["array", { declared: declaredList(declaredInt) }],
      ["listMap", { declared: declaredList(item, { listType: "map", mapKeys: ["k"] }) }],
      ["m", { declared: declaredMap(declaredString()) }],
      ["l", { declared: declaredList(declaredString()) }],
      [
        "obj",
        {
          declared: declaredObject("self.obj", [
            ["field", { declared: declaredString() }],
            ["absentField", { declared: declaredString() }],
          ]),
        },
      ],
    ]),
  },
});
const self = {
  text: "Rook takes 👑",
  at: "2011-08-18T19:03:37.010000000+01:00",
  val: { b: 1, d: 2 },
  array: [1, 1, 2, 2, 3, 3, 4, 5],
  listMap: [
    { k: "a1", v: "b1" },
    { k: "a2", v: "b2" },
    { k: "a3", v: "b3", v2: "z" },
  ],
  m: { k: "v" },
  l: ["a"],
  obj: { field: "a" },
};

const rows: readonly (readonly [number, string])[] = [
  [3, "self.text.startsWith('Rook')"],
  [8, "self.text.matches('^[^0-9]*$')"],
  [4, "type(self.text) == string"],
  [4, "self.text.charAt(3) == 'k'"],
  [4, "self.text.indexOf('o', 2) == 2"],
  [7, "self.text.replace(' ', 'x') == 'Rookxtakesx👑'"],
  [6, "self.text.split(' ') == ['Rook', 'takes', '👑']"],
  [6, "self.text.substring(4, 10).trim() == 'takes'"],
  [10, "self.text.lowerAscii() == self.text.lowerAscii()"],
  [
    6,
    "'%d %s %f %s %s'.format([1, 'abc', 1.0, duration('1m'), timestamp('2000-01-01T00:00:00.000Z')]) == '1 abc 1.000000 60s 2000-01-01T00:00:00Z'",
  ],
  [3, "'%e'.format([3.14]) == '3.140000×10⁰⁰'"],
  [4, "self.at == timestamp('2011-08-18T00:00:00.000+01:00') + duration('19h3m37s10ms')"],
  [4, "self.at.getDate('01:00') == 18"],
  [4, "!('a' in self.val)"],
  [2, "has(self.val.b)"],
  [17, "self.val.all(k, self.val[k] > 0)"],
  [20, "!self.val.exists(k, self.val[k] == 3)"],
  [14, "self.val.exists_one(k, self.val[k] == 2)"],
  [26, "size(self.val.filter(k, self.val[k] > 1)) == 1"],
  [10, "self.val.existsOne(k, v, v == 2)"],
  [14, "self.val.transformMap(k, v, v > 1, v + 1).size() == 1"],
  [77, "self.val.transformMapEntry(k, v, {k + '2': v + 1}).size() == 2"],
  [3, "has(self.listMap[0].v)"],
  [21, "self.listMap.all(m, m.k.startsWith('a'))"],
  [21, "self.listMap.all(m, !has(m.v2) || m.v2 == 'z')"],
  [16, "self.listMap.exists(m, m.k == 'a1' && m.v == 'b1')"],
  [55, "self.listMap.map(m, m.v).exists(v, v == 'b1')"],
  [25, "self.listMap.map(m, has(m.v2) && m.v2 == 'z', m.v2).size() == 1"],
  [24, "self.listMap.exists(m, m.v2 == 'z')"],
  [22, "!self.listMap.all(m, m.v2 != 'z')"],
  [25, "self.listMap.transformList(i, m, has(m.v2) && m.v2 == 'z', m.v2).size() == 1"],
  [10, "2 in self.array"],
  [43, "self.array.all(e, e > 0)"],
  [36, "self.array.exists(e, e > 2)"],
  [22, "self.array.exists_one(e, e > 4)"],
  [68, "size(self.array.filter(e, e%2 == 0)) == 3"],
  [194, "self.array.map(e, e * 20).filter(e, e > 50).exists(e, e == 60)"],
  [117, "self.array.transformList(i, e, e * 2).size() > 0"],
  [3, "optional.of('a') != optional.none()"],
  [3, "optional.none().or(optional.of('a')).hasValue()"],
  [5, "self.obj.?field == optional.of('a')"],
  [4, "self.obj.?absentField == optional.none()"],
  [4, "self.obj.?field.orValue('v') == 'a'"],
  [5, "self.m[?'k'] == optional.of('v')"],
  [5, "self.l[?0] == optional.of('a')"],
];

describe("runtime costs of Kubernetes", () => {
  for (const [cost, rule] of rows) {
    it(`${rule} costs ${cost} and holds`, () => {
      const compilation = compile(rule, environment);
      assert.ok(compilation.ok, compilation.ok ? "" : compilation.message);
      const evaluation = compilation.program.evaluate({ self });
      assert.equal(evaluation.result, true);
      assert.equal(evaluation.cost, cost);
    });
  }
});
