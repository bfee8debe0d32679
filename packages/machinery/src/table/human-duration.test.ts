import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { age, humanDuration } from "./index.ts";

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const year = 365 * day;

describe("humanDuration", () => {
  const cases: readonly [ms: number, text: string][] = [
    [-2 * second, "<invalid>"],
    [-2 * second + 1, "0s"],
    [-1, "0s"],
    [0, "0s"],
    [second - 1, "0s"],
    [second, "1s"],
    [2 * minute - 1, "119s"],
    [2 * minute, "2m"],
    [2 * minute + second, "2m1s"],
    [10 * minute - second, "9m59s"],
    [10 * minute, "10m"],
    [10 * minute + second, "10m"],
    [3 * hour - 1, "179m"],
    [3 * hour, "3h"],
    [3 * hour + minute, "3h1m"],
    [8 * hour - minute, "7h59m"],
    [8 * hour, "8h"],
    [2 * day - 1, "47h"],
    [2 * day, "2d"],
    [2 * day + hour, "2d1h"],
    [8 * day - hour, "7d23h"],
    [8 * day, "8d"],
    [2 * year - 1, "729d"],
    [2 * year, "2y"],
    [2 * year + day, "2y1d"],
    [8 * year - day, "7y364d"],
    [8 * year, "8y"],
    [30 * year + 100 * day, "30y"],
  ];
  for (const [ms, text] of cases) {
    it(`shows ${ms} ms as ${text}`, () => assert.equal(humanDuration(ms), text));
  }
});

describe("age", () => {
  const now = Date.UTC(2026, 0, 2, 0, 0, 0);
  const cases: readonly [timestamp: string | null | undefined, text: string][] = [
    [undefined, "<unknown>"],
    [null, "<unknown>"],
    ["", "<unknown>"],
    ["2026-01-01T23:59:55Z", "5s"],
    ["2026-01-02T00:59:00+01:00", "60s"],
    ["2026-01-01T00:00:00.000000Z", "24h"],
    ["2026-01-02T00:00:01Z", "0s"],
    ["2026-01-02T00:00:02Z", "<invalid>"],
    ["yesterday", "<invalid>"],
    ["2026", "<invalid>"],
    ["2026-13-01T00:00:00Z", "<invalid>"],
  ];
  for (const [timestamp, text] of cases) {
    it(`shows ${timestamp ?? typeof timestamp} as ${text}`, () => {
      assert.equal(age(timestamp, now), text);
    });
  }
});
