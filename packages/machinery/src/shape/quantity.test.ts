import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import {
  formatNanos,
  isIntegerQuantity,
  isNegativeQuantity,
  parseQuantity,
  quantityNanos,
} from "./quantity.ts";

/** Facts of upstream's resource.Quantity. */
const canonical: readonly [text: string, becomes: string][] = [
  ["0", "0"],
  ["-0", "0"],
  ["0.0", "0"],
  ["0Ki", "0"],
  ["1", "1"],
  ["+1", "1"],
  ["-1", "-1"],
  ["1000m", "1"],
  ["1500m", "1500m"],
  ["1.5", "1500m"],
  [".5", "500m"],
  ["5.", "5"],
  ["100000", "100k"],
  ["1000000", "1M"],
  ["1e3", "1e3"],
  ["1E3", "1e3"],
  ["10e2", "1e3"],
  ["1e1", "10"],
  ["1e-1", "100e-3"],
  ["1Ki", "1Ki"],
  ["1024Ki", "1Mi"],
  ["2048Mi", "2Gi"],
  ["0.5Gi", "512Mi"],
  ["1.5Ki", "1536"],
  ["0.5Ki", "512"],
  ["0.0001Ki", "102400u"],
  ["1023", "1023"],
  ["1000Ki", "1000Ki"],
  ["1n", "1n"],
  ["0.1n", "1n"],
  ["1.0000000001", "1000000001n"],
  ["9223372036854775807", "9223372036854775807"],
  ["9223372036854775808", "9223372036854775807"],
  ["1e1024", "9223372036854775807"],
  ["007", "7"],
];

describe("parseQuantity", () => {
  for (const [text, becomes] of canonical) {
    it(`${text} is ${becomes}`, () => {
      assert.deepEqual(parseQuantity(text), { canonical: becomes });
    });
  }

  it("refuses what is no quantity", () => {
    for (const text of ["", ".", "-", "a", "1 Ki", "1,5", "1.2.3", "--1", "1".repeat(1025)])
      assert.match(
        (parseQuantity(text) as { error: string }).error,
        /^quantities must match/,
        text,
      );
    for (const text of ["1Xi".replace("X", "n"), "1mm", "1e", "1e1025", "1KiKi", "1i"])
      assert.equal(
        (parseQuantity(text) as { error: string }).error,
        "unable to parse quantity's suffix",
        text,
      );
    assert.ok("canonical" in parseQuantity("1".repeat(1024)));
  });

  it("the canonical form of a canonical form is itself", () => {
    const suffix = fc.constantFrom("", "n", "u", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3", "E-2");
    const number = fc.double({ noNaN: true, min: -1e9, max: 1e9 }).map((value) => value.toFixed(6));
    fc.assert(
      fc.property(number, suffix, (value, unit) => {
        const first = parseQuantity(`${value}${unit}`);
        assert.ok("canonical" in first);
        assert.deepEqual(parseQuantity(first.canonical), first);
      }),
    );
  });

  it("tells signs and fractions", () => {
    assert.deepEqual(["-1", "0", "1m"].map(isNegativeQuantity), [true, false, false]);
    const whole = ["1", "1k", "1Ki", "1e3", "0"];
    const broken = ["1m", "1u", "1n", "100e-3"];
    assert.ok(whole.every(isIntegerQuantity));
    assert.ok(!broken.some(isIntegerQuantity));
  });
});

describe("quantityNanos", () => {
  const rows: readonly [text: string, formatted: string | undefined][] = [
    ["1500m", "1500m"],
    ["1e3", "1k"],
    ["64Gi", "64Gi"],
    ["100M", "100M"],
    ["0", "0"],
    ["-1", undefined],
    ["1Q", undefined],
  ];
  for (const [text, formatted] of rows) {
    it(`reads ${text} as ${formatted}`, () => {
      const amount = quantityNanos(text);
      assert.equal(amount && formatNanos(amount), formatted);
    });
  }

  it("adds binary quantities to one that is shown with a binary suffix where that is exact", () => {
    const sum = (...texts: string[]) =>
      formatNanos({
        nanos: texts.reduce((total, text) => total + (quantityNanos(text)?.nanos ?? 0n), 0n),
        isBinary: true,
      });
    assert.equal(sum("1Gi", "1Gi"), "2Gi");
    assert.equal(sum("1Gi", "100M"), "1173741824");
  });
});
