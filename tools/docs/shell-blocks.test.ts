/** No command stands in a document without being played, or without a reason why not. */
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { codeBlocks } from "./code-blocks.ts";
import { isPlayedBy, players, unplayed } from "./shell-blocks.ts";

const documents = [
  "README.md",
  "CONTRIBUTING.md",
  "docs/multicluster.md",
  ...(await readdir("docs/guides")).sort().map((name) => `docs/guides/${name}`),
];

const playing = await Promise.all(
  players.map(async (one) => ({ ...one, source: await readFile(one.by, "utf8") })),
);

/** What is typed into a shell; a fence without a language may show anything else, too. */
const commandPattern = /^(\$ |(npm|npx|kcp|kubectl|export|KUBEBUILDER_ASSETS=\S+) ?)/;

async function shellBlocks(path: string) {
  const blocks = codeBlocks(path, await readFile(path, "utf8"), ["sh", "console", ""]);
  return blocks.map(({ place, text }) => ({ place, first: text.split("\n")[0] ?? "", text }));
}

describe("shell blocks of documents", () => {
  for (const path of documents) {
    it(`are played, or named with a reason: ${path}`, async () => {
      const markdown = await readFile(path, "utf8");
      const done = new Set(
        playing
          .filter(({ source }) => isPlayedBy(source, path))
          .flatMap(({ language }) => codeBlocks(path, markdown, [language]))
          .map(({ place }) => place),
      );
      for (const { place, first, text } of await shellBlocks(path)) {
        if (done.has(place)) continue;
        if (!text.split("\n").some((line) => commandPattern.test(line))) continue;
        const reasons = unplayed.filter(
          (one) => one.document === path && first.startsWith(one.first),
        );
        assert.equal(reasons.length, 1, `${place} is neither played nor named: ${first}`);
      }
    });
  }

  it("are named only as long as they are there", async () => {
    for (const { document, first, reason } of unplayed) {
      const blocks = await shellBlocks(document);
      assert.ok(
        blocks.some((block) => block.first.startsWith(first)),
        `${document} has no block "${first}" (${reason})`,
      );
    }
  });

  it("are played by a test", () => {
    for (const { by, source } of playing)
      assert.ok(
        documents.some((path) => isPlayedBy(source, path)),
        `${by} plays nothing`,
      );
  });
});
