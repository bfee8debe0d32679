import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { TokenBucket } from "./token-bucket.ts";

describe("a token bucket", () => {
  it("a token bucket allows its burst, then its rate, and says how long to wait", () => {
    let nowMs = 0;
    const clock = { monotonic: () => nowMs, now: () => nowMs, schedule: () => assert.fail() };
    const bucket = new TokenBucket(clock, { burst: 2, perSecond: 10 });
    assert.deepEqual([bucket.take(), bucket.take(), bucket.take()], [0, 0, 100]);
    nowMs = 60;
    assert.equal(bucket.take(), 40);
    nowMs = 100;
    assert.deepEqual([bucket.take(), bucket.take()], [0, 100]);
    nowMs = 60_000;
    assert.deepEqual([bucket.take(), bucket.take(), bucket.take()], [0, 0, 100]);
  });
});
