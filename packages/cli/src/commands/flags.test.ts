import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { durationFlag } from "./flags.ts";

describe("a duration flag", () => {
  const parse = durationFlag("--event-ttl");

  it("takes hours, minutes and seconds, as Go writes them", () => {
    assert.equal(parse("1h"), 3_600_000);
    assert.equal(parse("1h0m0s"), 3_600_000);
    assert.equal(parse("1h30m"), 5_400_000);
    assert.equal(parse("1s"), 1000);
  });

  it("refuses anything else, and less than a second", () => {
    for (const text of ["", "1", "h", "-1h", "1.5h", "1d", "0s", `${"9".repeat(20)}h`]) {
      assert.throws(() => parse(text), /--event-ttl takes/, text);
    }
  });
});
