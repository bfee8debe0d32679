/** One version: of every package, of what programs report, and of the images that guides name. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { kcpVersion } from "@kcp-ts/machinery/base";

describe("the version of kcp", () => {
  it("is that of every package", async () => {
    for (const name of await readdir("packages")) {
      const text = await readFile(`packages/${name}/package.json`, "utf8");
      assert.equal((JSON.parse(text) as { version: string }).version, kcpVersion, name);
    }
  });
});
