/**
 * The references of commands and kinds are as `npm run docs` writes them, and texts for operators
 * name flags that exist.
 */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { cliPage, cliPagePath } from "./cli-reference.ts";
import { kindsPage, kindsPagePath, servedKinds } from "./kinds-reference.ts";

describe("generated pages", () => {
  it("list every command and flag", async () => {
    assert.equal(await readFile(cliPagePath, "utf8"), cliPage(), "run npm run docs");
  });

  it("list every field of kcp's kinds", async () => {
    const kinds = await servedKinds();
    for (const name of ["SyncTarget", "Placement", "Workspace", "APIExport", "WorkloadPlacement"])
      assert.ok(
        kinds.some(({ kind }) => kind === name),
        name,
      );
    assert.equal(await readFile(kindsPagePath, "utf8"), kindsPage(kinds), "run npm run docs");
  });
});

/** Flags of docker, kubectl, npm, node, deno, esbuild and the red team, and beginnings of flags. */
const others = new Set(
  `--bundle --minify --platform --format --max-semi-space-size --v8-pool-size --requestheader-
  --service-account- --as --as-group --copy-to --attacks --global --flatten --raw --server-side
  --test --experimental-vm-modules --allow-all --field-selector --target`.split(/\s+/),
);

describe("texts for operators", () => {
  it("name flags that a command has", async () => {
    const known = new Set(cliPage().match(/--[a-z][a-z0-9-]+/g));
    for (const folder of ["docs/guides", "packages/cli/src/operations"])
      for (const name of await readdir(folder)) {
        const text = await readFile(`${folder}/${name}`, "utf8");
        const prose = text.replace(/^```[\s\S]*?^```/gm, "");
        for (const [flag] of prose.matchAll(/--[a-z][a-z0-9-]+/g))
          assert.ok(known.has(flag) || others.has(flag), `${folder}/${name} names ${flag}`);
      }
  });
});
