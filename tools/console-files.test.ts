import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { buildConsole } from "./console-files.ts";

describe("the files of the console", () => {
  let folder: string;
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), "console-files-"));
  });
  after(() => rm(folder, { recursive: true }));

  it("the first screen needs less than 57 kB, compressed, and nothing inline", async (test) => {
    const { firstScreenBytes, firstScreenParts } = await buildConsole({ folder });
    const largest = firstScreenParts.slice(0, 40).join("\n");
    test.diagnostic(`the first screen needs ${firstScreenBytes} bytes`);
    assert.ok(firstScreenBytes < 57_000, `${firstScreenBytes} bytes, the largest of:\n${largest}`);
    assert.match(largest, /^\d+ .*preact/m);
    const page = await readFile(join(folder, "index.html"), "utf8");
    assert.doesNotMatch(page, /<script(?![^>]* src=)|<style|\son\w+=|https?:/);
  });
});
