import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { clearMemoizedConcat, memoizedConcat } from "./joined.ts";

describe("joined bytes", () => {
  const [a, b, c] = ["a", "b", "c"].map((text) => Buffer.from(text)) as [Buffer, Buffer, Buffer];

  it("are shared by those who join the same parts", () => {
    const first = memoizedConcat([a, b]);
    assert.equal(first.toString(), "ab");
    assert.equal(memoizedConcat([a, b]), first);
  });

  it("are not mistaken for others", () => {
    memoizedConcat([a, b]);
    for (const parts of [[a, c], [a, b, c], [b, a], [a], [Buffer.from("a"), b]])
      assert.equal(memoizedConcat(parts).toString(), parts.map(String).join(""));
  });

  it("are let go of", () => {
    const first = memoizedConcat([a, b]);
    clearMemoizedConcat();
    assert.notEqual(memoizedConcat([a, b]), first);
  });
});
