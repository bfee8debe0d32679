import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BoundedCache, boundedCacheMax } from "./bearer-token.ts";

describe("the bounded cache", () => {
  const filled = (count: number) => {
    const recent = new BoundedCache<number>();
    for (let at = 0; at < count; at++) recent.set(`text-${at}`, at);
    return recent;
  };

  it("keeps a limited number of texts, and is cleared with one more, which it keeps", () => {
    const full = filled(boundedCacheMax);
    assert.equal(full.get("text-0"), 0);
    assert.equal(full.get(`text-${boundedCacheMax - 1}`), boundedCacheMax - 1);
    const over = filled(boundedCacheMax + 1);
    assert.equal(over.get("text-0"), undefined);
    assert.equal(over.get(`text-${boundedCacheMax}`), boundedCacheMax);
  });

  it("has nothing for other texts, and for names of Object.prototype members", () => {
    const recent = filled(1);
    for (const text of ["", "text-", "text-00", "__proto__", "constructor"])
      assert.equal(recent.get(text), undefined);
    recent.clear();
    assert.equal(recent.get("text-0"), undefined);
  });
});
