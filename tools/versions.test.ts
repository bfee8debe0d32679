/** One version of every package, and the programs that `npm ci` links into a checkout. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { promisify } from "node:util";
import { kcpVersion } from "@kcp-ts/machinery/base";

describe("the version of kcp", () => {
  it("is that of every package", async () => {
    for (const name of await readdir("packages")) {
      const text = await readFile(`packages/${name}/package.json`, "utf8");
      assert.equal((JSON.parse(text) as { version: string }).version, kcpVersion, name);
    }
  });
});

describe("the programs of a checkout", () => {
  it("are those of the packages: npm ci links what package-lock.json lists", async () => {
    const lock = JSON.parse(await readFile("package-lock.json", "utf8")) as {
      packages: Record<string, { bin?: Record<string, string> }>;
    };
    for (const name of await readdir("packages")) {
      const text = await readFile(`packages/${name}/package.json`, "utf8");
      const { bin } = JSON.parse(text) as { bin?: Record<string, string> };
      assert.deepEqual(lock.packages[`packages/${name}`]?.bin, bin, name);
    }
  });

  it("include `npx kcp-ts`, the command of the README", async () => {
    const { stdout } = await promisify(execFile)("npx", ["--no-install", "kcp-ts", "version"]);
    assert.match(stdout, new RegExp(kcpVersion.replaceAll(".", "\\.")));
  });
});
