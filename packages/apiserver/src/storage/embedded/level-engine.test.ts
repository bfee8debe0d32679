import assert from "node:assert/strict";
import { rm } from "node:fs/promises";
import { describe, it, type TestContext } from "node:test";
import { ClassicLevel } from "classic-level";
import type { Engine } from "./engine.ts";
import { LevelDbLocation } from "./level-engine.ts";
import { temporaryDirectory } from "./temporary-store.ts";

/**
 * An engine with enough in memory that a flush is due, and a LevelDB that rejects a given number of
 * flushes.
 */
async function opened(t: TestContext, refusals: number): Promise<Engine & { asked(): number }> {
  const flushed = ClassicLevel.prototype.compactRange;
  const refusing = t.mock.method(
    ClassicLevel.prototype,
    "compactRange",
    function (this: ClassicLevel, ...range: Parameters<typeof flushed>) {
      const isRefused = refusing.mock.callCount() < refusals;
      return isRefused ? Promise.reject(new Error("the fault: flush")) : flushed.apply(this, range);
    },
  );
  const directory = await temporaryDirectory();
  t.after(() => rm(directory, { recursive: true }));
  const engine = await new LevelDbLocation(directory).open();
  await engine.write([{ type: "put", key: "large", value: Buffer.alloc(1 << 20, 1) }]);
  return Object.assign(engine, { asked: () => refusing.mock.callCount() });
}

describe("a flush that LevelDB rejects", () => {
  it("is retried on the next request, and writes go on", async (t) => {
    const engine = await opened(t, 2);
    for (const asked of [1, 2]) {
      await assert.rejects(engine.flush(), { message: "the fault: flush" });
      assert.equal(engine.asked(), asked);
      await engine.write([{ type: "put", key: "small", value: Buffer.from([asked]) }]);
    }
    await engine.flush();
    assert.equal(engine.asked(), 3);
    await engine.flush();
    assert.equal(engine.asked(), 3, "nothing is due");
    assert.deepEqual(await engine.get("small"), Buffer.from([2]));
    await engine.close();
  });

  it("does not keep the files open", async (t) => {
    const engine = await opened(t, 1);
    const flushing = assert.rejects(engine.flush(), { message: "the fault: flush" });
    await engine.close();
    await flushing;
    await assert.rejects(engine.get("large"), { code: "LEVEL_DATABASE_NOT_OPEN" });
  });
});
