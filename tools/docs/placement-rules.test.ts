import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { ruleBook } from "@kcp-ts/multicluster";
import { placementRulesPage, placementRulesPath } from "./placement-rules.ts";

describe("the rule book of placement", () => {
  it("docs/internals/placement-rules.md is what the lists of rules say", async () => {
    const written = await readFile(placementRulesPath, "utf8");
    assert.ok(
      written === placementRulesPage(),
      `${placementRulesPath} is not what the code says: run npm run docs`,
    );
  });

  it("every rule has a name of its own", () => {
    const { filter, score, reserve, assign } = ruleBook;
    const names = [...filter, ...score, ...reserve, ...assign].map(({ name }) => name);
    assert.deepEqual([...new Set(names)], names);
  });
});
