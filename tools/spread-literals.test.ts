/** Goal: what is built behaves like what was written, and its object literals do not begin with a clone. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, it } from "node:test";
import { transform } from "esbuild";
import { withEmptyBeginnings } from "./spread-literals.ts";

describe("object literals that begin with a spread", () => {
  it("begin with a spread of nothing instead", () => {
    assert.equal(withEmptyBeginnings("f({ ...a, b: 1 })"), "f({ ...$none, ...a, b: 1 })");
    assert.equal(
      withEmptyBeginnings("({\n  ...(a ? {} : b)\n})"),
      "({\n  ...$none, ...(a ? {} : b)\n})",
    );
    assert.equal(withEmptyBeginnings("({ b, ...a })"), "({ b, ...a })");
    assert.equal(withEmptyBeginnings("[...a]"), "[...a]");
  });

  it("mean the same in every file that is bundled", async () => {
    let changed = 0;
    for (const name of await readdir("packages")) {
      const folder = join("packages", name, "dist");
      for (const path of await readdir(folder, { recursive: true })) {
        if (!path.endsWith(".js") || path.startsWith("bundle/") || path.startsWith("package/"))
          continue;
        const source = await readFile(join(folder, path), "utf8");
        const built = withEmptyBeginnings(source, "null");
        if (built === source) continue;
        changed++;
        // esbuild takes spreads of null out, wherever they are code; comments are not kept.
        const plain = {
          minifySyntax: true,
          minifyWhitespace: true,
          legalComments: "none",
        } as const;
        const [before, after] = await Promise.all([
          transform(source, plain),
          transform(built, plain),
        ]);
        assert.equal(after.code, before.code, path);
      }
    }
    assert.ok(changed > 100, `${changed} files have such literals`);
  });

  it("make the same objects, members in the same order", () => {
    const sources = Array.from({ length: 3 }, (_, i) => `({ ...a, b${i}: 1, c: 2 })`);
    for (const source of sources) {
      const make = new Function("a", "$none", `return ${withEmptyBeginnings(source)}`);
      const written = new Function("a", `return ${source}`)({ x: 1 });
      assert.equal(JSON.stringify(make({ x: 1 }, null)), JSON.stringify(written));
    }
  });
});
