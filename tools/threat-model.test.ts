/**
 * Every test that docs/threat-model.md names exists: a promise whose proof is gone is found out
 * here.
 */
import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { bareRows, missingTests, namedTests, textsOf } from "./docs/named-tests.ts";

const root = new URL("../../", import.meta.url);
const read = (path: string) => readFileSync(new URL(path, root), "utf8");

describe("the threat model", () => {
  it("names tests that exist", () => {
    const document = read("docs/threat-model.md");
    assert.ok(namedTests(document) > 30);
    assert.deepEqual(missingTests(document), []);
  });

  it("names every file of attacks on a whole control plane", () => {
    const document = read("docs/threat-model.md");
    const folder = "tests/integration/security/";
    const files = readdirSync(new URL(folder, root)).filter((name) => name.endsWith(".test.ts"));
    assert.ok(files.length > 5);
    assert.deepEqual(
      files.filter((name) => !document.includes(folder + name)),
      [],
    );
  });

  it("ends every row with a test", () => {
    const rows = read("docs/threat-model.md").split("\n## ").slice(2).join("\n");
    assert.deepEqual(bareRows(rows), []);
  });

  it("would be found out if it named others", () => {
    const invented =
      'x `packages/no/such.test.ts` "a" y `packages/apiserver/src/server.test.ts` "zzz"';
    assert.equal(missingTests(invented).length, 2);
    const ofAFunction = 'x `tests/integration/security/attempts.ts` "attempts"';
    assert.equal(missingTests(ofAFunction.replace(".ts", ".test.ts")).length, 1);
    assert.deepEqual(textsOf('a("b \\" c", `d`) + e'), ['b \\" c', "d"]);
  });
});
