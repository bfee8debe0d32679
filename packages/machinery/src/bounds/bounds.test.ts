import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { runSync } from "../base/index.ts";
import {
  type Bound,
  BoundExceededError,
  BytesInFlight,
  bounds,
  parseBounded,
  parseBoundedResumable,
  readBounded,
  readBoundedText,
  WorkBudget,
} from "./index.ts";

const tiny: Bound = {
  name: "tiny input",
  sender: "tenant",
  bytesMax: 100,
  valuesMax: 10,
  membersMax: 3,
  depthMax: 4,
};

function refusal(dimension: string, max: number): object {
  return {
    name: "BoundExceededError",
    dimension,
    message: `tiny input: limit is ${max} ${dimension}`,
  };
}

describe("a bounded parse", () => {
  const within = JSON.stringify([1, 2, 3, 4, 5, 6, 7, 8, 9]);
  const beyond: readonly [title: string, text: string, dimension: string, max: number][] = [
    ["bytes", `"${"a".repeat(99)}"`, "bytes", 100],
    ["values", JSON.stringify([1, 2, 3, 4, 5, 6, 7, 8, 9, 10]), "values", 10],
    ["members", JSON.stringify({ a: 1, b: 1, c: 1, d: 1 }), "members", 3],
    ["levels", "[[[[[1]]]]]", "levels", 4],
  ];
  it("returns a value within its bound, from text and from bytes, with the synchronous and the resumable parser", () => {
    const value = JSON.parse(within);
    assert.deepEqual(parseBounded(tiny, within), value);
    assert.deepEqual(parseBounded(tiny, new TextEncoder().encode(within)), value);
    assert.deepEqual(runSync(parseBoundedResumable(tiny, within)).value, value);
  });
  for (const [title, text, dimension, max] of beyond)
    it(`refuses more ${title} than its bound allows, and names the input`, () => {
      assert.throws(() => parseBounded(tiny, text), refusal(dimension, max));
      assert.throws(() => runSync(parseBoundedResumable(tiny, text)), refusal(dimension, max));
    });
  it("refuses too many values before any of them is made", () => {
    const text = `[${"{},".repeat(5_000_000)}{}]`;
    const before = process.memoryUsage().heapUsed;
    const bound = { ...bounds.requestBody, bytesMax: text.length };
    assert.throws(() => parseBounded(bound, text), BoundExceededError);
    assert.ok(process.memoryUsage().heapUsed - before < 32 << 20, "the heap grew by values");
  });
  it("refuses text that is not UTF-8 as what is no JSON", () => {
    assert.throws(() => parseBounded(tiny, Uint8Array.of(0x22, 0xff, 0x22)), {
      name: "JsonSyntaxError",
    });
  });
});

describe("bounded gathering", () => {
  it("joins the parts of what is within its bound", async () => {
    const source = (async function* () {
      yield Uint8Array.of(1, 2);
      yield Uint8Array.of(3);
    })();
    assert.deepEqual([...(await readBounded(tiny, source))], [1, 2, 3]);
  });
  it("joins text whose characters are cut between two parts", async () => {
    const bytes = new TextEncoder().encode("aü世😀");
    const source = async function* (parts: Uint8Array) {
      for (const byte of parts) yield Uint8Array.of(byte);
    };
    assert.equal(await readBoundedText(tiny, source(bytes)), "aü世😀");
    for (const broken of [bytes.subarray(0, -1), Uint8Array.of(0xff)])
      await assert.rejects(readBoundedText(tiny, source(broken)), { name: "JsonSyntaxError" });
    await assert.rejects(readBoundedText(tiny, source(new Uint8Array(101))), refusal("bytes", 100));
  });
  it("ends a source that goes on behind its bound", async () => {
    let parts = 0;
    let hasEnded = false;
    const source = (async function* () {
      try {
        for (;;) {
          parts++;
          yield new Uint8Array(40);
        }
      } finally {
        hasEnded = true;
      }
    })();
    await assert.rejects(readBounded(tiny, source), refusal("bytes", 100));
    assert.equal(parts, 3);
    assert.ok(hasEnded);
  });
});

describe("a work budget", () => {
  it("ends work at its bound, and says whose work it was", () => {
    const budget = new WorkBudget({ name: "a path", sender: "tenant", unitsMax: 3 });
    budget.charge();
    budget.charge(2);
    assert.equal(budget.left, 0);
    assert.throws(() => budget.charge(), { message: "a path: limit is 3 units of work" });
  });
});

describe("bytes in flight", () => {
  it("are bounded for each tenant and in sum, and a tenant without any leaves no entry", () => {
    const bytes = new BytesInFlight({ bytesMax: 10, bytesPerTenantMax: 6 });
    assert.ok(bytes.tryTake("a", 6));
    assert.ok(!bytes.tryTake("a", 1));
    assert.ok(bytes.tryTake("b", 4));
    assert.ok(!bytes.tryTake("c", 1));
    bytes.release("a", 6);
    assert.ok(bytes.tryTake("c", 1));
    bytes.release("b", 4);
    bytes.release("c", 1);
    assert.equal(bytes.held, 0);
    assert.equal(bytes.tenantCount, 0);
  });
});
