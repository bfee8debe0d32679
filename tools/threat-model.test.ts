/** Every test that docs/threat-model.md names exists: a promise whose proof is gone is found out here. */
import assert from "node:assert/strict";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";

const root = new URL("../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), "utf8");

/** A file in backticks, then words of a title in quotes. */
const reference = /`(packages\/[^`]+\.test\.ts)` "([^"]*)"/g;

function missingTests(document: string): string[] {
  return [...document.matchAll(reference)].flatMap(([, path = "", title = ""]) => {
    if (!existsSync(new URL(path, root))) return [`${path} does not exist`];
    const isThere = title !== "" && textsOf(read(path)).some((text) => text.includes(title));
    return isThere ? [] : [`${path} has no test "${title}"`];
  });
}

/** What stands between quotation marks: a title does, the name of a function does not. */
function textsOf(source: string): string[] {
  return [...source.matchAll(/"((?:\\.|[^"\\\n])*)"|`((?:\\.|[^`\\])*)`/g)].map(
    ([, quoted, template]) => quoted ?? template ?? "",
  );
}

describe("the threat model", () => {
  it("names tests that exist", () => {
    const document = read("docs/threat-model.md");
    assert.ok([...document.matchAll(reference)].length > 30);
    assert.deepEqual(missingTests(document), []);
  });

  it("names every file of attacks on a whole control plane", () => {
    const document = read("docs/threat-model.md");
    const folder = "packages/controlplane/src/security/";
    const files = readdirSync(new URL(folder, root)).filter((name) => name.endsWith(".test.ts"));
    assert.ok(files.length > 5);
    assert.deepEqual(
      files.filter((name) => !document.includes(folder + name)),
      [],
    );
  });

  it("ends every row with a test", () => {
    const rows = read("docs/threat-model.md").split("\n## ").slice(2).join("\n");
    const bare = rows
      .split("\n")
      .filter((line) => line.startsWith("| ") && !/shown by \|$/.test(line))
      .filter((line) => !/`packages\/[^`]+` "[^"]+" \|$/.test(line));
    assert.deepEqual(bare, []);
  });

  it("would be found out if it named others", () => {
    const invented =
      'x `packages/no/such.test.ts` "a" y `packages/server/src/server.test.ts` "zzz"';
    assert.equal(missingTests(invented).length, 2);
    const ofAFunction = 'x `packages/controlplane/src/security/attempts.ts` "attempts"';
    assert.equal(missingTests(ofAFunction.replace(".ts", ".test.ts")).length, 1);
    assert.deepEqual(textsOf('a("b \\" c", `d`) + e'), ['b \\" c', "d"]);
  });
});
