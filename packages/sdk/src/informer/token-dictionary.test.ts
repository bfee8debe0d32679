import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import type { Bytes } from "./scratch.ts";
import { TokenDictionary, tokensMax } from "./token-dictionary.ts";

const encoder = new TextEncoder();
const decoder = new TextDecoder();

/** Between others that are none of its business. */
function bytesOf(content: Uint8Array): Bytes {
  const array = new Uint8Array(content.length + 2).fill(0x3a);
  array.set(content, 1);
  return { array, start: 1, end: content.length + 1 };
}

/** The bytes, copied: a dictionary's own are good until its next call. */
function shorten(dictionary: TokenDictionary, text: string, name = ""): Uint8Array {
  const own = bytesOf(encoder.encode(name));
  const { array, start, end } = dictionary.shorten(bytesOf(encoder.encode(text)), own);
  return array.slice(start, end);
}

function restore(dictionary: TokenDictionary, short: Uint8Array, name = ""): string {
  const own = bytesOf(encoder.encode(name));
  const { array, start, end } = dictionary.restore(bytesOf(short), own);
  return decoder.decode(array.subarray(start, end));
}

describe("a token dictionary", () => {
  it("restores every text that it shortened, at any later time", () => {
    const string = fc.oneof(
      fc.string({ unit: "binary", maxLength: 12 }),
      fc.uuid(),
      fc.uuid().map((uuid) => uuid.toUpperCase()),
      fc.bigInt({ min: 0n, max: 2n ** 54n }).map(String),
      fc.nat().map((number) => `0${number}`),
      fc.constantFrom("own", "4294967295", "4294967296", "281474976710655", "281474976710656"),
    );
    const value = fc.letrec((tie) => ({
      any: fc.oneof(
        { depthSize: "small" },
        string,
        fc.double({ noNaN: true }),
        fc.constantFrom(null, true, false),
        fc.array(tie("any"), { maxLength: 4 }),
        fc.dictionary(string, tie("any"), { maxKeys: 4 }),
      ),
    })).any;
    const property = fc.property(fc.array(value, { maxLength: 20 }), (values) => {
      const dictionary = new TokenDictionary();
      const name = "own";
      const texts = [...values, ...values].map((one) => JSON.stringify(one));
      const short = texts.map((text) => shorten(dictionary, text, name));
      assert.deepEqual(
        short.map((one) => restore(dictionary, one, name)),
        texts,
      );
      short.forEach((one, i) => {
        assert.ok(one.length <= encoder.encode(texts[i]).length, "never longer than it was");
      });
    });
    fc.assert(property, { numRuns: 500 });
  });

  it("learns names of members at once, and values when a second text has them", () => {
    const dictionary = new TokenDictionary();
    const text = (name: string) =>
      JSON.stringify({ name, label: name, manager: "kubectl-client-side-apply" });
    const short = (name: string) => decoder.decode(shorten(dictionary, text(name)));
    short("web-1");
    const second = short("web-2");
    assert.ok(!second.includes("manager") && second.includes("web-2"), second);
    const third = short("web-3");
    assert.ok(!third.includes("kubectl"), third);
    assert.equal(third.split("web-3").length, 3, "a name that only one text has is not learnt");
  });

  it("shortens an object's own name, uids and versions without having seen them", () => {
    const dictionary = new TokenDictionary();
    const name = "web-1";
    const uid = "0b9f6c1e-5d3a-4f0e-9c57-0123456789ab";
    const text = JSON.stringify(["web-1", uid, "1000001", "123456789012"]);
    const short = shorten(dictionary, text, name);
    assert.equal(short.length, "[,,,]".length + 1 + 17 + 5 + 7);
    assert.equal(restore(dictionary, short, name), text);
  });

  it("stops learning when it is full, and keeps working", () => {
    const dictionary = new TokenDictionary();
    const text = (i: number) => JSON.stringify({ [`member-${i}`]: i });
    const short = Array.from({ length: tokensMax + 1 }, (_, i) => shorten(dictionary, text(i)));
    assert.ok((short[tokensMax - 1]?.[0] ?? 0xff) < 0x20);
    assert.equal(decoder.decode(short[tokensMax]), text(tokensMax));
    assert.deepEqual(
      short.map((one) => restore(dictionary, one)),
      short.map((_, i) => text(i)),
    );
  });
});
