/** Goal: memory that is free between blocks in use goes back to the system. */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { describe, it } from "node:test";
import { allocatorTrimmer } from "./allocator.ts";
import { garbageCollector } from "./garbage-collector.ts";

const trim = await allocatorTrimmer();

describe("the C library", { skip: trim === undefined ? "it is not glibc here" : false }, () => {
  it("gives back what is free between blocks that are in use", async () => {
    const collect = garbageCollector();
    let blocks: Buffer[] = [];
    for (let at = 0; at < 60_000; at++) blocks.push(Buffer.allocUnsafeSlow(1000).fill(1));
    // One in a hundred stays, wherever it is.
    blocks = blocks.filter((_, at) => at % 100 === 0);
    // What the first has found is freed by the time of the second.
    collect();
    collect();
    const before = unmappedMegabytes();
    assert.equal(await trim?.(), true);
    const after = unmappedMegabytes();
    assert.ok(before - after > 20, `${before} MB before, ${after} MB after`);
    assert.equal(blocks.length, 600);
  });
});

function unmappedMegabytes(): number {
  const status = readFileSync("/proc/self/status", "utf8");
  return Number(/RssAnon:\s+(\d+) kB/.exec(status)?.[1]) / 1024;
}
