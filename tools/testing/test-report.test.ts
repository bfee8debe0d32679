import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { TestEvent } from "node:test/reporters";
import { TestReport } from "./test-report.ts";

/** Node's events have more than the report reads. */
type Sketch = { readonly type: string; readonly data: object };

function reportOf(events: readonly Sketch[], missing: readonly string[] = []) {
  const lines: string[] = [];
  const report = new TestReport({ print: (line) => lines.push(line), nameOf: (file) => file });
  for (const event of events) report.take(event as TestEvent);
  const passed = report.end({ missing, failedSteps: [] });
  return { passed, text: lines.join("\n") };
}

function start(nesting: number, name: string): Sketch {
  return { type: "test:start", data: { nesting, name } };
}

function pass(nesting: number, name: string, more: object = {}): Sketch {
  const details = { duration_ms: 1500 };
  return { type: "test:pass", data: { nesting, name, file: "a.test", details, ...more } };
}

function fail(nesting: number, name: string, error: object): Sketch {
  const details = { duration_ms: 1500, error };
  return { type: "test:fail", data: { nesting, name, file: "a.test", line: 7, details } };
}

function count(message: string): Sketch {
  return { type: "test:diagnostic", data: { nesting: 0, message } };
}

describe("the report of a test run", () => {
  it("ends with the counts of Node's runner", () => {
    const { passed, text } = reportOf([pass(0, "works"), count("pass 1"), count("fail 0")]);
    assert.ok(passed);
    assert.ok(text.endsWith("\n# pass 1\n# fail 0"), text);
    assert.match(text, /^✔ a\.test \(1 run, 1\.5 s\)$/m);
  });

  it("counts a test for the file of its suite, although another file declares it", () => {
    const { text } = reportOf([
      { type: "test:start", data: { nesting: 0, name: "suite", file: "a.test" } },
      start(1, "works"),
      pass(1, "works", { file: "shared-cases" }),
      pass(0, "suite", { details: { duration_ms: 1500, type: "suite" } }),
    ]);
    assert.match(text, /^✔ a\.test \(1 run, 1\.5 s\)$/m);
    assert.doesNotMatch(text, /shared-cases/);
  });

  it("shows a failure with its suites, its place and its cause, and what the file printed", () => {
    const { passed, text } = reportOf([
      start(0, "suite"),
      start(1, "breaks"),
      { type: "test:stderr", data: { file: "a.test", message: "a trace\n" } },
      fail(1, "breaks", { failureType: "testCodeFailure", cause: new Error("one is not two") }),
      fail(0, "suite", { failureType: "subtestsFailed", cause: "1 subtest failed" }),
    ]);
    assert.equal(passed, false);
    assert.match(text, /✖ suite › breaks \(a\.test:7\)\n\s+Error: one is not two/);
    assert.match(text, /^ {2}a trace$/m);
    assert.doesNotMatch(text, /1 subtest failed/);
  });

  it("shows a failure as soon as its file has ended, and again at the end", () => {
    const lines: string[] = [];
    const report = new TestReport({ print: (line) => lines.push(line), nameOf: (file) => file });
    const breaks = fail(0, "breaks", { cause: new Error("one is not two") });
    for (const event of [start(0, "breaks"), breaks, pass(0, "works", { file: "b.test" })])
      report.take(event as TestEvent);
    assert.match(
      lines.join("\n"),
      /^✖ a\.test .*\n {2}✖ breaks \(a\.test:7\)\n\s+Error: one is not/,
    );
    report.end({ missing: [], failedSteps: [] });
    assert.match(lines.join("\n"), /Failed:\n {2}✖ breaks \(a\.test:7\)\n\s+Error: one is not/);
  });

  it("names what was skipped and what is missing, with the reason", () => {
    const { passed, text } = reportOf(
      [start(0, "needs a thing"), pass(0, "needs a thing", { skip: "no thing here" })],
      ["etcd is missing"],
    );
    assert.ok(passed);
    assert.match(text, /^Skipped:\n {2}etcd is missing\n {2}needs a thing: no thing here$/m);
  });

  it("passes on what tests have to say, with the name of the test", () => {
    const note = { type: "test:diagnostic", data: { nesting: 1, message: "took 3 s" } };
    const { text } = reportOf([start(0, "suite"), start(1, "restarts"), note]);
    assert.match(text, /^Notes:\n {2}restarts: took 3 s$/m);
  });
});
