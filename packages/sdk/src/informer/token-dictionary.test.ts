import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { TokenDictionary, tokensMax } from "./token-dictionary.ts";

const controlCharacters = /[\u0000-\u001f]/;

describe("a token dictionary", () => {
  it("gives back every text that it made shorter, at any later time", () => {
    const property = fc.property(fc.array(fc.jsonValue(), { maxLength: 20 }), (values) => {
      const dictionary = new TokenDictionary();
      const texts = [...values, ...values].map((value) => JSON.stringify(value));
      const short = texts.map((text) => dictionary.shorten(text));
      assert.deepEqual(
        short.map((one) => dictionary.restore(one)),
        texts,
      );
    });
    fc.assert(property, { numRuns: 300 });
  });

  it("learns names of members at once, and values when a second text has them", () => {
    const dictionary = new TokenDictionary();
    const text = (name: string) =>
      JSON.stringify({ name, label: name, manager: "kubectl-client-side-apply" });
    dictionary.shorten(text("web-1"));
    const second = dictionary.shorten(text("web-2"));
    assert.ok(!second.includes("manager") && second.includes("web-2"), second);
    const third = dictionary.shorten(text("web-3"));
    assert.ok(!third.includes("kubectl"), third);
    assert.equal(third.split("web-3").length, 3, "a name that only one text has is not learnt");
  });

  it("stops learning when it is full, and goes on to work", () => {
    const dictionary = new TokenDictionary();
    const text = (i: number) => JSON.stringify({ [`member-${i}`]: i });
    const short = Array.from({ length: tokensMax + 1 }, (_, i) => dictionary.shorten(text(i)));
    assert.match(short[tokensMax - 1] ?? "", controlCharacters);
    assert.equal(short[tokensMax], text(tokensMax));
    assert.deepEqual(
      short.map((one) => dictionary.restore(one)),
      short.map((_, i) => text(i)),
    );
  });
});
