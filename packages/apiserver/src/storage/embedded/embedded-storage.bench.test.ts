import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { benchEmbeddedStorage } from "./embedded-storage.bench.ts";

describe("the benchmark of the embedded store", () => {
  it("runs and measures every figure", async () => {
    const figures = await benchEmbeddedStorage(200);
    for (const [name, figure] of Object.entries(figures))
      assert.ok(figure > 0, `${name}: ${figure}`);
  });
});
