import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RecentTexts, recentTextsMax } from "./recent-texts.ts";

describe("what was found out about texts lately", () => {
  const filled = (count: number) => {
    const recent = new RecentTexts<number>();
    for (let at = 0; at < count; at++) recent.keep(`text-${at}`, at);
    return recent;
  };

  it("is kept for so many texts, and forgotten with one more, which is kept", () => {
    const full = filled(recentTextsMax);
    assert.equal(full.get("text-0"), 0);
    assert.equal(full.get(`text-${recentTextsMax - 1}`), recentTextsMax - 1);
    const over = filled(recentTextsMax + 1);
    assert.equal(over.get("text-0"), undefined);
    assert.equal(over.get(`text-${recentTextsMax}`), recentTextsMax);
  });

  it("is nothing for others, and for names that objects have", () => {
    const recent = filled(1);
    for (const text of ["", "text-", "text-00", "__proto__", "constructor"])
      assert.equal(recent.get(text), undefined);
    recent.forget();
    assert.equal(recent.get("text-0"), undefined);
  });
});
