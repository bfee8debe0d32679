/**
 * Goal: every link of a document leads somewhere, every document is found from the front page, and
 * prose fits a screen.
 */
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { posix } from "node:path";
import { describe, it } from "node:test";
import { anchors, links, longLines } from "./markdown.ts";

const written = ["README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md"];
const pages = (await readdir("docs", { recursive: true }))
  .filter((name) => name.endsWith(".md"))
  .map((name) => `docs/${name}`)
  .sort();
const paths = [...written, "ARCHITECTURE.md", ...pages];
const texts = new Map(
  await Promise.all(paths.map(async (path) => [path, await readFile(path, "utf8")] as const)),
);

/** What a link of a document means: a path from the root of the checkout, and an anchor there. */
function meantBy(path: string, target: string): readonly [string, string | undefined] {
  const [file = "", anchor] = target.split("#");
  return [file === "" ? path : posix.join(posix.dirname(path), file), anchor];
}

function isBroken(path: string, target: string): boolean {
  if (/^[a-z]+:/.test(target)) return false;
  const [file, anchor] = meantBy(path, target);
  if (!existsSync(file)) return true;
  if (anchor === undefined) return false;
  return !anchors(texts.get(file) ?? "").has(anchor);
}

describe("links of documents", () => {
  for (const [path, text] of texts)
    it(`lead somewhere: ${path}`, () => {
      const broken = links(text).filter(({ target }) => isBroken(path, target));
      assert.deepEqual(broken, []);
    });

  it("are found, and those in code are not", () => {
    const text = "a [b](c.md)\n`[d](e.md)` [f\ng](h.md#i)\n```\n[j](k.md)\n```\n";
    assert.deepEqual(links(text), [
      { line: 1, target: "c.md" },
      { line: 3, target: "h.md#i" },
    ]);
  });

  it("are broken without their file or their heading", () => {
    assert.ok(isBroken("docs/README.md", "nowhere.md"));
    assert.ok(isBroken("docs/README.md", "#nowhere"));
    assert.ok(!isBroken("docs/README.md", "https://example.com/nowhere"));
    assert.deepEqual(
      [...anchors("# A `b`: c, d\n## A b c d\n```\n# e\n```\n")],
      ["a-b-c-d", "a-b-c-d-1"],
    );
  });
});

describe("the front page of the documents", () => {
  it("links every guide and every other page", () => {
    const front = "docs/README.md";
    const linked = new Set(
      links(texts.get(front) ?? "").map(({ target }) => meantBy(front, target)[0]),
    );
    // Decisions have an index of their own, which the rules of the tree check.
    const expected = pages.filter((path) => path !== front && !/^docs\/adr\/\d/.test(path));
    assert.ok(expected.length > 30);
    assert.deepEqual(
      expected.filter((path) => !linked.has(path)),
      [],
    );
  });
});

describe("prose of documents", () => {
  // The reference is generated from comments.
  for (const path of [...written, ...pages].filter((it) => !it.startsWith("docs/reference/")))
    it(`is wrapped at 100 columns: ${path}`, () => {
      assert.deepEqual(longLines(texts.get(path) ?? ""), []);
    });

  it("differs from tables, code and what cannot be broken", () => {
    const word = "x".repeat(101);
    const text = `| ${word} y |\n${word}\n- \`${word} y\`.\n\`\`\`\n${word} y\n\`\`\`\n`;
    assert.deepEqual(longLines(text), []);
    assert.deepEqual(longLines(`short\n${word} y\n- \`${word} y\` z\n`), [2, 3]);
  });
});

/** Files that name documents to test how they are found. */
const examples = ["tools/tidy.test.ts", "tools/docs/markdown.test.ts"];

describe("documents that sources name", () => {
  it("exist", async () => {
    const decisions = (await readdir("docs/adr")).map((name) => name.slice(0, 4));
    const missing: string[] = [];
    for (const path of await sources()) {
      const text = await readFile(path, "utf8");
      for (const [mention, page, number = ""] of text.matchAll(
        /\b(docs\/(?!adr\/\d)[\w/-]+\.(?:md|svg))\b|\b(?:ADR |docs\/adr\/)(\d{4})\b/g,
      )) {
        const exists = page === undefined ? decisions.includes(number) : existsSync(page);
        if (!exists) missing.push(`${path}: ${mention}`);
      }
    }
    assert.deepEqual(missing, []);
  });
});

async function sources(): Promise<readonly string[]> {
  const found = await Promise.all(
    ["packages", "tests", "tools"].map(async (folder) =>
      (await readdir(folder, { recursive: true })).map((name) => `${folder}/${name}`),
    ),
  );
  return found
    .flat()
    .filter((path) => /\.m?[tj]s$/.test(path) && !/\/(dist|node_modules)\//.test(path))
    .filter((path) => !examples.includes(path));
}
