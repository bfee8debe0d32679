/** Header blocks against the examples of RFC 7541, and against ourselves with random headers. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import fc from "fast-check";
import { HeaderDecoder } from "./header-decoder.ts";
import { HeaderEncoder } from "./header-encoder.ts";

const decoded = (decoder: HeaderDecoder, bytes: Buffer): [string, string][] => {
  const fields: [string, string][] = [];
  decoder.decode(bytes, ({ name, value }) => fields.push([name, value]));
  return fields;
};

describe("the examples of RFC 7541, appendix C", () => {
  const requests: [string, string][][] = [
    [
      [":method", "GET"],
      [":scheme", "http"],
      [":path", "/"],
      [":authority", "www.example.com"],
    ],
    [
      [":method", "GET"],
      [":scheme", "http"],
      [":path", "/"],
      [":authority", "www.example.com"],
      ["cache-control", "no-cache"],
    ],
    [
      [":method", "GET"],
      [":scheme", "https"],
      [":path", "/index.html"],
      [":authority", "www.example.com"],
      ["custom-key", "custom-value"],
    ],
  ];
  const vectors: Record<string, string[]> = {
    "requests as text (C.3)": [
      "828684410f7777772e6578616d706c652e636f6d",
      "828684be58086e6f2d6361636865",
      "828785bf400a637573746f6d2d6b65790c637573746f6d2d76616c7565",
    ],
    "requests in Huffman's code (C.4)": [
      "828684418cf1e3c2e5f23a6ba0ab90f4ff",
      "828684be5886a8eb10649cbf",
      "828785bf408825a849e95ba97d7f8925a849e95bb8e8b4bf",
    ],
  };
  for (const [title, blocks] of Object.entries(vectors)) {
    it(title, () => {
      const decoder = new HeaderDecoder();
      for (const [at, hex] of blocks.entries())
        assert.deepEqual(decoded(decoder, Buffer.from(hex, "hex")), requests[at]);
    });
  }

  it("literals that are not kept (C.2)", () => {
    const decoder = new HeaderDecoder();
    const read = (hex: string) => decoded(decoder, Buffer.from(hex, "hex"));
    assert.deepEqual(read("040c2f73616d706c652f70617468"), [[":path", "/sample/path"]]);
    assert.deepEqual(read("100870617373776f726406736563726574"), [["password", "secret"]]);
  });
});

describe("what the encoder writes, the decoder reads", () => {
  const name = fc.stringMatching(/^[a-z][a-z0-9-]{0,30}$/);
  const value = fc.oneof(
    fc.constantFrom("application/json", "no-cache, private", "1"),
    fc.string({
      unit: fc.integer({ min: 33, max: 255 }).map((code) => String.fromCharCode(code)),
      maxLength: 300,
    }),
  );
  const headers = fc.dictionary(name, fc.oneof(value, fc.array(value, { maxLength: 3 })), {
    maxKeys: 20,
    noNullPrototype: false,
  });
  const step = fc.record({
    status: fc.integer({ min: 100, max: 599 }),
    headers,
    resize: fc.option(fc.integer({ min: 0, max: 5000 })),
  });

  it("over many blocks, with tables that shrink and grow", () => {
    fc.assert(
      fc.property(fc.array(step, { maxLength: 30 }), (steps) => {
        const encoder = new HeaderEncoder();
        const decoder = new HeaderDecoder();
        for (const { status, headers: sent, resize } of steps) {
          if (resize !== null) encoder.resize(resize);
          const expected: [string, string][] = [[":status", String(status)]];
          for (const [key, each] of Object.entries(sent))
            for (const one of [each].flat()) expected.push([key, one]);
          assert.deepEqual(decoded(decoder, encoder.encode(status, sent)), expected);
        }
      }),
      { numRuns: 300 },
    );
  });

  it("what repeats is sent once, and by number after that", () => {
    const encoder = new HeaderEncoder();
    const common = { "content-type": "application/json", "cache-control": "no-cache, private" };
    const first = encoder.encode(200, { ...common, "audit-id": "a" }).length;
    const second = encoder.encode(200, { ...common, "audit-id": "b" }).length;
    assert.ok(first > 40 && second < 20, `${first}, then ${second}`);
  });
});
