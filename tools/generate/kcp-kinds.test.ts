import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { kcpKindFiles } from "./write-kcp-kinds.ts";

const folder = "packages/sdk/src/kinds/kcp/generated";

describe("the generated kinds of kcp", () => {
  it("are those that a server publishes; `npm run generate` writes them anew", async () => {
    const files = await kcpKindFiles();
    const names = (await readdir(folder, { recursive: true })).filter((name) => /\.ts$/.test(name));
    assert.deepEqual(names.sort(), [...files.keys()].sort());
    for (const [name, text] of files) {
      assert.equal(await readFile(`${folder}/${name}`, "utf8"), text, name);
    }
  });
});
