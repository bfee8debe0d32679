/**
 * Goal: a file whose process does not end is told at once, for what it is: something open is a
 * failure, Node's own shutdown is not. Method: the runner runs tiny files in a process of its own,
 * with little patience. A main thread that waits for ever stands in for Node's.
 */
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import type { TestRun } from "./run-tests.ts";

const waitForEver = "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0);";
const passes = 'it("passes", () => {});';
/** A file that touches the process shares it with no other. */
const alone = "process.exitCode ??= 0;";
const onLinuxOnly =
  process.platform === "linux" ? false : "only Linux tells what a thread waits for";

interface Outcome {
  readonly passed: boolean;
  readonly text: string;
}

/** The runner's word on a file of this code, and on one beside it that has nothing to say. */
async function outcomeOf(
  code: string,
  exitPatienceMs = 1000,
  besideCode = alone,
): Promise<Outcome> {
  const folder = await mkdtemp(join(tmpdir(), "kcp-run-tests-"));
  try {
    const files = ["a.mjs", "b.mjs"].map((name) => join(folder, name));
    const [subject = "", beside = ""] = files;
    await writeFile(subject, `import { after, describe, it } from "node:test";\n${code}`);
    await writeFile(beside, `import { it } from "node:test";\n${besideCode}\n${passes}`);
    return await outcomeOfRun(join(folder, "run.mjs"), { files, exitPatienceMs });
  } finally {
    await rm(folder, { recursive: true });
  }
}

async function outcomeOfRun(
  program: string,
  given: Pick<TestRun, "files" | "exitPatienceMs">,
): Promise<Outcome> {
  const testRun: TestRun = { ...given, missing: [], failedSteps: [] };
  const code = `
    import { runTests } from ${JSON.stringify(new URL("./run-tests.js", import.meta.url).href)};
    process.exitCode = (await runTests(${JSON.stringify(testRun)})) ? 0 : 1;`;
  await writeFile(program, code);
  // A runner that believes to be in a test runs nothing.
  const { NODE_TEST_CONTEXT: _, ...env } = process.env;
  return new Promise((resolve) => {
    execFile(process.execPath, [program], { env }, (error, stdout, stderr) =>
      resolve({ passed: error === null, text: stdout + stderr }),
    );
  });
}

describe("a test file whose process does not end", () => {
  it("has failed when something is open, and says what", async () => {
    for (const opens of [
      'import { createServer } from "node:net"; createServer().listen(0, "127.0.0.1");',
      "setInterval(() => {}, 10);",
    ]) {
      const { passed, text } = await outcomeOf(`${passes}\n${opens}`);
      assert.equal(passed, false, text);
      const why = "did not exit within 1 s after its last test: something it opened is still open";
      assert.match(text, new RegExp(`Failed:\\n.*a\\.mjs.*\\n *${why}: .*(TCPServerWrap|Timeout)`));
      assert.match(text, /# pass 2\n# fail 1\n/);
    }
  });

  it("has passed, with a note, when it hangs behind its exit", async () => {
    const { passed, text } = await outcomeOf(
      `${passes}\nprocess.on("exit", () => { ${waitForEver} });`,
    );
    assert.ok(passed, text);
    assert.match(text, /Notes:\n.*a\.mjs: its process did not end after its exit, and was killed/);
    assert.match(text, /# tests 2\n(#.*\n)*# pass 2\n# fail 0\n/);
  });

  it("has passed, with a note, when it hangs before its exit and waits for a lock", {
    skip: onLinuxOnly,
  }, async () => {
    const { passed, text } = await outcomeOf(
      `${passes}\nafter(() => setImmediate(() => { ${waitForEver} }));`,
    );
    assert.ok(passed, text);
    assert.match(text, /Notes:\n.*a\.mjs: after its last test its process waited for its own/);
    assert.match(text, /# tests 2\n(#.*\n)*# pass 2\n# fail 0\n/);
  });

  it("has failed when it is at work", async () => {
    const { passed, text } = await outcomeOf(
      `${passes}\nafter(() => setImmediate(() => { for (;;); }));`,
    );
    assert.equal(passed, false, text);
    assert.match(text, /a\.mjs.*\n.*after its last test: its main thread is held up/);
  });

  it("has failed when anything else did", async () => {
    for (const fails of [
      'it("fails", () => { throw new Error("one is not two"); });',
      'after(() => setImmediate(() => Promise.reject(new Error("one is not two"))));',
      "process.exitCode = 3;",
    ]) {
      for (const hangs of [
        `process.on("exit", () => { ${waitForEver} });`,
        `after(() => setTimeout(() => { ${waitForEver} }, 50));`,
      ]) {
        const { passed, text } = await outcomeOf(`${passes}\n${fails}\n${hangs}`);
        assert.equal(passed, false, text);
        assert.match(text, /Failed:/);
      }
    }
  });
});

describe("test files that share a process", () => {
  const fails = 'it("fails", () => { console.log("one is"); throw new Error("not two"); });';

  it("have a line each, and a failure is reported for its own file", async () => {
    const { passed, text } = await outcomeOf(fails, 1000, "");
    assert.equal(passed, false);
    assert.match(text, /✖ .*a\.mjs \(1 run, 1 failed, .*\n(?: .*\n)+ *one is\n✔ .*b\.mjs \(1 run,/);
    assert.match(text, /# tests 2\n(#.*\n)*# pass 1\n# fail 1\n/);
  });

  it("are all named when their process fails", async () => {
    const { passed, text } = await outcomeOf(`${passes}\nsetInterval(() => {}, 10);`, 1000, "");
    assert.equal(passed, false);
    assert.match(text, /a\.mjs, .*b\.mjs:.*\n *did not exit within 1 s after its last test/);
  });
});

describe("a test file whose process ends", () => {
  it("may take its time for its tests", async () => {
    const { passed, text } = await outcomeOf(
      `import { setTimeout } from "node:timers/promises";
      it("is slow", () => setTimeout(4000));`,
      3000,
    );
    assert.ok(passed, text);
    assert.doesNotMatch(text, /Notes:/);
  });

  it("is not asked twice when it mocks time, forks or has threads", async () => {
    const { passed, text } = await outcomeOf(
      `import { fork } from "node:child_process";
      import { once } from "node:events";
      import { mock } from "node:test";
      import { Worker } from "node:worker_threads";
      if (process.argv[2] === "child") process.exit(0);
      it("does", async () => {
        await once(fork(import.meta.filename, ["child"]), "exit");
        await once(new Worker("1", { eval: true }), "exit");
        mock.timers.enable({ apis: ["setTimeout"] });
      });`,
      60_000,
    );
    assert.ok(passed, text);
    assert.doesNotMatch(text, /Notes:/);
  });
});
