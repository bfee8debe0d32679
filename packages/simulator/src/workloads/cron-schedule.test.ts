import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { nextAfter, parseSchedule } from "./cron-schedule.ts";

const at = Date.parse("2026-02-27T23:59:30Z");

describe("cron schedule", () => {
  const rows = [
    ["* * * * *", "2026-02-28T00:00:00.000Z"],
    ["*/15 * * * *", "2026-02-28T00:00:00.000Z"],
    ["30 4 1 * *", "2026-03-01T04:30:00.000Z"],
    ["0 0 29 2 *", "2028-02-29T00:00:00.000Z"],
    ["0 9 * * mon-fri", "2026-03-02T09:00:00.000Z"],
    ["0 12 13 * fri", "2026-03-06T12:00:00.000Z"],
    ["5,10 8-9/1 * JAN *", "2027-01-01T08:05:00.000Z"],
    ["0 0 * * 7", "2026-03-01T00:00:00.000Z"],
    ["@hourly", "2026-02-28T00:00:00.000Z"],
    ["0 0 31 2 *", undefined],
  ] as const;
  for (const [text, next] of rows) {
    it(`${text} is next due ${next ?? "never"}`, () => {
      const schedule = parseSchedule(text);
      assert.ok(schedule !== undefined);
      const due = nextAfter(schedule, at);
      assert.equal(due === undefined ? undefined : new Date(due).toISOString(), next);
    });
  }

  for (const text of [
    "",
    "* * * *",
    "60 * * * *",
    "* 24 * * *",
    "a * * * *",
    "*/0 * * * *",
    "5-2 * * * *",
  ]) {
    it(`${JSON.stringify(text)} is none`, () => {
      assert.equal(parseSchedule(text), undefined);
    });
  }
});
