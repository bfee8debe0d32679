import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FakeClock } from "@kcp-ts/testkit";
import { memoryTidier } from "./garbage-collector.ts";

describe("tidying memory while everything is read", () => {
  it("takes a twentieth of the time at most, however often it is asked", () => {
    const clock = new FakeClock();
    let collections = 0;
    const tidy = memoryTidier(clock, () => {
      collections++;
      clock.advance(10);
    });
    const startedAt = clock.monotonic();
    for (let ms = 0; ms < 2100; ms++) {
      tidy();
      clock.advance(1);
    }
    assert.ok(collections > 1);
    assert.ok(collections * 10 * 20 <= clock.monotonic() - startedAt);
  });
});
