import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BoundedReader } from "./object-reader.ts";

const long = {
  metadata: { name: "x", managedFields: Array.from({ length: 5000 }, (_, i) => ({ a: [i] })) },
  data: Object.fromEntries(Array.from({ length: 5000 }, (_, i) => [`k${i}`, "v"])),
};

describe("reading a long object of a trusted server", () => {
  for (const [what, members, object] of [
    ["as a whole", undefined, long],
    // A name with escapes cannot be cut out.
    ["of which something is wanted", { data: true }, { ...long, 'tricky"': 1 }],
  ] as const) {
    it(`yields ${what}`, () => {
      const reader = new BoundedReader(members, undefined);
      const bytes = new TextEncoder().encode(JSON.stringify(object));
      assert.ok(reader.isLong(bytes));
      const work = reader.readLong(bytes);
      let pieces = 1;
      let next = work.next();
      for (; next.done !== true; next = work.next()) pieces++;
      assert.deepEqual(next.value, object);
      assert.ok(pieces >= 10, `${pieces} pieces`);
    });
  }

  it("creates no values of unwanted members", () => {
    const reader = new BoundedReader({ metadata: { name: true } }, undefined);
    const bytes = new TextEncoder().encode(JSON.stringify(long));
    assert.deepEqual(reader.readLong(bytes).next().value, { metadata: { name: "x" } });
  });
});
