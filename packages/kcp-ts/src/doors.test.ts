/**
 * The entry points of the published package export all that their workspaces do, types included.
 */
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";

const packages = new URL("../../", import.meta.url);

async function exportedNames(path: string): Promise<string[]> {
  const text = await readFile(new URL(path, packages), "utf8");
  return [...text.matchAll(/export (?:type )?\{([^}]*)\} from/g)].flatMap(([, names = ""]) =>
    names
      .split(",")
      .map((name) => name.trim().replace(/^type /, ""))
      .filter((name) => name !== ""),
  );
}

const behind: Readonly<Record<string, string>> = {
  index: "controlplane/src/index.ts",
  sdk: "sdk/src/index.ts",
  apiserver: "apiserver/src/index.ts",
  tenancy: "tenancy/src/index.ts",
  testing: "testing/src/index.ts",
};

describe("the published package", () => {
  for (const [door, path] of Object.entries(behind)) {
    it(`exports from its entry point ${door} all of ${path}`, async () => {
      const offered = new Set(await exportedNames(`kcp-ts/src/${door}.ts`));
      const wanted = await exportedNames(path);
      assert.ok(wanted.length > 5);
      assert.deepEqual(
        wanted.filter((name) => !offered.has(name)),
        [],
      );
    });
  }

  it("is found by its own name in a checkout", async () => {
    const { startTestControlPlane } = await import("kcp-ts/testing");
    const k = await startTestControlPlane();
    await k.close();
    for (const door of ["kcp-ts", "kcp-ts/sdk", "kcp-ts/apiserver", "kcp-ts/tenancy"]) {
      assert.ok(Object.keys(await import(door)).length > 0);
    }
  });
});
