/**
 * The command that runs many histories says how many there were, and what is wrong in words that
 * lead to it.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const program = fileURLToPath(new URL("./main.js", import.meta.url));

function run(...args: readonly string[]): Promise<{ code: number; stdout: string }> {
  return new Promise((resolve) => {
    execFile(process.execPath, [program, ...args], (error, stdout) => {
      resolve({ code: error === null ? 0 : Number(error.code), stdout });
    });
  });
}

describe("the command for histories", () => {
  it("sums up what was recorded, and under which faults", async () => {
    const { code, stdout } = await run("--config", "memory", "--histories", "2", "--seed", "7");
    assert.equal(code, 0, stdout);
    assert.match(stdout, /^memory: 2 histories, 0 with violations, in \d+ s$/m);
    assert.match(
      stdout,
      /^ {2}\d+ operations, \d+ of them open; \d+ lists; \d+ events in \d+ watch/m,
    );
    assert.match(stdout, /^ {4}2 × \w/m);
  });

  it("shows a violation with its guarantee, an excerpt and how to see it again, and fails", async () => {
    const planted = ["--plant", "event with an older value"];
    const { code, stdout } = await run("--config", "memory", "--histories", "8", ...planted);
    assert.equal(code, 1, stdout);
    assert.match(stdout, /^VIOLATION in h\d+-\d on memory \[.+\]$/m);
    assert.match(stdout, /^ {2}atomic: revision \d+ is not the same change for everybody$/m);
    assert.match(stdout, /^ {6}watch w\d.*: put .*rv=\d+/m);
    assert.match(stdout, /again: node \S+main\.js --config memory --histories 8 --seed \d+$/m);
  });
});
