/**
 * Every TypeScript block of the README and the guides compiles under our own settings and runs to
 * its end without a word on stderr.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { before, describe, it } from "node:test";
import { codeBlocks } from "./code-blocks.ts";

// Inside the checkout, so that `kcp-ts` is found as users find it.
const folder = "tools/dist/code-blocks";

const documents = [
  "README.md",
  ...(await readdir("docs/guides")).sort().map((name) => `docs/guides/${name}`),
];
const blocks = (
  await Promise.all(documents.map(async (path) => codeBlocks(path, await readFile(path, "utf8"))))
).flat();

function run(args: readonly string[]): Promise<{ code: number; output: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { timeout: 180_000 }, (error, stdout, stderr) => {
      const isCompiler = args[0]?.includes("tsc") ?? false;
      const code = error === null ? 0 : Number(error.code ?? -1);
      resolve({ code, output: isCompiler ? stdout : stderr });
    });
  });
}

const config = {
  extends: "../../../tsconfig.base.json",
  compilerOptions: {
    composite: false,
    declaration: false,
    declarationMap: false,
    noUnusedLocals: false,
    rootDir: ".",
    outDir: "built",
  },
  include: ["*.ts"],
};

describe("code in documents", () => {
  before(async () => {
    await rm(folder, { recursive: true, force: true });
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "tsconfig.json"), JSON.stringify(config));
    for (const { name, text } of blocks) await writeFile(join(folder, `${name}.ts`), text);
  });

  it("is there", () => {
    // Guides for operators show commands and manifests; those for programmers must show programs.
    for (const path of ["README.md", "controllers.md", "embedding.md", "testing.md", "types.md"]) {
      assert.ok(
        blocks.some(({ place }) => place.includes(path)),
        `${path} has no code`,
      );
    }
  });

  it("compiles", async () => {
    const { code, output } = await run(["node_modules/typescript/bin/tsc", "-p", folder]);
    assert.equal(output, "");
    assert.equal(code, 0);
  });

  for (const { name, place } of blocks) {
    it(`runs: ${place}`, async () => {
      const { code, output } = await run([join(folder, "built", `${name}.js`)]);
      assert.equal(output, "");
      assert.equal(code, 0);
    });
  }
});

describe("the extractor of code", () => {
  it("takes blocks of TypeScript and leaves others alone", () => {
    const markdown = "a\n```ts\nx;\n```\n```sh\nls\n```\n```text\ny\n```\n```ts\nz;\n```\n";
    assert.deepEqual(codeBlocks("docs/a b.md", markdown), [
      { name: "docs-a-b-1", place: "docs/a b.md:3", text: "x;\n" },
      { name: "docs-a-b-2", place: "docs/a b.md:12", text: "z;\n" },
    ]);
  });

  it("does not take half a document for code", () => {
    assert.throws(() => codeBlocks("a.md", "```ts\nx"), /a\.md:1: a code block has no end/);
  });
});
