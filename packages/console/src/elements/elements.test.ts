import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { describe, it } from "node:test";
import { formatQuantity, parseQuantity } from "./quantities.ts";
import { shellLine } from "./shell-line.ts";

describe("quantities", () => {
  it("are numbers, and short for people", () => {
    assert.equal(parseQuantity("250m"), 0.25);
    assert.equal(parseQuantity("2Gi"), 2 ** 31);
    assert.equal(parseQuantity("x"), undefined);
    assert.equal(formatQuantity(2 ** 31, true), "2 GiB");
    assert.equal(formatQuantity(0.25, false), "0.25");
  });
});

describe("a line for a terminal", () => {
  const words = [
    "web",
    "system:node",
    "",
    "a b",
    "$(touch /tmp/x); `id`",
    "it's \\",
    "*",
    "\u202egnp.exe",
    "\u001b[2J\n'\\",
  ];

  it("has each name as one word, as a shell reads it", () => {
    const line = shellLine`printf '%s\\0' ${words} ${[]} ${"last"}`;
    const read = execFileSync("bash", ["-c", line], { env: { LC_ALL: "C.UTF-8" } }).toString();
    assert.deepEqual(read.split("\0").slice(0, -1), [...words, "last"]);
  });

  it("shows no character that hides or moves others", () => {
    assert.doesNotMatch(shellLine`kubectl get ${words}`, /[\p{Cc}\p{Cf}]/u);
  });

  it("stays readable where names are plain", () => {
    const flags = ["-n", "shop"];
    assert.equal(shellLine`kubectl get ${"pods"} ${flags} ${[]} -w`, "kubectl get pods -n shop -w");
  });
});
