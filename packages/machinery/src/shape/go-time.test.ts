/** The words were taken from a real kube-apiserver. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { isPlainTime, parseGoTime, type TimeLayout } from "./go-time.ts";
import { decodeShape, event, lease } from "./index.ts";

const micro: TimeLayout = "2006-01-02T15:04:05.000000Z07:00";
const seconds: TimeLayout = "2006-01-02T15:04:05Z07:00";

describe("times as Go reads them", () => {
  const read: readonly [TimeLayout, string, string][] = [
    [seconds, "2024-02-29T23:59:59Z", "2024-02-29T23:59:59.000Z"],
    [seconds, "2024-01-01T00:00:00,123456Z", "2024-01-01T00:00:00.000Z"],
    [seconds, "2024-01-01T1:00:00.5+02:00", "2023-12-31T23:00:00.000Z"],
    [seconds, "0001-01-01T00:00:00-23:59", "0001-01-01T23:59:00.000Z"],
    [micro, "2024-01-01T00:00:00.123456+02:00", "2023-12-31T22:00:00.000Z"],
    [micro, "2024-01-01T00:00:00,123456Z", "2024-01-01T00:00:00.000Z"],
  ];
  for (const [layout, value, expected] of read) {
    it(`are read: ${value}`, () => {
      const parsed = parseGoTime(value, layout);
      assert.ok("atMs" in parsed);
      assert.equal(new Date(parsed.atMs).toISOString(), expected);
    });
  }

  const cannot = (value: string, layout: TimeLayout, rest: string, part: string) =>
    `parsing time "${value}" as "${layout}": cannot parse "${rest}" as "${part}"`;
  const refused: readonly [TimeLayout, string, string | readonly [string, string]][] = [
    [micro, "2024-01-01T00:00:00.5Z", [".5Z", ".000000"]],
    [micro, "2024-01-01T00:00:00Z", ["Z", ".000000"]],
    [micro, "2024-01-01T00:00:00.1234567Z", ["7Z", "Z07:00"]],
    [seconds, "2024-01-01T00:00:00.123456", ["", "Z07:00"]],
    [seconds, "2024-01-01T00:00:00.123456z", ["z", "Z07:00"]],
    [seconds, "2024-01-01 00:00:00", [" 00:00:00", "T"]],
    [seconds, "2024-1-01T00:00:00Z", ["1-01T00:00:00Z", "01"]],
    [seconds, "12024-01-01T00:00:00Z", ["4-01-01T00:00:00Z", "-"]],
    [seconds, "x", ["x", "2006"]],
    [seconds, "2024-13-01T00:00:00Z", "month out of range"],
    [seconds, "2024-02-30T00:00:00Z", "day out of range"],
    [seconds, "2023-02-29T00:00:00Z", "day out of range"],
    [seconds, "2024-01-01T24:00:00Z", "hour out of range"],
    [seconds, "2024-01-01T00:60:00Z", "minute out of range"],
    [seconds, "2024-01-01T00:00:60Z", "second out of range"],
    [seconds, "2024-01-01T00:00:00+25:00", "time zone offset hour out of range"],
    [seconds, "2024-01-01T00:00:00Zx", 'extra text: "x"'],
  ];
  for (const [layout, value, problem] of refused) {
    it(`are refused: ${value}`, () => {
      const error =
        typeof problem === "string"
          ? `parsing time "${value}": ${problem}`
          : cannot(value, layout, problem[0], problem[1]);
      assert.deepEqual(parseGoTime(value, layout), { error });
    });
  }

  it("are plain exactly when reading them changes nothing and they are no last days of a month", () => {
    const plain = (value: string) => isPlainTime(value, "2006-01-02T15:04:05Z");
    for (const value of ["2024-02-28T23:59:59Z", "0000-12-01T00:00:00Z"])
      assert.equal(plain(value), true, value);
    for (const value of [
      "2024-02-30T00:00:00Z",
      "2024-00-01T00:00:00Z",
      "2024-01-00T00:00:00Z",
      "2024-01-01T24:00:00Z",
      "2024-01-01T00:60:00Z",
      "2024-01-01T00:00:00z",
      "2024-01-01T00:00:00.000000Z",
    ])
      assert.equal(plain(value), false, value);
  });

  it("are strings to their senders, and none at zero", () => {
    assert.throws(() => decodeShape(event, { firstTimestamp: 5 }), {
      message:
        "json: cannot unmarshal number into Go struct field Event.firstTimestamp of type string",
    });
    const spec = { renewTime: "0001-01-01T00:00:00.000000Z" };
    assert.deepEqual(decodeShape(lease, { spec }).value, { spec: {} });
  });
});
