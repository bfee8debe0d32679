import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { describe, it, type TestContext } from "node:test";
import { groupTestFiles } from "./group-test-files.ts";

const light = 'it("adds", () => {});\n';

/** The groups of files with this code, by their names; those that start with `long` take long. */
function groupsOf(t: TestContext, codes: Readonly<Record<string, string>>): string[][] {
  const root = mkdtempSync(join(tmpdir(), "kcp-groups-"));
  t.after(() => rmSync(root, { recursive: true }));
  const files = Object.entries(codes).map(([name, code]) => {
    const folder = join(root, "packages/a/dist", name.includes("/") ? "" : "room");
    const file = join(folder, name);
    mkdirSync(join(file, ".."), { recursive: true });
    writeFileSync(file, code);
    return file;
  });
  const isLong = (file: string) => basename(file).startsWith("long");
  return groupTestFiles(files, isLong).map((group) => group.map((file) => basename(file)));
}

describe("groups of test files", () => {
  it("have the files of one folder of a package, subfolders included", (t) => {
    assert.deepEqual(
      groupsOf(t, { "x/a": light, "x/y/b": light, "z/c": light, "x/d": light, "z/e": light }),
      [
        ["a", "b", "d"],
        ["c", "e"],
      ],
    );
  });

  it("have at most eight files", (t) => {
    const codes = Object.fromEntries(Array.from({ length: 10 }, (_, at) => [`${at}`, light]));
    assert.deepEqual(
      groupsOf(t, codes).map(({ length }) => length),
      [8, 2],
    );
  });

  it("have no file that takes long", (t) => {
    assert.deepEqual(groupsOf(t, { a: light, long: light, b: light }), [["a", "b"], ["long"]]);
  });

  it("have no file that could disturb another one", (t) => {
    for (const code of [
      "beforeEach(() => reset());",
      "after(() => server.close());",
      "const server = await start();",
      "await start();",
      'it("waits", () => { mock.timers.enable(); });',
      'it("asks", () => { process.env["HOME"] = "/"; });',
      'it("counts", () => process.memoryUsage().heapUsed);',
      "fork(import.meta.filename);",
    ]) {
      const groups = groupsOf(t, { a: light, b: `${light}${code}\n`, c: light });
      assert.deepEqual(groups, [["a", "c"], ["b"]], code);
    }
  });

  it("have files whose suites and tests have hooks, awaits and mocks of their own", (t) => {
    const code = `describe("one", () => {
  beforeEach(() => reset());
  it("waits", async (t) => {
    t.mock.timers.enable();
    const server = await start();
  });
});\n`;
    assert.deepEqual(groupsOf(t, { a: light, b: code }), [["a", "b"]]);
  });
});
