import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  parseLabelSelector,
  SelectorSyntaxError,
  selectorFromLabelSelectorObject,
  selectorRequirementsMax,
  selectorTextBytesMax,
} from "./index.ts";

const word = fc.constantFrom("a", "b", "in", "notin", "x.y/z", "1", "A_b-c", "constructor");
const value = fc.oneof(fc.constant(""), fc.constantFrom("a", "in", "notin", "1", "x_Y.z"));
const integer = fc.integer({ min: 0, max: 20 }).map(String);
const requirement = fc.oneof(
  word,
  word.map((key) => `!${key}`),
  fc.tuple(word, fc.constantFrom("=", "==", "!="), value).map((parts) => parts.join("")),
  fc.tuple(word, fc.constantFrom(">", "<"), integer).map((parts) => parts.join("")),
  fc
    .tuple(word, fc.constantFrom(" in ", " notin "), fc.array(value, { maxLength: 4 }))
    .map(([key, operator, values]) => `${key}${operator}(${values.join(",")})`),
);
const selectorText = fc.array(requirement, { maxLength: 5 }).map((parts) => parts.join(","));
const labels = fc.dictionary(word, fc.oneof(value, integer), { maxKeys: 4 });

describe("parseLabelSelector", () => {
  const object = { app: "web", tier: "front", size: "5", empty: "" };
  const cases: readonly [text: string, matches: boolean][] = [
    ["", true],
    ["  ", true],
    ["app=web", true],
    ["app==web", true],
    [" app = web , tier = front ", true],
    ["app=db", false],
    ["app!=db", true],
    ["app!=web", false],
    ["missing!=x", true],
    ["missing=", false],
    ["empty=", true],
    ["empty", true],
    ["app in (web,db)", true],
    ["app in (db)", false],
    ["missing in (x)", false],
    ["app notin (db)", true],
    ["app notin (web)", false],
    ["missing notin (x)", true],
    ["empty in ()", true],
    ["empty in (,x)", true],
    ["app notin ()", true],
    ["app", true],
    ["!app", false],
    ["!missing", true],
    ["size>4", true],
    ["size>5", false],
    ["size<6", true],
    ["app>1", false],
    ["missing<1", false],
    ["app=web,tier=back", false],
    ["constructor", false],
    ["!toString", true],
  ];
  for (const [text, matches] of cases) {
    it(`${matches ? "matches" : "does not match"} with ${JSON.stringify(text)}`, () => {
      assert.equal(parseLabelSelector(text).matches(object), matches);
    });
  }

  it("takes missing labels for none", () => {
    assert.equal(parseLabelSelector("!a").matches(undefined), true);
    assert.equal(parseLabelSelector("a").matches(undefined), false);
  });

  it("says whether it restricts anything", () => {
    assert.equal(parseLabelSelector(" ").isEmpty, true);
    assert.equal(parseLabelSelector("a").isEmpty, false);
  });

  it("prints sorted keys and sorted values without repeats", () => {
    assert.equal(
      parseLabelSelector("z notin (b, a,a),!b ,a>1,c!=d,e==f").toString(),
      "a>1,!b,c!=d,e==f,z notin (a,b)",
    );
  });

  it("compares integers beyond 2^53 exactly", () => {
    const selector = parseLabelSelector("a>9007199254740992");
    assert.equal(selector.matches({ a: "9007199254740993" }), true);
    assert.equal(selector.matches({ a: "9007199254740992" }), false);
    assert.equal(selector.matches({ a: "9223372036854775808" }), false);
  });

  it("reads its own text back as an equal selector", () => {
    fc.assert(
      fc.property(selectorText, labels, (text, object) => {
        const selector = parseLabelSelector(text);
        const again = parseLabelSelector(selector.toString());
        assert.deepEqual(again.requirements, selector.requirements);
        assert.equal(again.toString(), selector.toString());
        assert.equal(again.matches(object), selector.matches(object));
      }),
    );
  });

  it("parses any text or throws SelectorSyntaxError", () => {
    const unit = fc.constantFrom("a", "in", "notin", "(", ")", ",", "=", "!", ">", "<", " ", "é");
    fc.assert(
      fc.property(fc.string({ unit, maxLength: 30 }), (text) => {
        try {
          assert.equal(typeof parseLabelSelector(text).toString(), "string");
        } catch (error) {
          assert.ok(error instanceof SelectorSyntaxError, String(error));
        }
      }),
      { numRuns: 1000 },
    );
  });

  const namePart =
    "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
  const labelValue =
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";
  const errors: readonly [text: string, message: string][] = [
    ["=a", "found '=', expected: !, identifier, or 'end of string'"],
    [",a", "found ',', expected: !, identifier, or 'end of string'"],
    ["a,", "found '', expected: identifier after ','"],
    ["a,,b", "found ',', expected: identifier after ','"],
    ["a=b c", "found 'c', expected: ',' or 'end of string'"],
    ["!a=b", "found '=', expected: ',' or 'end of string'"],
    ["a===b", "unable to parse requirement: found '=', expected: identifier"],
    ["a b", "unable to parse requirement: found 'b', expected: in, notin, =, ==, !=, gt, lt"],
    ["a!b", "unable to parse requirement: found '!', expected: in, notin, =, ==, !=, gt, lt"],
    ["!", "unable to parse requirement: found '', expected: identifier"],
    ["a in b", "unable to parse requirement: found 'b' expected: '('"],
    ["a in (", "unable to parse requirement: found '', expected: ',', ')' or identifier"],
    ["a in (b", "unable to parse requirement: found '', expected: ',' or ')'"],
    ["a in (b c)", "unable to parse requirement: found 'c', expected: ',' or ')'"],
    ["a in (b,=)", "unable to parse requirement: found '=', expected: ',', or identifier"],
    ["a_=b", `unable to parse requirement: <nil>: Invalid value: "a_": ${namePart}`],
    ["a=b_", `unable to parse requirement: values[0][a]: Invalid value: "b_": ${labelValue}`],
    [
      "a>b",
      `unable to parse requirement: values[0]: Invalid value: "b": for 'Gt', 'Lt' operators, the value must be an integer`,
    ],
    [
      "a>9223372036854775808",
      `unable to parse requirement: values[0]: Invalid value: "9223372036854775808": for 'Gt', 'Lt' operators, the value must be an integer`,
    ],
    [
      "a>b_",
      `unable to parse requirement: [values[0]: Invalid value: "b_": for 'Gt', 'Lt' operators, the value must be an integer, values[0][a]: Invalid value: "b_": ${labelValue}]`,
    ],
    ["\u0000", `unable to parse requirement: <nil>: Invalid value: "\\x00": ${namePart}`],
  ];
  for (const [text, message] of errors) {
    it(`refuses ${JSON.stringify(text)} in the words of Kubernetes`, () => {
      assert.throws(() => parseLabelSelector(text), { name: "SelectorSyntaxError", message });
    });
  }

  it("shows twenty wrong values and not one more", () => {
    for (const count of [20, 21]) {
      const values = Array.from({ length: count }, (_, i) => `-${i}`).join(",");
      assert.throws(
        () => parseLabelSelector(`a in (${values})`),
        (error: Error) => error.message.split("Invalid value").length - 1 === 20,
      );
    }
  });

  it("takes as many requirements as allowed and not one more", () => {
    const full = Array.from({ length: selectorRequirementsMax }, (_, i) => `k${i}`).join(",");
    assert.equal(parseLabelSelector(full).requirements.length, selectorRequirementsMax);
    assert.throws(() => parseLabelSelector(`${full},x`), SelectorSyntaxError);
  });

  it("takes as many bytes as allowed and not one more", () => {
    assert.equal(parseLabelSelector("a".padEnd(selectorTextBytesMax)).toString(), "a");
    assert.throws(() => parseLabelSelector("a".padEnd(selectorTextBytesMax + 1)), {
      message: "a selector may have at most 65536 bytes",
    });
  });
});

