/** Every program in examples/ runs to its end and prints the expected output. */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readdir, readFile } from "node:fs/promises";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";

const run = promisify(execFile);
const folder = new URL("../../../examples/", import.meta.url);

/** The output of each program; undefined for programs that others import or end. */
const programs = new Map<string, string | undefined>([
  ["all-clusters", "team-a team-b team-c"],
  // Runs until it is stopped: tests/integration/cli/apiserver.test.ts.
  ["apiserver", undefined],
  ["cluster-profiles", "policy of east"],
  ["conversion-webhook", "width 3"],
  ["crd-controller", "<h1>Hello</h1>"],
  ["embedding", undefined],
  ["export-controller", "blue: ride is done\nred: rest is done"],
  ["failover", "2 Secrets for 2 orders"],
  ["informer", "old was there, new is there, old is gone"],
  ["kubeconfig-clusters", "shops in east and west"],
  ["mutating-plugin", 'kcp-admin\nconfigmaps "b" is forbidden: somebody has to pay'],
  ["operator", "no fault breaks it"],
  ["run-embedding", "Hello, world! greeter"],
]);

describe("the examples", () => {
  it("are all listed here", async () => {
    const files = (await readdir(folder)).filter((name) => name.endsWith(".ts"));
    assert.deepEqual(files.map((name) => name.slice(0, -3)).sort(), [...programs.keys()].sort());
  });

  for (const [name, output] of programs) {
    if (output === undefined) continue;
    it(`${name} runs`, async () => {
      const file = fileURLToPath(new URL(`dist/${name}.js`, folder));
      const { stdout, stderr } = await run(process.execPath, [file], { timeout: 180_000 });
      assert.equal(stdout.trim(), output);
      assert.equal(stderr, "");
    });
  }

  for (const [name, linesMax] of [
    ["embedding", 50],
    ["crd-controller", 50],
    ["operator", 40],
  ] as const) {
    it(`${name} has at most ${linesMax} lines`, async () => {
      const text = await readFile(new URL(`${name}.ts`, folder), "utf8");
      assert.ok(text.trimEnd().split("\n").length <= linesMax);
    });
  }
});
