import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { decodeBase64, encodeBase64 } from "./base64.ts";
import { CodePoints } from "./code-points.ts";
import { ArrayList, ValueMap } from "./collections.ts";
import { compareStrings } from "./compare.ts";
import { fixedText, scientificText } from "./fixed-text.ts";
import { formatDouble } from "./format-double.ts";
import { formatIp, parseIp } from "./ip-address.ts";
import { adaptDynamic } from "./json-view.ts";
import { parseQuantity } from "./quantity.ts";
import { parseSemver } from "./semver.ts";
import { formatDuration, formatTimestamp, parseDuration, parseTimestamp } from "./time.ts";
import { localTime } from "./time-zone.ts";
import { toJson } from "./to-json.ts";
import { parseRequestUri, urlText } from "./url.ts";
import { CelError, CelOptional, CelStruct, CelTypeValue, CelUint, type CelValue } from "./value.ts";

describe("toJson", () => {
  const json = (value: CelValue) => toJson(value);
  it("gives plain JSON for everything that has any", () => {
    assert.equal(json(5n), 5);
    assert.equal(json(2n ** 60n), 2n ** 60n);
    assert.equal(json(new CelUint(7n)), 7);
    assert.equal(json(new Uint8Array([104, 105])), "aGk=");
    assert.equal(json(CelOptional.none), null);
    assert.equal(json(CelOptional.of("x")), "x");
    assert.deepEqual(json(new ArrayList([1n, null, "a"])), [1, null, "a"]);
    const duration = parseDuration("90s");
    const timestamp = parseTimestamp("2020-01-01T00:00:00Z");
    assert.ok(duration && timestamp);
    assert.deepEqual(json(new ArrayList([duration, timestamp])), ["90s", "2020-01-01T00:00:00Z"]);
  });

  it("keeps hostile keys as plain properties", () => {
    const map = new ValueMap();
    map.insert("__proto__", 1n);
    map.insert(true, new CelStruct("T", new Map([["f", true]])));
    const object = json(map);
    assert.deepEqual(Object.entries(object ?? {}), [
      ["__proto__", 1],
      ["true", Object.assign(Object.create(null), { f: true })],
    ]);
    assert.equal(Object.getPrototypeOf(object), null);
  });

  it("passes data through that was not changed", () => {
    const raw = { a: [1] };
    const value = adaptDynamic(raw);
    assert.equal(toJson(value), raw);
  });

  it("has no form for types, and none beyond its depth", () => {
    assert.ok(toJson(new CelTypeValue("int")) instanceof CelError);
    const nested = (depth: number) => {
      let value: CelValue = 1n;
      for (let i = 0; i < depth; i++) value = new ArrayList([value]);
      return value;
    };
    assert.ok(!(toJson(nested(500)) instanceof CelError));
    assert.ok(toJson(nested(501)) instanceof CelError);
  });
});

describe("times", () => {
  it("come back from their texts", () => {
    const nanos = fc.bigInt({ min: -(2n ** 62n), max: 2n ** 62n });
    fc.assert(
      fc.property(nanos, fc.integer({ min: -23, max: 23 }), (value, hours) => {
        const offset =
          hours === 0
            ? "Z"
            : `${hours < 0 ? "-" : "+"}${String(Math.abs(hours)).padStart(2, "0")}:30`;
        const text = formatTimestamp({ nanos: value, offsetSeconds: 0 });
        assert.equal(parseTimestamp(text)?.nanos, value);
        const shifted = parseTimestamp(text.replace("Z", offset));
        assert.equal(shifted && formatTimestamp(shifted), text.replace("Z", offset));
        assert.equal(parseDuration(formatDuration({ nanos: value }))?.nanos, value);
      }),
    );
  });

  it("refuse what is no date, no time, or out of range", () => {
    for (const text of [
      "2023-02-29T00:00:00Z",
      "2023-13-01T00:00:00Z",
      "2023-01-01T24:00:00Z",
      "2023-01-01T00:60:00Z",
      "2023-01-01 00:00:00Z",
      "2023-01-01T00:00:00",
      "2023-01-01T00:00:00+24:00",
      "0000-12-31T23:59:59Z",
      "10000-01-01T00:00:00Z",
    ]) {
      assert.equal(parseTimestamp(text), undefined, text);
    }
    for (const text of ["", "1", "1x", "s", ".s", "1h1", "1 h", "292471y", "9223372037s"]) {
      assert.equal(parseDuration(text), undefined, text);
    }
  });

  it("reads durations up to the longest text and no longer", () => {
    assert.equal(parseDuration("1s".repeat(512))?.nanos, 512_000_000_000n);
    assert.equal(parseDuration(`0${"1s".repeat(512)}`), undefined);
  });

  it("knows named zones over the years, and no endless names", () => {
    const at = parseTimestamp("2024-07-01T12:00:00Z");
    assert.ok(at);
    const hours = (zone: string) => {
      const time = localTime(at, zone);
      return time instanceof CelError ? time.message : time.hours;
    };
    assert.equal(hours("Europe/Berlin"), 14);
    assert.equal(hours("America/New_York"), 8);
    assert.equal(hours("-03:30"), 8);
    assert.equal(hours("x".repeat(65)), `unknown time zone ${"x".repeat(65)}`);
  });
});

