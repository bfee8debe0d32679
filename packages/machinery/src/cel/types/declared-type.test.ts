import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { kubernetesEnvironment } from "../library/kubernetes-environment.ts";
import { expressionTable, outcomeOf } from "../test-support/expression-table.ts";
import {
  type DeclaredType,
  declaredBool,
  declaredBytes,
  declaredDate,
  declaredDateTime,
  declaredDouble,
  declaredDuration,
  declaredDynamic,
  declaredInt,
  declaredIntOrString,
  declaredList,
  declaredMap,
  declaredObject,
  declaredOptional,
  declaredString,
  nullable,
} from "./declared-type.ts";

function withSelf(self: DeclaredType) {
  return kubernetesEnvironment.extend({ variables: { self } });
}

const object = declaredObject("self", [
  ["name", { declared: declaredString() }],
  ["count", { declared: declaredInt }],
  ["ratio", { declared: declaredDouble }],
  ["on", { declared: declaredBool }],
  ["blob", { declared: declaredBytes() }],
  ["after", { declared: declaredDuration }],
  ["day", { declared: declaredDate }],
  ["at", { declared: declaredDateTime }],
  ["port", { declared: declaredIntOrString() }],
  ["foo-bar", { declared: declaredString() }],
  ["namespace", { declared: declaredString() }],
  ["__proto__", { declared: declaredString() }],
  ["tags", { declared: declaredList(declaredString(), { listType: "set" }) }],
  [
    "ports",
    {
      declared: declaredList(
        declaredObject("self.ports", [
          ["name", { declared: declaredString() }],
          ["port", { declared: declaredInt }],
        ]),
        { listType: "map", mapKeys: ["name"] },
      ),
    },
  ],
  ["labels", { declared: declaredMap(declaredString()) }],
  ["maybe", { declared: nullable(declaredString()) }],
  ["maybes", { declared: declaredList(nullable(declaredString())) }],
  ["any", { declared: declaredDynamic }],
]);

const data = JSON.parse(`{
  "name": "n", "count": 3, "ratio": 2, "on": true, "blob": "aGk=", "after": "1h", "day": "2024-02-29",
  "at": "2024-02-29T01:00:00Z", "port": "80%", "foo-bar": "dashed", "namespace": "ns", "__proto__": "own",
  "tags": ["a", "b"], "ports": [{"name": "a", "port": 1}, {"name": "b", "port": 2}],
  "labels": {"__proto__": "p", "constructor": "c"}, "maybe": null, "maybes": [null, "x"],
  "any": {"n": 1, "d": 1.5, "l": [1], "z": null}, "undeclared": 1
}`);

