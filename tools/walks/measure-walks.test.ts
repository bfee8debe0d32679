import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { countsOf, measureWalks } from "./measure-walks.ts";

describe("the walks of requests", () => {
  it("pass through no more files and functions than they may", async () => {
    const walks = await measureWalks();
    assert.equal(walks.length, 3);
    for (const walk of walks) {
      const { files, functions } = countsOf(walk);
      // Fewer than this is no walk: the count has failed.
      assert.ok(files > 20 && functions > 50, `${walk.name}: ${files} files`);
      assert.ok(files <= walk.filesMax, `${walk.name}: ${files} files, at most ${walk.filesMax}`);
      assert.ok(
        functions <= walk.functionsMax,
        `${walk.name}: ${functions} functions, at most ${walk.functionsMax}`,
      );
    }
  });
});
