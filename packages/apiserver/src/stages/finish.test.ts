import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { formatWarnings } from "./finish-response.ts";

describe("warnings", () => {
  it("are sent once each, quoted, in UTF-8", () => {
    const text = 'say "é"\\';
    const bytes = Buffer.from('say \\"é\\"\\\\', "utf8").toString("latin1");
    assert.deepEqual(formatWarnings([text, text, "b"]), [`299 - "${bytes}"`, '299 - "b"']);
  });

  it("are omitted when they are empty or have control characters, as in Kubernetes", () => {
    assert.deepEqual(formatWarnings(["", "two\nlines", "a\u0085b", "told"]), ['299 - "told"']);
  });

  it("are truncated when all together have more than 4096 characters", () => {
    const told = (length: number) =>
      formatWarnings(["x".repeat(length)]).map((text) => text.length - '299 - ""'.length);
    assert.deepEqual([told(4096), told(4097)], [[4096], [256]]);
  });
});
