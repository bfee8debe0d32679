import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { ByteGate } from "./byte-gate.ts";

describe("a byte gate", () => {
  it("runs tasks within its limit at the same time, and one beyond it alone", async () => {
    const gate = new ByteGate(10);
    const begun: string[] = [];
    const ends = new Map<string, () => void>();
    const run = (name: string, bytes: number) =>
      gate.run(bytes, () => {
        begun.push(name);
        return new Promise<void>((resolve) => ends.set(name, resolve));
      });
    const end = async (name: string) => {
      ends.get(name)?.();
      for (let i = 0; i < 10; i++) await Promise.resolve();
    };
    const all = [run("a", 6), run("b", 4), run("c", 100), run("d", 1)];
    assert.deepEqual(begun, ["a", "b"]);
    await end("a");
    assert.deepEqual(begun, ["a", "b", "d"], "c waits until nothing else runs");
    await end("b");
    await end("d");
    assert.deepEqual(begun, ["a", "b", "d", "c"]);
    await end("c");
    await Promise.all(all);
  });

  it("frees the bytes of a task that fails", async () => {
    const gate = new ByteGate(10);
    await assert.rejects(
      gate.run(10, () => Promise.reject(new Error("no"))),
      /^Error: no$/,
    );
    assert.equal(await gate.run(10, async () => "next"), "next");
  });
});