describe("numbers as text", () => {
  const doubles: readonly (readonly [number, string])[] = [
    [0, "0"],
    [-0, "-0"],
    [1.5, "1.5"],
    [100000, "100000"],
    [1e6, "1e+06"],
    [123456789, "1.23456789e+08"],
    [0.0001, "0.0001"],
    [0.00001, "1e-05"],
    [1e100, "1e+100"],
    [Number.POSITIVE_INFINITY, "+Inf"],
    [Number.NaN, "NaN"],
  ];
  for (const [value, text] of doubles) {
    it(`${value} is ${text}, as in Go`, () => assert.equal(formatDouble(value), text));
  }

  it("round half to even at the last digit", () => {
    assert.deepEqual(
      [0.5, 1.5, 2.5, 3.5, -0.5].map((value) => fixedText(value, 0)),
      ["0", "2", "2", "4", "-0"],
    );
    assert.equal(fixedText(0.125, 2), "0.12");
    assert.equal(fixedText(0.375, 2), "0.38");
    assert.equal(fixedText(1.005, 2), "1.00");
    assert.equal(fixedText(1e22, 1), "10000000000000000000000.0");
    assert.equal(fixedText(1 / 3, 200).length, 202);
    assert.equal(scientificText(1052.032911275, 6), "1.052033e+03");
  });
});

describe("parsers of the libraries", () => {
  it("refuse texts beyond their longest and read those at it", () => {
    assert.equal(typeof parseQuantity("1".repeat(1024)), "object");
    assert.equal(typeof parseQuantity("1".repeat(1025)), "string");
    assert.equal(typeof parseQuantity("1e1024"), "object");
    assert.equal(typeof parseQuantity("1e1025"), "string");
    assert.equal(typeof parseSemver(`1.0.0-${"a".repeat(1018)}`), "object");
    assert.equal(parseSemver(`1.0.0-${"a".repeat(1019)}`), "Version string too long");
  });

  it("read back the IPv6 addresses that they write", () => {
    const groups = fc.array(fc.oneof(fc.constant(0), fc.integer({ min: 0, max: 0xffff })), {
      minLength: 8,
      maxLength: 8,
    });
    fc.assert(
      fc.property(groups, (parts) => {
        const parsed = parseIp(parts.map((part) => part.toString(16)).join(":"));
        assert.ok("bits" in parsed);
        assert.deepEqual(parseIp(formatIp(parsed)), parsed);
      }),
    );
  });

  it("write URLs as they were", () => {
    for (const text of [
      "https://user:pw@example.com:8080/a/b?x=1&y#f",
      "/absolute/path?q",
      "mailto:a@b.c",
      "http://[::1]/",
      "file:///etc/hosts",
    ]) {
      const url = parseRequestUri(text);
      assert.ok(!("problem" in url), text);
      assert.equal(urlText(url), text);
    }
  });

  it("encode and decode base64", () => {
    fc.assert(
      fc.property(fc.uint8Array({ maxLength: 50 }), (bytes) => {
        const text = encodeBase64(bytes);
        assert.equal(text, Buffer.from(bytes).toString("base64"));
        assert.deepEqual(decodeBase64(text), bytes);
        assert.deepEqual(decodeBase64(text.replaceAll("=", "")), bytes);
      }),
    );
    for (const text of ["a", "!!!!", "YQ=", "YQ===", "Y=Q="])
      assert.equal(decodeBase64(text), undefined, text);
  });
});

describe("texts", () => {
  const text = fc.string({
    unit: fc.constantFrom("a", "b", "é", "\ue000", "😀", "𝒳"),
    maxLength: 10,
  });

  it("are ordered as their UTF-8 bytes are", () => {
    fc.assert(
      fc.property(text, text, (a, b) => {
        assert.equal(
          Math.sign(compareStrings(a, b)),
          Buffer.compare(Buffer.from(a), Buffer.from(b)),
        );
      }),
    );
  });

  it("are sliced and searched by code point", () => {
    fc.assert(
      fc.property(text, text, fc.nat(10), fc.nat(10), (whole, part, start, end) => {
        const points = Array.from(whole);
        const codePoints = new CodePoints(whole);
        assert.equal(codePoints.length, points.length);
        assert.equal(codePoints.slice(start, end), points.slice(start, end).join(""));
        const found = points.findIndex(
          (_, i) => i >= start && points.slice(i).join("").startsWith(part),
        );
        if (part !== "") assert.equal(codePoints.indexOf(part, start), found);
      }),
    );
  });
});
