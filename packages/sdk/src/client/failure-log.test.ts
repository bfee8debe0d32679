import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { FailureLog } from "./failure-log.ts";
import { silentLog } from "./log.ts";

describe("a failure log", () => {
  it("has a repeated failure less and less often, and another one at once", () => {
    const lines: string[] = [];
    const failures = new FailureLog({ ...silentLog, warn: (line) => void lines.push(line) });
    for (let n = 0; n < 9; n++) failures.failed("no");
    failures.failed("never");
    failures.failed("never");
    failures.succeeded();
    failures.failed("never");
    assert.deepEqual(lines, [
      "no; it is tried again",
      "no; attempt 2, it is tried again",
      "no; attempt 4, it is tried again",
      "no; attempt 8, it is tried again",
      "never; it is tried again",
      "never; attempt 2, it is tried again",
      "never; it is tried again",
    ]);
  });
});
