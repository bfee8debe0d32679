import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { compile } from "../compile.ts";
import { kubernetesEnvironment } from "../library/kubernetes-environment.ts";
import { standardLibrary } from "../library/standard-library.ts";
import { expressionTable } from "../test-support/expression-table.ts";
import { declaredInt, declaredObject, declaredString } from "../types/declared-type.ts";
import { BOOL, INT, STRING, structType } from "../types/type.ts";
import { CelStruct } from "../values/value.ts";
import { Environment } from "./environment.ts";

const environment = kubernetesEnvironment.extend({
  variables: {
    self: declaredObject("self", [
      ["x", { declared: declaredInt }],
      ["s", { declared: declaredString() }],
    ]),
  },
});

describe("checker", () => {
  it("prints problems as cel-go does, all of them", () => {
    const compilation = compile("self.y == 1 &&\n  missing(self.z)", environment);
    assert.ok(!compilation.ok);
    assert.equal(
      compilation.message,
      [
        "ERROR: <input>:1:5: undefined field 'y'",
        " | self.y == 1 &&",
        " | ....^",
        "ERROR: <input>:2:10: undeclared reference to 'missing' (in container '')",
        " |   missing(self.z)",
        " | .........^",
        "ERROR: <input>:2:15: undefined field 'z'",
        " |   missing(self.z)",
        " | ..............^",
      ].join("\n"),
    );
  });

  expressionTable(
    it,
    [
      ["has(self.y)", "refused: undefined field 'y'"],
      [
        "self.x == self.s",
        "refused: found no matching overload for '_==_' applied to '(int, string)'",
      ],
      ["self == 1", "refused: found no matching overload for '_==_' applied to '(self, int)'"],
      [
        "self.s.size(1)",
        "refused: found no matching overload for 'size' applied to 'string.(int)'",
      ],
      ["other", "refused: undeclared reference to 'other' (in container '')"],
      ["[1, 'a']", "refused: expected type 'int' but found 'string'"],
      ["{'a': 1, 'b': 'c'}", "refused: expected type 'int' but found 'string'"],
      ["{'a': 1, 2: 3}", "refused: expected type 'string' but found 'int'"],
      ["[?1]", "refused: expected type 'optional_type(int)' but found 'int'"],
      ["[1, dyn('a')]", "refused: expected type 'int' but found 'dyn'"],
      ["1.x", "refused: type 'int' does not support field selection"],
      [
        "true ? 1 : 'a'",
        "refused: found no matching overload for '_?_:_' applied to '(bool, int, string)'",
      ],
      ["Foo{a: 1}", "refused: undeclared reference to 'Foo' (in container '')"],
      ["int{}", "refused: 'int' is not a message type"],
      ["duration('1')", "refused: invalid duration argument"],
      ["'a'.matches('[')", "refused: invalid matches argument"],
    ],
    environment,
  );

  it("accepts a result of the wanted type or a dynamic one, and names what it wanted otherwise", () => {
    const refusal = (text: string, resultTypes: readonly (typeof BOOL)[]) => {
      const compilation = compile(text, environment, { resultTypes });
      return compilation.ok ? undefined : compilation.message;
    };
    assert.equal(refusal("self.x > 1", [BOOL]), undefined);
    assert.equal(refusal("dyn(self.x)", [BOOL]), undefined);
    assert.equal(refusal("self.x", [BOOL]), "must evaluate to bool but got int");
    assert.equal(
      refusal("[1]", [STRING, INT]),
      "must evaluate to one of [string int] but got list(int)",
    );
  });
});

describe("homogeneous literals", () => {
  const strict = Environment.create({ libraries: [standardLibrary], homogeneousLiterals: true });
  const loose = Environment.create({ libraries: [standardLibrary] });
  expressionTable(
    it,
    [["[1, 'a'].size()", "refused: expected type 'int' but found 'string'"]],
    strict,
  );
  expressionTable(it, [["[1, 'a'].size()", "2"]], loose);
});

describe("struct types of the embedder", () => {
  const type = structType("Object", (field) =>
    field === "name" ? STRING : field === "count" ? INT : undefined,
  );
  const extended = kubernetesEnvironment.extend({
    structs: [{ type, construct: (fields) => new CelStruct(type.name, fields) }],
  });
  expressionTable(
    it,
    [
      ["Object{name: 'a', count: 1}.name", '"a"'],
      ["Object{?name: optional.of('a')}.name", '"a"'],
      ["has(Object{name: 'a'}.count)", "false"],
      ["Object{name: 'a'}.count", "error: no such field 'count'"],
      ["Object{name: 'a'} == Object{name: 'a'} && Object{name: 'a'} != Object{}", "true"],
      [
        "Object{name: 1}",
        "refused: expected type of field 'name' is 'string' but provided type is 'int'",
      ],
      ["Object{other: 1}", "refused: undefined field 'other'"],
    ],
    extended,
  );
});
