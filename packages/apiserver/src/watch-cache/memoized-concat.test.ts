import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { clearMemoizedConcat, memoizedConcat } from "./memoized-concat.ts";

describe("concatenated bytes", () => {
  const [a, b, c] = ["a", "b", "c"].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer];

  it("are shared by callers with the same parts", () => {
    const first = memoizedConcat([a, b]);
    assert.equal(first.toString(), "ab");
    assert.equal(memoizedConcat([a, b]), first);
  });

  it("are not mistaken for others", () => {
    memoizedConcat([a, b]);
    for (const parts of [[a, c], [a, b, c], [b, a], [a], [Buffer.from("a"), b]])
      assert.equal(memoizedConcat(parts).toString(), parts.map(String).join(""));
  });

  it("are released", () => {
    const first = memoizedConcat([a, b]);
    clearMemoizedConcat();
    assert.notEqual(memoizedConcat([a, b]), first);
  });
});
