/**
 * Goal: the reads of one turn are one read of the engine, each caller gets its own record, and a
 * failure reaches all callers.
 */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BatchedGets, batchedGetsMax } from "./batched-gets.ts";
import type { EngineView } from "./engine.ts";

function engineOf(records: ReadonlyMap<string, Buffer>, fails = false) {
  const reads: string[][] = [];
  const read = async (keys: readonly string[]) => {
    reads.push([...keys]);
    if (fails) throw new Error("no disk");
    return keys.map((key) => records.get(key));
  };
  const engine = {
    get: async (key: string) => (await read([key]))[0],
    getMany: read,
    scan: () => assert.fail("nothing is scanned"),
  } as EngineView;
  return { reads, engine: () => engine };
}

const records = new Map(["a", "b", "c"].map((key) => [key, Buffer.from(key)]));

describe("reads of single records", () => {
  it("of one turn go to the engine together, and each gets its own record", async () => {
    const { reads, engine } = engineOf(records);
    const gathered = new BatchedGets();
    const all = await Promise.all(["b", "missing", "a"].map((key) => gathered.get(key, engine)));
    assert.deepEqual(all.map(String), ["b", "undefined", "a"]);
    assert.deepEqual(reads, [["b", "missing", "a"]]);
  });

  it("of different turns do not wait for each other", async () => {
    const { reads, engine } = engineOf(records);
    const gathered = new BatchedGets();
    await gathered.get("a", engine);
    await gathered.get("b", engine);
    assert.deepEqual(reads, [["a"], ["b"]]);
  });

  it("beyond a number are several, so that other reads get their turn on the engine's threads", async () => {
    const { reads, engine } = engineOf(records);
    const gathered = new BatchedGets();
    const keys = Array.from({ length: batchedGetsMax + 1 }, (_, at) => `${at}`);
    await Promise.all(keys.map((key) => gathered.get(key, engine)));
    assert.deepEqual(
      reads.map(({ length }) => length),
      [batchedGetsMax, 1],
    );
  });

  it("fail for all callers, and the next reads begin anew", async () => {
    const broken = engineOf(records, true);
    const gathered = new BatchedGets();
    const both = await Promise.allSettled(
      ["a", "b"].map((key) => gathered.get(key, broken.engine)),
    );
    for (const one of both) assert.equal(one.status, "rejected");
    const gone = () => assert.fail("closed");
    await assert.rejects(gathered.get("a", gone), /closed/);
    assert.equal(String(await gathered.get("a", engineOf(records).engine)), "a");
  });
});
