/**
 * The entry points of the published package export all that their workspaces do, types included.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";

const behind: Readonly<Record<string, string>> = {
  index: "controlplane",
  sdk: "sdk",
  kinds: "sdk/kinds",
  schema: "sdk/schema",
  apiserver: "apiserver",
  tenancy: "tenancy",
  testing: "testing",
  simulator: "simulator",
};

describe("the published package", () => {
  for (const [door, workspace] of Object.entries(behind)) {
    it(`exports from its entry point ${door} all of ${workspace}`, async () => {
      const text = await readFile(new URL(`../src/${door}.ts`, import.meta.url), "utf8");
      assert.match(text, new RegExp(`^export \\* from "@kcp-ts/${workspace}";$`, "m"));
      // Two equal names of different stars would be left out.
      const offered = await import(new URL(`./${door}.js`, import.meta.url).href);
      for (const [name, value] of Object.entries(await import(`@kcp-ts/${workspace}`))) {
        assert.equal(offered[name], value, name);
      }
    });
  }

  it("is found by its own name in a checkout", async () => {
    const { startTestControlPlane } = await import("kcp-ts/testing");
    const k = await startTestControlPlane();
    await k.close();
    for (const door of [
      "kcp-ts",
      "kcp-ts/sdk",
      "kcp-ts/client",
      "kcp-ts/kinds",
      "kcp-ts/schema",
      "kcp-ts/apiserver",
      "kcp-ts/tenancy",
      "kcp-ts/simulator",
    ]) {
      assert.ok(Object.keys(await import(door)).length > 0);
    }
  });
});
