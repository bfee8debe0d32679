import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { JsonValue } from "@kcp-ts/machinery/json";
import fc from "fast-check";
import { parseYamlDocuments, toYaml } from "./yaml.ts";
import { longTextChars } from "./yaml-long-text.ts";
import { encodeYaml, encodeYamlItem, yamlEnd } from "./yaml-writer.ts";

const texts = fc.oneof(
  fc.string(),
  fc.string({ unit: "binary" }),
  fc.constantFrom(
    ..."yes No ~ null y N 12 0x1f 1e3 .inf 2026-01-01 1:30 - ? : # & * ! | > % @ ` true On <<".split(
      " ",
    ),
    ...[
      "a: b",
      "a #b",
      " a",
      "a ",
      "a\nb",
      "a\n",
      "\n\na\n\n",
      "  a\nb",
      "a\n \n",
      "a\r\nb",
      "- a",
      "",
      "é",
      "\u{1f600}",
      "\ufeff",
    ],
    ..."f:data a:b a: b: true:x no:1 y:z a::b 0 7 123 0123 2026-11-17T10:00:00Z 2026-13-99T10:00:00Z".split(
      " ",
    ),
    ...[
      "two words",
      "a - b",
      "a -b",
      "true story",
      "yes no",
      "no",
      "a  b",
      "a : b",
      "a :b",
      "0f0c5a3e-1111-4222",
    ],
    ...['k:{"name":"E1"}', "$(E12)", "$", "500m", "1Gi", "12E", "10.0.0.1", "10.0.0.0/8"],
    ...["a,b", "a[0]", "a'b", 'a"b', "a#b", "a: #b", "a:", "a|b", "a&b", "$ #b", "a=b;c", "1.2.3"],
    "k".repeat(1023),
    "k".repeat(1100),
    `${"k ".repeat(600)}k`,
  ),
);
const { value: values } = fc.letrec<{ value: JsonValue }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    texts,
    fc.double({ noNaN: true, noDefaultInfinity: true }),
    fc.integer(),
    fc.bigInt({ min: 2n ** 53n, max: 2n ** 63n }),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("value"), { maxLength: 4 }),
    fc.dictionary(texts, tie("value"), { maxKeys: 4, noNullPrototype: true }),
  ),
}));

describe("YAML that is written in chunks", () => {
  it("is the text that the library writes at once, for any value", () => {
    fc.assert(
      fc.property(values, (value) => {
        assert.equal([...encodeYaml(value)].join(""), toYaml(value));
      }),
      { numRuns: 3000 },
    );
  });

  it("is the same for the items of a list", () => {
    fc.assert(
      fc.property(fc.array(values, { minLength: 1, maxLength: 3 }), (items) => {
        const texts = items.flatMap((item) => [...encodeYamlItem(item)]);
        const end = yamlEnd(texts.at(-1) ?? "");
        assert.equal(`items:\n${texts.join("")}${end}`, toYaml({ items }));
      }),
      { numRuns: 1000 },
    );
  });

  it("has the same content for long strings and keys, in parts, with any characters", () => {
    const long = fc
      .tuple(
        fc.array(
          fc.oneof(fc.string({ unit: "binary" }), fc.constantFrom("\n", "\u{1f600}", "\x85")),
          { minLength: 1, maxLength: 5 },
        ),
        fc.integer({ min: 0, max: 3 }),
      )
      .map(([parts, shift]) => {
        const some = `${parts.join("")}x`;
        return "y".repeat(shift) + some.repeat(Math.ceil((3 * longTextChars) / some.length));
      });
    fc.assert(
      fc.property(long, (text) => {
        const value = { [text]: text, list: [text, { a: [text], b: { [text]: { c: 1 } } }], z: 1 };
        const written = [...encodeYaml(value)];
        const longest = Math.max(...written.map(({ length }) => length));
        assert.ok(longest <= 7 * (longTextChars + 1), `${longest} characters at once`);
        assert.deepEqual(parseYamlDocuments(written.join("")), [value]);
        assert.deepEqual(parseYamlDocuments([...encodeYaml(text)].join("")), [text]);
      }),
      { numRuns: 100 },
    );
  });

  it("has chunks of about a line, however large the value is", () => {
    const value = { list: Array.from({ length: 5000 }, (_, i) => ({ [`name-${i}`]: ["a", 1] })) };
    let pieces = 0;
    for (const text of encodeYaml(value)) {
      pieces++;
      assert.ok(text.length < 100, text);
    }
    assert.equal(pieces, 1 + 5000 * 3);
  });
});