describe("JSON under declared types", () => {
  expressionTable(
    it,
    [
      ["self.name + string(self.count) + string(self.ratio)", '"n32"'],
      ["type(self.count) == int && type(self.ratio) == double && self.on", "true"],
      ["self.blob == b'hi'", "true"],
      ["self.after.getMinutes() + self.day.getDate() + self.at.getHours()", "90"],
      ["type(self.port) == string ? self.port : string(self.port)", '"80%"'],
      ["self.foo__dash__bar + self.__namespace__", '"dashedns"'],
      ["self.namespace + (has(self.namespace) ? '!' : '')", '"ns!"'],
      [
        "self == {'a': 1}",
        "refused: found no matching overload for '_==_' applied to '(self, map(string, int))'",
      ],
      [
        "self['name']",
        "refused: found no matching overload for '_[_]' applied to '(self, string)'",
      ],
      ["has(self.any.n.m) || self.any.z.?m.hasValue() || self.any.n[?'m'].hasValue()", "false"],
      ["self.any.z.m", "error: no such key: m"],
      ["self.any.n.m", "error: no such key: m"],
      ["self.any.n['m']", "error: no such key: m"],
      ["has(self.any.l.m)", "error: unsupported index type 'string' in list"],
      ["size(self.any.z)", "error: no such overload: size"],
      ["self.any.z.all(x, true)", "error: got 'types.Null', expected iterable type"],
      ["self.port != ['anything'] && self.port != 1", "true"],
      ["self.__underscores__proto__underscores__", '"own"'],
      ["self.labels['__proto__'] + self.labels.constructor", '"pc"'],
      ["self.labels.toString", "error: no such key: toString"],
      ["'toString' in self.labels || has(self.labels.hasOwnProperty)", "false"],
      ["has(self.maybe)", "false"],
      [
        "self.maybes[0] == null",
        "refused: found no matching overload for '_==_' applied to '(string, null)'",
      ],
      ["dyn(self.maybes[0]) == null", "true"],
      ["self.maybes[0].startsWith('x')", "error: no such overload: startsWith(null_type, string)"],
      ["self.undeclared", "refused: undefined field 'undeclared'"],
      ["self.name.x", "refused: type 'string' does not support field selection"],
      ["self.tags == ['b', 'a']", "true"],
      ["self.tags == ['b', 'c']", "false"],
      ["self.ports == self.ports.reverse()", "true"],
      ["self.tags + ['b', 'c']", '["a", "b", "c"]'],
      ["self.tags + ['b', 'c'] == ['c', 'b', 'a']", "true"],
      ["(self.ports + self.ports).size()", "2"],
      ["self.ports.filter(p, p.port > 1)[0].name", '"b"'],
      ["self.ports[0] == self.ports[1]", "false"],
      ["type(self.any.n) == int && type(self.any.d) == double && self.any.z == null", "true"],
      ["self.any.l.map(x, x + 1)", "[2]"],
      ["self.any.missing", "error: no such key: missing"],
      ["size(self.labels) + size(self.ports)", "4"],
      ["self.labels.map(k, k).sort()", '["__proto__", "constructor"]'],
      ["self == self", "true"],
    ],
    withSelf(object),
    { self: data },
  );

  it("comes out as an error where it does not fit", () => {
    const environment = withSelf(object);
    const rows: readonly (readonly [string, object, string])[] = [
      ["self.count", { count: "3" }, "error: invalid data, expected int, got string"],
      ["self.count", { count: 1.5 }, "error: invalid data, expected int, got number"],
      ["self.name", { name: 3 }, "error: invalid data, expected string, got number"],
      [
        "self.tags",
        { tags: {} },
        "error: invalid data, expected an array for the provided schema with type=array",
      ],
      [
        "self.ports[0].name",
        { ports: [[]] },
        "error: invalid data, expected a map for the provided schema with type=object",
      ],
      [
        "self.tags[0]",
        { tags: [null] },
        "error: invalid data, got null for schema with nullable=false",
      ],
      ["self.after", { after: "soon" }, "error: Invalid duration soon"],
      [
        "has(self.tags)",
        { tags: 1 },
        "error: invalid data, expected an array for the provided schema with type=array",
      ],
      ["has(self.count)", { count: "3" }, "error: invalid data, expected int, got string"],
      ["self.name", {}, "error: no such key: name"],
    ];
    for (const [expression, self, outcome] of rows) {
      assert.equal(outcomeOf(expression, environment, { self }), outcome);
    }
  });

  it("counts undeclared properties when objects are compared", () => {
    const environment = kubernetesEnvironment.extend({ variables: { a: object, b: object } });
    const equal = (a: object, b: object) => outcomeOf("a == b", environment, { a, b });
    assert.equal(
      equal({ name: "n", more: [1, { x: null }] }, { name: "n", more: [1, { x: null }] }),
      "true",
    );
    assert.equal(equal({ name: "n", more: [1] }, { name: "n", more: [2] }), "false");
    assert.equal(equal({ name: "n", more: 1 }, { name: "n", other: 1 }), "false");
    assert.equal(equal({ name: "n" }, { name: "m" }), "false");
  });

  it("holds integers beyond what a double can hold", () => {
    const environment = withSelf(declaredInt);
    assert.equal(outcomeOf("self - 1", environment, { self: 2n ** 62n }), String(2n ** 62n - 1n));
  });

  it("is optional where it may be missing", () => {
    const environment = withSelf(declaredOptional(declaredInt));
    assert.equal(outcomeOf("self.hasValue() ? self.value() : -1", environment, { self: 4 }), "4");
    assert.equal(outcomeOf("self.orValue(-1)", environment, { self: null }), "-1");
  });
});

describe("declared sizes", () => {
  it("follow Kubernetes' defaults from the largest request", () => {
    assert.equal(declaredString().elementsMax, 3_145_726);
    assert.equal(declaredString({ maxLength: 10 }).elementsMax, 40);
    assert.equal(declaredString({ enumValues: ["a", "long"] }).elementsMax, 4);
    assert.equal(declaredBytes({ maxLength: 10 }).elementsMax, 10);
    assert.equal(declaredDuration.elementsMax, 32);
    assert.equal(declaredDate.elementsMax, 12);
    assert.equal(declaredList(declaredInt).elementsMax, 1_572_863);
    assert.equal(declaredList(declaredString(), { maxItems: 5 }).elementsMax, 5);
    assert.equal(declaredMap(declaredString()).elementsMax, 393_215);
    const required = declaredObject("o", [
      ["ab", { declared: declaredString(), alwaysPresent: true }],
    ]);
    assert.equal(required.serializedBytesMin, 10);
    assert.equal(declaredList(required).elementsMax, 285_975);
  });
});
