import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { parseClusterReference, pathCharactersMax, pathWordsMax } from "./index.ts";

const isPath = (text: string) => typeof parseClusterReference(text) === "object";

describe("a reference to a logical cluster", () => {
  const rows: readonly [text: string, kind: "name" | "path" | "neither"][] = [
    ["root", "name"],
    ["16iai06e7ob717ht", "name"],
    ["system:admin", "name"],
    ["system:a:b", "name"],
    ["root:org", "path"],
    ["root:org:team", "path"],
    ["user:alice", "path"],
    ["user:Alice.Smith@example.com:project", "path"],
    ["", "neither"],
    [":", "neither"],
    [":root", "neither"],
    ["root:", "neither"],
    ["root::org", "neither"],
    ["root:Org", "neither"],
    ["root:-org", "neither"],
    ["root:org/team", "neither"],
    ["root:..", "neither"],
    ["*", "neither"],
    ["root:*", "neither"],
    ["system:", "neither"],
    ["system:UP", "neither"],
    ["user:", "neither"],
    ["user:a b", "neither"],
    [`root:${"a".repeat(63)}`, "path"],
    [`root:${"a".repeat(64)}`, "neither"],
  ];
  for (const [text, kind] of rows) {
    it(`${JSON.stringify(text.slice(0, 40))} is ${kind}`, () => {
      const parsed = parseClusterReference(text);
      const found = parsed === undefined ? "neither" : typeof parsed === "string" ? "name" : "path";
      assert.equal(found, kind);
    });
  }

  it("has so many words and no more", () => {
    const path = (words: number) => ["root", ...Array(words - 1).fill("a")].join(":");
    assert.ok(isPath(path(pathWordsMax)));
    assert.ok(!isPath(path(pathWordsMax + 1)));
  });

  it("has so many characters and no more", () => {
    const words = Array(pathWordsMax - 1).fill("a".repeat(63));
    const longest = ["root", ...words].join(":").slice(0, pathCharactersMax);
    const text = longest.replace(/:+$/, "");
    assert.ok(text.length <= pathCharactersMax);
    assert.ok(isPath(text));
    assert.ok(!isPath(`${text}${":b".repeat(pathCharactersMax)}`));
  });

  it("keeps its words apart, whatever they are", () => {
    const word = fc.stringMatching(/^[a-z0-9]([a-z0-9-]{0,20}[a-z0-9])?$/);
    fc.assert(
      fc.property(fc.array(word, { minLength: 2, maxLength: 8 }), (words) => {
        fc.pre(words[0] !== "system" && words[0] !== "user");
        const parsed = parseClusterReference(words.join(":"));
        assert.deepEqual(typeof parsed === "object" ? parsed.words : parsed, words);
      }),
    );
  });
});
