import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { SeededRandom } from "@kcp-ts/testkit";
import fc from "fast-check";
import { PackedRecords } from "./packed-records.ts";
import type { Bytes } from "./scratch.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

function bytesOf(text: string): Bytes {
  const encoded = encoder.encode(`?${text}?`);
  return { array: encoded, start: 1, end: encoded.length - 1 };
}

function textOf({ array, start, end }: Bytes): string {
  return decoder.decode(array.subarray(start, end));
}

/** The same with texts, which are easier to compare. */
class TextRecords {
  readonly #records = new PackedRecords();

  get size(): number {
    return this.#records.size;
  }

  get bytes(): number {
    return this.#records.bytes;
  }

  has(key: string): boolean {
    return this.#records.has(bytesOf(key));
  }

  get(key: string): string | undefined {
    const value = this.#records.get(bytesOf(key));
    return value === undefined ? undefined : textOf(value);
  }

  set(key: string, text: string): void {
    this.#records.set(bytesOf(key), bytesOf(text));
  }

  delete(key: string): boolean {
    return this.#records.delete(bytesOf(key));
  }

  entries(): [string, string][] {
    return [...this.#records.entries()].map(([key, value]) => [textOf(key), textOf(value)]);
  }
}

describe("packed records", () => {
  it("agree with a map for any sequence of operations", () => {
    const key = fc.string({ unit: fc.constantFrom("a", "b", "é", "🙂"), maxLength: 3 });
    const text = fc.oneof(fc.string({ maxLength: 40 }), fc.constant("x".repeat(3000)));
    const step = fc.record({ key, text, remove: fc.boolean() });
    const property = fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const records = new TextRecords();
      const model = new Map<string, string>();
      for (const { key, text, remove } of steps) {
        if (remove) assert.equal(records.delete(key), model.delete(key));
        else {
          records.set(key, text);
          model.set(key, text);
        }
        assert.equal(records.get(key), model.get(key));
        assert.equal(records.has(key), model.has(key));
      }
      assert.equal(records.size, model.size);
      assert.deepEqual(records.entries().sort(), [...model].sort());
    });
    fc.assert(property, { numRuns: 200 });
  });

  it("take little more memory than their content, however often it changes", () => {
    const random = new SeededRandom(7);
    const records = new TextRecords();
    const model = new Map<string, string>();
    for (let i = 0; i < 40_000; i++) {
      const key = `n${random.integer(3000)}`;
      if (random.chance(0.2)) {
        records.delete(key);
        model.delete(key);
      } else {
        const text = String(i).repeat(1 + random.integer(200));
        records.set(key, text);
        model.set(key, text);
      }
    }
    assert.equal(records.size, model.size);
    let held = 0;
    for (const [key, text] of model) {
      assert.equal(records.get(key), text);
      held += text.length;
    }
    assert.ok(records.bytes < held * 1.6, `${records.bytes} bytes for ${held}`);
  });

  it("hold texts that are longer than a slab, between others", () => {
    const records = new TextRecords();
    const long = "é".repeat(300_000);
    records.set("a", "1");
    records.set("long", long);
    records.set("b", "2");
    assert.deepEqual(records.entries(), [
      ["a", "1"],
      ["long", long],
      ["b", "2"],
    ]);
    const before = records.bytes;
    records.delete("long");
    assert.ok(records.bytes < before - 500_000, "the slab of a long text goes with it");
    assert.equal(records.get("b"), "2");
  });
});
