import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonValue } from "@kcp-ts/machinery/json";
import { load } from "js-yaml";
import { formatYaml } from "./format-yaml.ts";
import { lineDiff } from "./line-diff.ts";

describe("YAML of the console", () => {
  const values: readonly JsonValue[] = [
    { a: 1, b: "text", c: [1, { d: ["x", "y: z"] }, [], {}], e: null, f: true },
    { no: "no", on: "on", number: "1", float: "1e3", empty: "", dash: "- a", colon: "a: b" },
    { script: "#!/bin/sh\necho 'hi'\n\n  indented\n", tail: "a\nb", keep: "a\n\n", tab: "\ta\nb" },
    {
      html: "<script>alert(1)</script>",
      rtl: "\u202eabc",
      "key: odd": "v",
      space: " a ",
      "#": "#",
    },
    [[["deep"]], { a: { b: [] } }],
  ];
  for (const value of values)
    it(`${JSON.stringify(value)} is read back as it was`, () => {
      assert.deepEqual(load(formatYaml(value)), value);
    });

  it("a large integer keeps its digits", () => {
    assert.equal(formatYaml({ id: 9007199254740993n as never }), "id: 9007199254740993\n");
  });
});

describe("the difference of two texts", () => {
  const apply = (before: string, after: string) => {
    const lines = lineDiff(before, after);
    const side = (not: string) =>
      lines
        .filter(({ kind }) => kind !== not)
        .map(({ text }) => text)
        .join("\n");
    assert.equal(side("added"), before);
    assert.equal(side("removed"), after);
    return lines.filter(({ kind }) => kind !== "same").length;
  };

  it("leads from one to the other, by few lines", () => {
    assert.equal(apply("a\nb\nc", "a\nb\nc"), 0);
    assert.equal(apply("a\nb\nc", "a\nx\nc"), 2);
    assert.equal(apply("a\nb\nc\nd\ne", "b\nc\nx\ne\nf"), 4);
    assert.equal(apply("", "a"), 2);
  });

  it("leads from one to the other for any texts", () => {
    let seed = 7;
    const next = (max: number) => {
      seed = (seed * 1103515245 + 12345) % 2147483648;
      return seed % max;
    };
    const text = () => Array.from({ length: next(12) }, () => "abc"[next(3)]).join("\n");
    for (let round = 0; round < 500; round++) apply(text(), text());
  });
});