describe("selectorFromLabelSelectorObject", () => {
  it("joins labels and expressions", () => {
    const selector = selectorFromLabelSelectorObject({
      matchLabels: { b: "1" },
      matchExpressions: [
        { key: "a", operator: "In", values: ["y", "x"] },
        { key: "c", operator: "NotIn", values: ["z"] },
        { key: "d", operator: "Exists" },
        { key: "e", operator: "DoesNotExist", values: null },
      ],
    });
    assert.equal(selector.toString(), "a in (x,y),b=1,c notin (z),d,!e");
    assert.equal(selector.matches({ a: "x", b: "1", d: "" }), true);
    assert.equal(selector.matches({ a: "x", b: "1" }), false);
  });

  it("selects everything when it is empty", () => {
    assert.equal(selectorFromLabelSelectorObject({}).isEmpty, true);
    assert.equal(selectorFromLabelSelectorObject({ matchLabels: null }).matches(undefined), true);
  });

  const errors: readonly [operator: string, values: string[], message: string][] = [
    ["Near", [], `"Near" is not a valid label selector operator`],
    ["In", [], "values: Invalid value: []: for 'in', 'notin' operators, values set can't be empty"],
    [
      "Exists",
      ["x"],
      `values: Invalid value: ["x"]: values set must be empty for exists and does not exist`,
    ],
  ];
  for (const [operator, values, message] of errors) {
    it(`refuses the operator ${operator} with ${values.length} values`, () => {
      const matchExpressions = [{ key: "a", operator, values }];
      assert.throws(() => selectorFromLabelSelectorObject({ matchExpressions }), { message });
    });
  }

  it("takes as many requirements as allowed and not one more", () => {
    const matchExpressions = Array.from({ length: selectorRequirementsMax }, (_, i) => ({
      key: `k${i}`,
      operator: "Exists",
    }));
    const full = selectorFromLabelSelectorObject({ matchExpressions });
    assert.equal(full.requirements.length, selectorRequirementsMax);
    const over = { matchLabels: { x: "" }, matchExpressions };
    assert.throws(() => selectorFromLabelSelectorObject(over), SelectorSyntaxError);
  });
});
