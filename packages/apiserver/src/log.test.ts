import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createLog } from "./log.ts";

function logged(format: "json" | "pretty", verbosity: number) {
  const lines: string[] = [];
  return { log: createLog({ format, verbosity, write: (line) => lines.push(line) }), lines };
}

describe("the log", () => {
  it("is one JSON object in each line, with the fields before the message", () => {
    const { log, lines } = logged("json", 2);
    log.info({ cluster: "root", count: 3n }, "a cluster is served");
    const { time, ...rest } = JSON.parse(lines[0] ?? "") as Record<string, unknown>;
    assert.match(String(time), /^\d{4}-\d\d-\d\dT/);
    assert.deepEqual(rest, {
      level: "info",
      cluster: "root",
      count: "3",
      msg: "a cluster is served",
    });
    assert.ok(lines[0]?.endsWith("}\n"));
  });

  it("has the levels of Kubernetes' -v", () => {
    const shownAt = [0, 1, 4].map((verbosity) => {
      const { log, lines } = logged("json", verbosity);
      for (const level of ["debug", "info", "warn", "error"] as const) log[level]({}, "message");
      assert.equal(log.isDebugEnabled, lines.length === 4);
      return lines.length;
    });
    assert.deepEqual(shownAt, [2, 3, 4]);
  });

  it("shows an error with its causes, in a circle, too", () => {
    const cause = new Error("the disk is full");
    const error = Object.assign(new Error("not written", { cause }), { code: "ENOSPC" });
    cause.cause = error;
    const { log, lines } = logged("json", 0);
    log.error({ err: error }, "a write failed");
    const { err } = JSON.parse(lines[0] ?? "") as { err: Record<string, string> };
    assert.equal(err["code"], "ENOSPC");
    assert.match(err["message"] ?? "", /^not written: the disk is full: not written/);
    assert.match(err["stack"] ?? "", /\ncaused by: Error: the disk is full\n/);
  });

  it("is readable on a terminal", () => {
    const { log, lines } = logged("pretty", 0);
    log.warn({ cluster: "root", err: new Error("no route") }, "a webhook failed");
    assert.match(
      lines[0] ?? "",
      /^! \d\d:\d\d:\d\d a webhook failed cluster=root error="no route"\n/,
    );
  });
});
